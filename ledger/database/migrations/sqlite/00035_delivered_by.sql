-- +goose Up
-- The delivery that brought the same event to the same endpoint when this one
-- had ended without success; empty: none has, or it ended before this step.
ALTER TABLE deliveries ADD COLUMN delivered_by TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE deliveries DROP COLUMN delivered_by;
