-- +goose Up
-- What came of each worker's newest canary: when, how long it took, why it
-- failed (empty: it did not); 0: there was none yet.
ALTER TABLE workers ADD COLUMN canary_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN canary_us INTEGER NOT NULL DEFAULT 0;
ALTER TABLE workers ADD COLUMN canary_error TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE workers DROP COLUMN canary_at;
ALTER TABLE workers DROP COLUMN canary_us;
ALTER TABLE workers DROP COLUMN canary_error;
