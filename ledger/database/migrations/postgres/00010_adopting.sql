-- +goose Up
-- Deliveries without endpoint are still to become this endpoint's own.
ALTER TABLE windows ADD COLUMN adopting BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE windows DROP COLUMN adopting;
