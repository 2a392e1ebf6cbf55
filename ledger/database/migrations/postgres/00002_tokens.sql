-- +goose Up
-- Sign-in of partners' end-users. Of tokens and codes only hashes are kept;
-- what must be told again is sealed and removed with its use.

-- One row for all that is remembered of an e-mail at a partner, known or not,
-- so that one lock guards it and every path does the same.
CREATE TABLE users (
    partner_code    TEXT COLLATE "C" NOT NULL,
    email           TEXT COLLATE "C" NOT NULL, -- lower case
    verified_at     BIGINT NOT NULL,
    code_salt       BYTEA NOT NULL,
    code_digest     BYTEA NOT NULL,
    code_expires_at BIGINT NOT NULL,
    tries           INTEGER NOT NULL,
    failures        INTEGER NOT NULL,
    locked_until    BIGINT NOT NULL,
    sends           TEXT NOT NULL, -- times of the last day, separated by commas
    updated_at      BIGINT NOT NULL,
    PRIMARY KEY (partner_code, email)
);
CREATE INDEX users_code ON users (code_expires_at) WHERE code_expires_at > 0;
CREATE INDEX users_unverified ON users (updated_at) WHERE verified_at = 0;

CREATE TABLE token_families (
    id            TEXT COLLATE "C" PRIMARY KEY,
    partner_code  TEXT COLLATE "C" NOT NULL,
    email         TEXT COLLATE "C" NOT NULL,
    expires_at    BIGINT NOT NULL,
    revoked_at    BIGINT NOT NULL,
    current       BYTEA NOT NULL,
    current_until BIGINT NOT NULL,
    previous      BYTEA NOT NULL,
    rotated_at    BIGINT NOT NULL,
    sealed_pair   BYTEA NOT NULL,
    ends_at       BIGINT NOT NULL
);
CREATE INDEX token_families_end ON token_families (ends_at);
CREATE INDEX token_families_sealed ON token_families (rotated_at) WHERE length(sealed_pair) > 0;

-- Every refresh token that a family ever had: a used one is known again.
CREATE TABLE refresh_tokens (
    hash      BYTEA PRIMARY KEY,
    family_id TEXT COLLATE "C" NOT NULL REFERENCES token_families (id)
);
CREATE INDEX refresh_tokens_family ON refresh_tokens (family_id);

CREATE TABLE access_tokens (
    hash       BYTEA PRIMARY KEY,
    family_id  TEXT COLLATE "C" NOT NULL REFERENCES token_families (id),
    expires_at BIGINT NOT NULL
);
CREATE INDEX access_tokens_family ON access_tokens (family_id);
CREATE INDEX access_tokens_end ON access_tokens (expires_at);

-- The development mailbox.
CREATE TABLE mailbox (
    id           TEXT COLLATE "C" PRIMARY KEY,
    partner_code TEXT NOT NULL,
    email        TEXT NOT NULL,
    lang         TEXT NOT NULL,
    sealed_code  BYTEA NOT NULL,
    created_at   BIGINT NOT NULL
);

-- +goose Down
DROP TABLE mailbox, access_tokens, refresh_tokens, token_families, users;
