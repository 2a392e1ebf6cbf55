-- +goose Up
-- How long an endpoint's answers take of late and usually, and since when they
-- take many times as long as usual.
ALTER TABLE windows ADD COLUMN took_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN usual_us BIGINT NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN slow_since BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE windows DROP COLUMN slow_since;
ALTER TABLE windows DROP COLUMN usual_us;
ALTER TABLE windows DROP COLUMN took_us;
