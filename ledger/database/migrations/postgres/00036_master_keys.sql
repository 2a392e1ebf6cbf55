-- +goose Up
-- The processes that run, and the names of the master keys that each knows, the one that it seals with first; seen_at is
-- when it last said so, by the database's clock.
CREATE TABLE master_key_holders (
    id      TEXT COLLATE "C" PRIMARY KEY,
    host    TEXT COLLATE "C" NOT NULL,
    keys    TEXT COLLATE "C" NOT NULL,
    seen_at BIGINT NOT NULL
) WITH (fillfactor = 50);

-- +goose Down
DROP TABLE master_key_holders;
