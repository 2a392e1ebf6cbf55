-- +goose Up
-- Bearers of the internal API beside the one of the configuration, by their
-- hashes. A row stays when its token has ended: its name is not given again.
CREATE TABLE internal_tokens (
    id           TEXT COLLATE "C" PRIMARY KEY,
    name         TEXT COLLATE "C" NOT NULL UNIQUE,
    shown        TEXT COLLATE "C" NOT NULL, -- how the value begins
    hash         BYTEA NOT NULL,
    scopes       TEXT COLLATE "C" NOT NULL, -- separated by commas
    created_by   TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    expires_at   BIGINT NOT NULL,
    last_used_at BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL
);

-- +goose Down
DROP TABLE internal_tokens;
