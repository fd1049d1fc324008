-- Forecasts do not change: whether one counts follows from the later ones of its round, and its score
-- from the round. The index finds the later ones.

CREATE TABLE forecasts (
  user_id {{int}} NOT NULL, n {{int}} NOT NULL, seq {{int}} NOT NULL, ts {{int}} NOT NULL,
  market_id {{int}} NOT NULL, generation {{int}} NOT NULL, round_number {{int}} NOT NULL, category {{int}} NOT NULL, p {{int}} NOT NULL,
  PRIMARY KEY (user_id, n)
){{plain}};

CREATE INDEX forecasts_by_round ON forecasts (user_id, round_number, n);
