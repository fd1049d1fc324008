-- How far the rows from before since_seq have been copied from the mirror of another node.

CREATE TABLE backfill (
  id         {{int}} PRIMARY KEY CHECK (id = 1),
  since_seq  {{int}} NOT NULL, -- of the mirror that the rows come from
  table_name {{text}} NOT NULL, -- being copied; empty: none
  after_key  {{text}} NOT NULL, -- of its last row that is there, as JSON; empty: none
  complete   {{bool}} NOT NULL -- no other node has rows from before
){{plain}};
