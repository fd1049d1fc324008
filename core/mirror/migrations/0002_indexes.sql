-- Finds the fills of one order, and an order by its client_order_id, in an account with many of them.

CREATE INDEX fills_by_order ON fills (user_id, order_id, n);

CREATE INDEX orders_by_client_order_id ON orders (user_id, client_order_id, created_seq);
