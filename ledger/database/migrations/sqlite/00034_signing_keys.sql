-- +goose Up
-- From when a key signs (0: since it was made), and until when it is published (0: no other follows it yet). active
-- marks the first key: the one that programs before this step sign with.
ALTER TABLE signing_keys ADD COLUMN activates_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE signing_keys ADD COLUMN retires_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE signing_keys DROP COLUMN retires_at;
ALTER TABLE signing_keys DROP COLUMN activates_at;
