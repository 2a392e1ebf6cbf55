-- +goose Up
-- Bearers of the internal API beside the one of the configuration, by their
-- hashes. A row stays when its token has ended: its name is not given again.
CREATE TABLE internal_tokens (
    id           TEXT PRIMARY KEY,
    name         TEXT NOT NULL UNIQUE,
    shown        TEXT NOT NULL, -- how the value begins
    hash         BLOB NOT NULL,
    scopes       TEXT NOT NULL, -- separated by commas
    created_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    last_used_at INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL
);

-- +goose Down
DROP TABLE internal_tokens;
