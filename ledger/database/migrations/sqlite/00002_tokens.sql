-- +goose Up
-- Sign-in of partners' end-users. Of tokens and codes only hashes are kept;
-- what must be told again is sealed and removed with its use.

-- One row for all that is remembered of an e-mail at a partner, known or not,
-- so that one lock guards it and every path does the same.
CREATE TABLE users (
    partner_code    TEXT NOT NULL,
    email           TEXT NOT NULL, -- lower case
    verified_at     INTEGER NOT NULL,
    code_salt       BLOB NOT NULL,
    code_digest     BLOB NOT NULL,
    code_expires_at INTEGER NOT NULL,
    tries           INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    locked_until    INTEGER NOT NULL,
    sends           TEXT NOT NULL, -- times of the last day, separated by commas
    updated_at      INTEGER NOT NULL,
    PRIMARY KEY (partner_code, email)
);
CREATE INDEX users_code ON users (code_expires_at) WHERE code_expires_at > 0;
CREATE INDEX users_unverified ON users (updated_at) WHERE verified_at = 0;

CREATE TABLE token_families (
    id            TEXT PRIMARY KEY,
    partner_code  TEXT NOT NULL,
    email         TEXT NOT NULL,
    expires_at    INTEGER NOT NULL,
    revoked_at    INTEGER NOT NULL,
    current       BLOB NOT NULL,
    current_until INTEGER NOT NULL,
    previous      BLOB NOT NULL,
    rotated_at    INTEGER NOT NULL,
    sealed_pair   BLOB NOT NULL,
    ends_at       INTEGER NOT NULL
);
CREATE INDEX token_families_end ON token_families (ends_at);
CREATE INDEX token_families_sealed ON token_families (rotated_at) WHERE length(sealed_pair) > 0;

-- Every refresh token that a family ever had: a used one is known again.
CREATE TABLE refresh_tokens (
    hash      BLOB PRIMARY KEY,
    family_id TEXT NOT NULL REFERENCES token_families (id)
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);

CREATE TABLE access_tokens (
    hash       BLOB PRIMARY KEY,
    family_id  TEXT NOT NULL REFERENCES token_families (id),
    expires_at INTEGER NOT NULL
);
CREATE INDEX access_tokens_family ON access_tokens (family_id);
CREATE INDEX access_tokens_end ON access_tokens (expires_at);

-- The development mailbox.
CREATE TABLE mailbox (
    id           TEXT PRIMARY KEY,
    partner_code TEXT NOT NULL,
    email        TEXT NOT NULL,
    lang         TEXT NOT NULL,
    sealed_code  BLOB NOT NULL,
    created_at   INTEGER NOT NULL
);

-- +goose Down
DROP TABLE mailbox;
DROP TABLE access_tokens;
DROP TABLE refresh_tokens;
DROP TABLE token_families;
DROP TABLE users;
