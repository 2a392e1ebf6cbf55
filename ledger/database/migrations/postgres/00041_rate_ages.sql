-- +goose Up
-- When the rate of a quote was set, and for an order also when its quote was
-- given; 0: made before that was kept.
ALTER TABLE quotes ADD COLUMN rate_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN rate_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE orders ADD COLUMN quoted_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE orders DROP COLUMN quoted_at;
ALTER TABLE orders DROP COLUMN rate_at;
ALTER TABLE quotes DROP COLUMN rate_at;
