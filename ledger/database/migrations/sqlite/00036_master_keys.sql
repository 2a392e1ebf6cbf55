-- +goose Up
-- The processes that run, and the names of the master keys that each knows, the one that it seals with first; seen_at is
-- when it last said so, by the database's clock.
CREATE TABLE master_key_holders (
    id      TEXT PRIMARY KEY,
    host    TEXT NOT NULL,
    keys    TEXT NOT NULL,
    seen_at BIGINT NOT NULL
);

-- +goose Down
DROP TABLE master_key_holders;
