-- +goose Up
-- When, and by whom, what an event or an order holds of a person was erased; 0: it was not.
ALTER TABLE events ADD COLUMN erased_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE events ADD COLUMN erased_by TEXT NOT NULL DEFAULT '';
ALTER TABLE orders ADD COLUMN erased_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN erased_by TEXT NOT NULL DEFAULT '';
CREATE INDEX orders_email ON orders (partner_code, email);

-- +goose Down
DROP INDEX orders_email;
ALTER TABLE orders DROP COLUMN erased_by;
ALTER TABLE orders DROP COLUMN erased_at;
ALTER TABLE events DROP COLUMN erased_by;
ALTER TABLE events DROP COLUMN erased_at;
