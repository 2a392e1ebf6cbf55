-- +goose Up
-- Those who sign in to the pages, and the audit log's chain of hashes. Of
-- passwords, sessions, links and forms only hashes are kept.

CREATE TABLE people (
    id            TEXT PRIMARY KEY,
    username      TEXT NOT NULL UNIQUE, -- lower case
    name          TEXT NOT NULL,
    email         TEXT NOT NULL,
    partner_code  TEXT NOT NULL, -- empty: an operator
    role          TEXT NOT NULL,
    disabled      BOOLEAN NOT NULL,
    password      TEXT NOT NULL,
    totp          BLOB NOT NULL, -- sealed; empty: none
    totp_step     INTEGER NOT NULL, -- the newest that was accepted
    created_at    INTEGER NOT NULL,
    last_login_at INTEGER NOT NULL
);
CREATE INDEX people_partner ON people (partner_code, id);

CREATE TABLE recovery_codes (
    person_id TEXT NOT NULL REFERENCES people (id),
    hash      BLOB NOT NULL,
    PRIMARY KEY (person_id, hash)
);

CREATE TABLE sessions (
    hash       BLOB PRIMARY KEY,
    id         TEXT NOT NULL UNIQUE,
    person_id  TEXT NOT NULL REFERENCES people (id),
    created_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL,
    expires_at INTEGER NOT NULL,
    ip         TEXT NOT NULL,
    user_agent TEXT NOT NULL
);
CREATE INDEX sessions_person ON sessions (person_id, id);
CREATE INDEX sessions_end ON sessions (expires_at);

CREATE TABLE invites (
    hash         BLOB PRIMARY KEY,
    id           TEXT NOT NULL UNIQUE,
    person_id    TEXT NOT NULL, -- who gets a new password; empty: a new person
    username     TEXT NOT NULL,
    name         TEXT NOT NULL,
    email        TEXT NOT NULL,
    partner_code TEXT NOT NULL,
    role         TEXT NOT NULL,
    invited_by   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    expires_at   INTEGER NOT NULL,
    used_at      INTEGER NOT NULL
);
CREATE INDEX invites_partner ON invites (partner_code, id);
CREATE INDEX invites_end ON invites (expires_at);

-- Failed sign-ins of late, by username and by address.
CREATE TABLE login_failures (
    subject TEXT PRIMARY KEY,
    n       INTEGER NOT NULL,
    last_at INTEGER NOT NULL
);
CREATE INDEX login_failures_age ON login_failures (last_at);

-- Forms that were sent, and what came of them (empty: not known yet).
CREATE TABLE form_tokens (
    hash    BLOB PRIMARY KEY,
    result  TEXT NOT NULL,
    used_at INTEGER NOT NULL
);
CREATE INDEX form_tokens_age ON form_tokens (used_at);

-- seq is 0 only until the entry is in the chain.
ALTER TABLE audit ADD COLUMN seq INTEGER NOT NULL DEFAULT 0;
ALTER TABLE audit ADD COLUMN hash BLOB NOT NULL DEFAULT x'';
ALTER TABLE audit ADD COLUMN partner_code TEXT NOT NULL DEFAULT '';
CREATE UNIQUE INDEX audit_seq ON audit (seq) WHERE seq > 0;
CREATE INDEX audit_unchained ON audit (id) WHERE seq <= 0;
CREATE INDEX audit_partner ON audit (partner_code, id);
CREATE INDEX audit_actor ON audit (actor, id);
CREATE INDEX audit_target ON audit (target, id);

-- The one row whose lock is the right to add to the chain.
CREATE TABLE audit_head (
    id   INTEGER PRIMARY KEY,
    seq  INTEGER NOT NULL,
    hash BLOB NOT NULL
);

-- +goose Down
DROP TABLE audit_head;
DROP INDEX audit_target;
DROP INDEX audit_actor;
DROP INDEX audit_partner;
DROP INDEX audit_unchained;
DROP INDEX audit_seq;
ALTER TABLE audit DROP COLUMN seq;
ALTER TABLE audit DROP COLUMN hash;
ALTER TABLE audit DROP COLUMN partner_code;
DROP TABLE form_tokens;
DROP TABLE login_failures;
DROP TABLE invites;
DROP TABLE sessions;
DROP TABLE recovery_codes;
DROP TABLE people;
