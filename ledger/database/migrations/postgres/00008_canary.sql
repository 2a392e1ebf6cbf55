-- +goose Up
-- What came of each worker's newest canary: when, how long it took, why it
-- failed (empty: it did not); 0: there was none yet.
ALTER TABLE workers
    ADD COLUMN canary_at BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN canary_us BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN canary_error TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE workers DROP COLUMN canary_at, DROP COLUMN canary_us, DROP COLUMN canary_error;
