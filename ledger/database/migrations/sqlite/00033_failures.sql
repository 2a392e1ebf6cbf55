-- +goose Up
-- What an endpoint's newest failures came to, since its last success.
ALTER TABLE windows ADD COLUMN attempts_failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN attempts_alike INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN last_outcome TEXT NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN last_class TEXT NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN last_status INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE windows DROP COLUMN last_status;
ALTER TABLE windows DROP COLUMN last_class;
ALTER TABLE windows DROP COLUMN last_outcome;
ALTER TABLE windows DROP COLUMN attempts_alike;
ALTER TABLE windows DROP COLUMN attempts_failed;
