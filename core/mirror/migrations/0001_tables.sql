-- The tables of the mirror. {{int}}, {{u64}}, {{text}}, {{bool}} and {{bytes}} are the types of
-- the database; {{by "seq"}} ends a table that PostgreSQL partitions by that column, which is then
-- part of the key; {{plain}} ends any other.

CREATE TABLE cursor (
  id       {{int}} PRIMARY KEY CHECK (id = 1),
  build    {{int}} NOT NULL, -- a number of its own for each time the mirror is built
  seq      {{int}} NOT NULL, -- of the last command whose rows are there
  number   {{int}} NOT NULL, -- of its group
  chain    {{bytes}} NOT NULL, -- running hash of the journal after that group
  ts       {{int}} NOT NULL, -- stamp of that group
  since_seq {{int}} NOT NULL -- rows of commands up to this one are missing; 0: none
){{plain}};

CREATE TABLE users (
  user_id {{int}} NOT NULL, name {{text}} NOT NULL, referrer_id {{int}}, owner_id {{int}}, suspended {{bool}} NOT NULL, created_ts {{int}} NOT NULL,
  PRIMARY KEY (user_id)
){{plain}};

CREATE TABLE orders (
  user_id {{int}} NOT NULL, created_seq {{int}} NOT NULL, created_ts {{int}} NOT NULL, order_id {{int}}, client_order_id {{u64}} NOT NULL,
  market_id {{int}} NOT NULL, generation {{int}} NOT NULL, side {{text}} NOT NULL, outcome {{text}} NOT NULL, type {{text}} NOT NULL, tick {{int}} NOT NULL,
  qty {{int}} NOT NULL, tif {{text}} NOT NULL, expiry_ts {{int}} NOT NULL, max_cost {{u64}} NOT NULL, group_id {{int}} NOT NULL, flags {{int}} NOT NULL, api_key {{text}},
  status {{text}} NOT NULL, reason {{text}} NOT NULL, filled_qty {{int}} NOT NULL, remaining_qty {{int}} NOT NULL, last_update_seq {{int}} NOT NULL,
  PRIMARY KEY (user_id, created_seq)
){{by "created_seq"}};

CREATE TABLE fills (
  user_id {{int}} NOT NULL, n {{int}} NOT NULL, seq {{int}} NOT NULL, ts {{int}} NOT NULL,
  market_id {{int}} NOT NULL, generation {{int}} NOT NULL, round_number {{int}} NOT NULL, category {{int}} NOT NULL,
  order_id {{int}} NOT NULL, client_order_id {{u64}} NOT NULL, role {{text}} NOT NULL, side {{text}} NOT NULL, outcome {{text}} NOT NULL,
  qty {{int}} NOT NULL, tick_yes {{int}} NOT NULL, path {{text}} NOT NULL, fee {{int}} NOT NULL, api_key {{text}},
  PRIMARY KEY (user_id, n{{key "seq"}})
){{by "seq"}};

CREATE TABLE trades (
  market_id {{int}} NOT NULL, n {{int}} NOT NULL, seq {{int}} NOT NULL, ts {{int}} NOT NULL, generation {{int}} NOT NULL,
  tick_yes {{int}} NOT NULL, qty {{int}} NOT NULL, path {{text}} NOT NULL, taker_side {{text}} NOT NULL, taker_outcome {{text}} NOT NULL,
  PRIMARY KEY (market_id, n{{key "seq"}})
){{by "seq"}};

CREATE TABLE settlements (
  user_id {{int}} NOT NULL, n {{int}} NOT NULL, seq {{int}} NOT NULL, ts {{int}} NOT NULL,
  market_id {{int}} NOT NULL, generation {{int}} NOT NULL, round_number {{int}} NOT NULL, category {{int}} NOT NULL, outcome_status {{text}} NOT NULL, winner {{text}},
  yes_qty {{int}} NOT NULL, no_qty {{int}} NOT NULL, payout {{int}} NOT NULL, cost {{int}} NOT NULL, settle_price {{int}} NOT NULL, strike {{int}} NOT NULL,
  PRIMARY KEY (user_id, n{{key "seq"}})
){{by "seq"}};

