-- +goose Up
-- The same tables as on PostgreSQL, without partitions: text is compared as
-- bytes anyway. Times are microseconds since 1970, UTC.

CREATE TABLE meta (
    key   TEXT PRIMARY KEY,
    value BLOB NOT NULL
);

CREATE TABLE signing_keys (
    id          TEXT PRIMARY KEY,
    active      BOOLEAN NOT NULL,
    private_key BLOB NOT NULL,
    public_key  BLOB NOT NULL,
    created_at  INTEGER NOT NULL
);
CREATE UNIQUE INDEX signing_keys_active ON signing_keys (active) WHERE active;

CREATE TABLE partners (
    code           TEXT PRIMARY KEY,
    name           TEXT NOT NULL,
    disabled       BOOLEAN NOT NULL,
    public_key     BLOB NOT NULL,
    old_public_key BLOB NOT NULL,
    old_key_until  INTEGER NOT NULL,
    secret_key     BLOB NOT NULL,
    settings       BLOB NOT NULL,
    created_at     INTEGER NOT NULL,
    updated_at     INTEGER NOT NULL
);

CREATE TABLE secrets (
    id           TEXT PRIMARY KEY,
    partner_code TEXT NOT NULL REFERENCES partners (code),
    state        TEXT NOT NULL,
    sealed       BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    activated_at INTEGER NOT NULL,
    retires_at   INTEGER NOT NULL,
    revoked_at   INTEGER NOT NULL
);
CREATE INDEX secrets_partner ON secrets (partner_code, id);

CREATE TABLE endpoints (
    id           TEXT PRIMARY KEY,
    partner_code TEXT NOT NULL REFERENCES partners (code),
    url          TEXT NOT NULL,
    types        TEXT NOT NULL,
    description  TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    updated_at   INTEGER NOT NULL,
    removed_at   INTEGER NOT NULL
);
CREATE INDEX endpoints_partner ON endpoints (partner_code, id);

-- The narrow row every delivery of an endpoint passes through. Nothing that
-- changes per delivery is indexed, except the few rows that must be woken.
CREATE TABLE windows (
    endpoint_id      TEXT PRIMARY KEY,
    max_in_flight    INTEGER NOT NULL,
    grown            INTEGER NOT NULL,
    used             INTEGER NOT NULL,
    waiting_first    INTEGER NOT NULL,
    waiting_again    INTEGER NOT NULL,
    admissions       INTEGER NOT NULL,
    next_sequence    INTEGER NOT NULL,
    paused           BOOLEAN NOT NULL,
    disabled         BOOLEAN NOT NULL,
    partner_disabled BOOLEAN NOT NULL,
    removed          BOOLEAN NOT NULL,
    wake_at          INTEGER
);
CREATE INDEX windows_wake ON windows (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE events (
    id           TEXT PRIMARY KEY,
    partner_code TEXT NOT NULL,
    webhook_type TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    subject      TEXT NOT NULL,
    status       TEXT NOT NULL,
    data         BLOB NOT NULL,
    key_id       TEXT NOT NULL,
    signatures   TEXT NOT NULL,
    unexpected   BOOLEAN NOT NULL,
    filtered     BOOLEAN NOT NULL,
    test         BOOLEAN NOT NULL,
    created_at   INTEGER NOT NULL
);
CREATE INDEX events_partner ON events (partner_code, id);
CREATE INDEX events_object ON events (object_id, id);

CREATE TABLE deliveries (
    id           TEXT PRIMARY KEY,
    event_id     TEXT NOT NULL,
    endpoint_id  TEXT NOT NULL,
    partner_code TEXT NOT NULL,
    webhook_type TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    sequence     INTEGER NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    generation   INTEGER NOT NULL,
    attempts     INTEGER NOT NULL,
    trigger      TEXT NOT NULL,
    next_trigger TEXT NOT NULL,
    replay_of    TEXT NOT NULL,
    lane         INTEGER NOT NULL,
    due_at       INTEGER,
    queued_at    INTEGER,
    claimed_at   INTEGER NOT NULL,
    worker_id    TEXT NOT NULL,
    last_outcome TEXT NOT NULL,
    last_status  INTEGER NOT NULL,
    last_class   TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL
);
-- due_at is set exactly while pending, queued_at exactly while queued or
-- sending: the same predicates as on PostgreSQL.
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, lane, due_at, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_active ON deliveries (queued_at) WHERE queued_at IS NOT NULL;
CREATE INDEX deliveries_homeless ON deliveries (partner_code, id) WHERE endpoint_id = '' AND due_at IS NOT NULL;
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_partner ON deliveries (partner_code, id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_object ON deliveries (object_id, id);

CREATE TABLE attempts (
    delivery_id      TEXT NOT NULL,
    number           INTEGER NOT NULL,
    id               TEXT NOT NULL,
    trigger          TEXT NOT NULL,
    started_at       INTEGER NOT NULL,
    dns_us           INTEGER NOT NULL,
    connect_us       INTEGER NOT NULL,
    tls_us           INTEGER NOT NULL,
    first_byte_us    INTEGER NOT NULL,
    total_us         INTEGER NOT NULL,
    peer_ip          TEXT NOT NULL,
    tls_version      TEXT NOT NULL,
    tls_not_after    INTEGER NOT NULL,
    request_headers  BLOB NOT NULL,
    outcome          TEXT NOT NULL,
    status_code      INTEGER NOT NULL,
    error_class      TEXT NOT NULL,
    error_detail     TEXT NOT NULL,
    response_headers BLOB NOT NULL,
    response_body    BLOB NOT NULL,
    truncated        BOOLEAN NOT NULL,
    key_id           TEXT NOT NULL,
    worker_id        TEXT NOT NULL,
    next_at          INTEGER NOT NULL,
    next_reason      TEXT NOT NULL,
    PRIMARY KEY (delivery_id, number)
);

CREATE TABLE idempotency_keys (
    partner_code TEXT NOT NULL,
    key          TEXT NOT NULL,
    event_id     TEXT NOT NULL,
    digest       BLOB NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (partner_code, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The latest status of each card, top-up, transaction and account.
CREATE TABLE objects (
    partner_code TEXT NOT NULL,
    webhook_type TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    status       TEXT NOT NULL,
    event_id     TEXT NOT NULL,
    updated_at   INTEGER NOT NULL,
    PRIMARY KEY (partner_code, webhook_type, object_id)
);

CREATE TABLE workers (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at    INTEGER NOT NULL
);

-- The epoch of each queue shard that every queued row is known to be in. A
-- shard whose own epoch differs has lost its tasks.
CREATE TABLE queue_epochs (
    shard TEXT PRIMARY KEY,
    epoch TEXT NOT NULL
);

CREATE TABLE audit (
    id     TEXT PRIMARY KEY,
    at     INTEGER NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL
);

-- +goose Down
DROP TABLE audit;
DROP TABLE queue_epochs;
DROP TABLE workers;
DROP TABLE objects;
DROP TABLE idempotency_keys;
DROP TABLE attempts;
DROP TABLE deliveries;
DROP TABLE events;
DROP TABLE windows;
DROP TABLE endpoints;
DROP TABLE secrets;
DROP TABLE partners;
DROP TABLE signing_keys;
DROP TABLE meta;
