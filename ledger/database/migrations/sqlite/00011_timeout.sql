-- +goose Up
-- Microseconds of one attempt at most; 0: as long as at any endpoint.
ALTER TABLE endpoints ADD COLUMN timeout INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE endpoints DROP COLUMN timeout;
