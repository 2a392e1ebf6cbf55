-- +goose Up
-- Of a delivery's attempts: those that a reused connection lost and that were
-- made again at once, outside the schedule.
ALTER TABLE deliveries ADD COLUMN repeats INTEGER NOT NULL DEFAULT 0;
-- The answer had more headers than are kept.
ALTER TABLE attempts ADD COLUMN headers_cut BOOLEAN NOT NULL DEFAULT FALSE;

-- +goose Down
ALTER TABLE attempts DROP COLUMN headers_cut;
ALTER TABLE deliveries DROP COLUMN repeats;
