-- +goose Up
-- Tests on their way, which used counts as well.
ALTER TABLE windows ADD COLUMN tests BIGINT NOT NULL DEFAULT 0;
-- The status that a uniform refusal opened the breaker for; 0: something else did.
ALTER TABLE windows ADD COLUMN breaker_refused BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE windows DROP COLUMN breaker_refused;
ALTER TABLE windows DROP COLUMN tests;