CREATE TABLE ledger (
  user_id {{int}} NOT NULL, n {{int}} NOT NULL, seq {{int}} NOT NULL, ts {{int}} NOT NULL, kind {{text}} NOT NULL, amount {{int}} NOT NULL, balance_after {{int}} NOT NULL,
  market_id {{int}}, generation {{int}}, round_number {{int}}, category {{int}}, order_id {{int}}, fill_n {{int}}, ref {{text}},
  PRIMARY KEY (user_id, n{{key "seq"}})
){{by "seq"}};

CREATE TABLE rounds (
  number {{int}} NOT NULL, market_id {{int}} NOT NULL, generation {{int}} NOT NULL, category {{int}} NOT NULL, feed {{int}} NOT NULL,
  twap_window_secs {{int}} NOT NULL, status {{text}} NOT NULL, strike {{int}} NOT NULL, settle_price {{int}} NOT NULL, winner {{text}},
  fresh_source_count_at_freeze {{int}} NOT NULL, gen {{int}} NOT NULL, open_ts {{int}} NOT NULL, close_ts {{int}} NOT NULL, freeze_ts {{int}} NOT NULL,
  resolve_ts {{int}} NOT NULL, proposed_ts {{int}} NOT NULL, paused {{bool}} NOT NULL, covered_secs {{int}} NOT NULL, by_operator {{bool}} NOT NULL, seq {{int}} NOT NULL,
  PRIMARY KEY (number)
){{plain}};

CREATE INDEX rounds_by_market ON rounds (market_id, number);

CREATE TABLE evidence (
  number {{int}} NOT NULL, kind {{text}} NOT NULL, second {{int}} NOT NULL, feed {{int}} NOT NULL, price {{int}} NOT NULL,
  fresh_source_count {{int}} NOT NULL, manual {{bool}} NOT NULL, sources {{text}} NOT NULL, -- JSON: [{"source","price"}]
  PRIMARY KEY (number, kind, second)
){{plain}};

CREATE TABLE round_seconds (
  number {{int}} NOT NULL, second {{int}} NOT NULL, "index" {{int}} NOT NULL, yes_bid {{int}} NOT NULL, yes_ask {{int}} NOT NULL, last {{int}} NOT NULL, volume {{int}} NOT NULL,
  PRIMARY KEY (number, second)
){{plain}};

CREATE TABLE ticks (
  feed {{int}} NOT NULL, second {{int}} NOT NULL, price {{int}} NOT NULL, sources {{int}} NOT NULL,
  PRIMARY KEY (feed, second)
){{plain}};

CREATE TABLE user_rounds (
  user_id {{int}} NOT NULL, number {{int}} NOT NULL, market_id {{int}} NOT NULL, generation {{int}} NOT NULL, category {{int}} NOT NULL, status {{text}} NOT NULL, winner {{text}},
  bought_yes {{int}} NOT NULL, bought_no {{int}} NOT NULL, sold_yes {{int}} NOT NULL, sold_no {{int}} NOT NULL, redeemed {{int}} NOT NULL,
  paid {{int}} NOT NULL, received {{int}} NOT NULL, fees {{int}} NOT NULL, payout {{int}} NOT NULL, profit {{int}}, last_update_seq {{int}} NOT NULL,
  PRIMARY KEY (user_id, number)
){{plain}};

CREATE TABLE actions (
  seq {{int}} NOT NULL, ts {{int}} NOT NULL, who {{text}} NOT NULL, why {{text}} NOT NULL, action {{text}} NOT NULL,
  user_id {{int}}, market_id {{int}}, detail {{text}}, refused {{text}}, -- detail is a JSON object
  PRIMARY KEY (seq)
){{plain}};
