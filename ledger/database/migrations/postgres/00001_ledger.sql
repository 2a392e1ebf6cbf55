-- +goose Up
-- Ids and keys are compared as bytes ("C"), because partitions and pages are
-- cut by the time an id begins with. Times are microseconds since 1970, UTC.

CREATE TABLE meta (
    key   TEXT COLLATE "C" PRIMARY KEY,
    value BYTEA NOT NULL
);

CREATE TABLE signing_keys (
    id          TEXT COLLATE "C" PRIMARY KEY,
    active      BOOLEAN NOT NULL,
    private_key BYTEA NOT NULL,
    public_key  BYTEA NOT NULL,
    created_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX signing_keys_active ON signing_keys (active) WHERE active;

CREATE TABLE partners (
    code           TEXT COLLATE "C" PRIMARY KEY,
    name           TEXT NOT NULL,
    disabled       BOOLEAN NOT NULL,
    public_key     BYTEA NOT NULL,
    old_public_key BYTEA NOT NULL,
    old_key_until  BIGINT NOT NULL,
    secret_key     BYTEA NOT NULL,
    settings       BYTEA NOT NULL,
    created_at     BIGINT NOT NULL,
    updated_at     BIGINT NOT NULL
);

CREATE TABLE secrets (
    id           TEXT COLLATE "C" PRIMARY KEY,
    partner_code TEXT COLLATE "C" NOT NULL REFERENCES partners (code),
    state        TEXT NOT NULL,
    sealed       BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    activated_at BIGINT NOT NULL,
    retires_at   BIGINT NOT NULL,
    revoked_at   BIGINT NOT NULL
);
CREATE INDEX secrets_partner ON secrets (partner_code, id);

CREATE TABLE endpoints (
    id           TEXT COLLATE "C" PRIMARY KEY,
    partner_code TEXT COLLATE "C" NOT NULL REFERENCES partners (code),
    url          TEXT NOT NULL,
    types        TEXT NOT NULL,
    description  TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    updated_at   BIGINT NOT NULL,
    removed_at   BIGINT NOT NULL
);
CREATE INDEX endpoints_partner ON endpoints (partner_code, id);

-- The narrow row every delivery of an endpoint passes through. Nothing that
-- changes per delivery is indexed, except the few rows that must be woken.
CREATE TABLE windows (
    endpoint_id      TEXT COLLATE "C" PRIMARY KEY,
    max_in_flight    INTEGER NOT NULL,
    grown            INTEGER NOT NULL,
    used             INTEGER NOT NULL,
    waiting_first    BIGINT NOT NULL,
    waiting_again    BIGINT NOT NULL,
    admissions       BIGINT NOT NULL,
    next_sequence    BIGINT NOT NULL,
    paused           BOOLEAN NOT NULL,
    disabled         BOOLEAN NOT NULL,
    partner_disabled BOOLEAN NOT NULL,
    removed          BOOLEAN NOT NULL,
    wake_at          BIGINT
) WITH (fillfactor = 50);
CREATE INDEX windows_wake ON windows (wake_at) WHERE wake_at IS NOT NULL;

CREATE TABLE events (
    id           TEXT COLLATE "C" PRIMARY KEY,
    partner_code TEXT COLLATE "C" NOT NULL,
    webhook_type TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    subject      TEXT NOT NULL,
    status       TEXT NOT NULL,
    data         BYTEA NOT NULL,
    key_id       TEXT NOT NULL,
    signatures   TEXT NOT NULL,
    unexpected   BOOLEAN NOT NULL,
    filtered     BOOLEAN NOT NULL,
    test         BOOLEAN NOT NULL,
    created_at   BIGINT NOT NULL
) PARTITION BY RANGE (id);
CREATE TABLE events_default PARTITION OF events DEFAULT;
CREATE INDEX events_partner ON events (partner_code, id);
CREATE INDEX events_object ON events (object_id, id);

CREATE TABLE deliveries (
    id           TEXT COLLATE "C" PRIMARY KEY,
    event_id     TEXT COLLATE "C" NOT NULL,
    endpoint_id  TEXT COLLATE "C" NOT NULL,
    partner_code TEXT COLLATE "C" NOT NULL,
    webhook_type TEXT NOT NULL,
    object_id    TEXT NOT NULL,
    sequence     BIGINT NOT NULL,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    generation   BIGINT NOT NULL,
    attempts     INTEGER NOT NULL,
    trigger      TEXT NOT NULL,
    next_trigger TEXT NOT NULL,
    replay_of    TEXT COLLATE "C" NOT NULL,
    lane         SMALLINT NOT NULL,
    due_at       BIGINT,
    queued_at    BIGINT,
    claimed_at   BIGINT NOT NULL,
    worker_id    TEXT COLLATE "C" NOT NULL,
    last_outcome TEXT NOT NULL,
    last_status  INTEGER NOT NULL,
    last_class   TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    finished_at  BIGINT NOT NULL
) PARTITION BY RANGE (id);
CREATE TABLE deliveries_default PARTITION OF deliveries DEFAULT WITH (fillfactor = 80);
-- due_at is set exactly while pending, queued_at exactly while queued or
-- sending: predicates on state would keep PostgreSQL from updating in place.
CREATE INDEX deliveries_waiting ON deliveries (endpoint_id, lane, due_at, sequence) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_active ON deliveries (queued_at) WHERE queued_at IS NOT NULL;
CREATE INDEX deliveries_homeless ON deliveries (partner_code, id) WHERE endpoint_id = '' AND due_at IS NOT NULL;
CREATE INDEX deliveries_event ON deliveries (event_id);
CREATE INDEX deliveries_partner ON deliveries (partner_code, id);
CREATE INDEX deliveries_endpoint ON deliveries (endpoint_id, id);
CREATE INDEX deliveries_object ON deliveries (object_id, id);

CREATE TABLE attempts (
    delivery_id      TEXT COLLATE "C" NOT NULL,
    number           INTEGER NOT NULL,
    id               TEXT COLLATE "C" NOT NULL,
    trigger          TEXT NOT NULL,
    started_at       BIGINT NOT NULL,
    dns_us           BIGINT NOT NULL,
    connect_us       BIGINT NOT NULL,
    tls_us           BIGINT NOT NULL,
    first_byte_us    BIGINT NOT NULL,
    total_us         BIGINT NOT NULL,
    peer_ip          TEXT NOT NULL,
    tls_version      TEXT NOT NULL,
    tls_not_after    BIGINT NOT NULL,
    request_headers  BYTEA NOT NULL,
    outcome          TEXT NOT NULL,
    status_code      INTEGER NOT NULL,
    error_class      TEXT NOT NULL,
    error_detail     TEXT NOT NULL,
    response_headers BYTEA NOT NULL,
    response_body    BYTEA NOT NULL,
    truncated        BOOLEAN NOT NULL,
    key_id           TEXT NOT NULL,
    worker_id        TEXT NOT NULL,
    next_at          BIGINT NOT NULL,
    next_reason      TEXT NOT NULL,
    PRIMARY KEY (delivery_id, number)
) PARTITION BY RANGE (delivery_id);
CREATE TABLE attempts_default PARTITION OF attempts DEFAULT;

CREATE TABLE idempotency_keys (
    partner_code TEXT COLLATE "C" NOT NULL,
    key          TEXT COLLATE "C" NOT NULL,
    event_id     TEXT COLLATE "C" NOT NULL,
    digest       BYTEA NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (partner_code, key)
);
CREATE INDEX idempotency_keys_age ON idempotency_keys (created_at);

-- The latest status of each card, top-up, transaction and account.
CREATE TABLE objects (
    partner_code TEXT COLLATE "C" NOT NULL,
    webhook_type TEXT COLLATE "C" NOT NULL,
    object_id    TEXT COLLATE "C" NOT NULL,
    status       TEXT NOT NULL,
    event_id     TEXT COLLATE "C" NOT NULL,
    updated_at   BIGINT NOT NULL,
    PRIMARY KEY (partner_code, webhook_type, object_id)
);

CREATE TABLE workers (
    id         TEXT COLLATE "C" PRIMARY KEY,
    host       TEXT NOT NULL,
    started_at BIGINT NOT NULL,
    seen_at    BIGINT NOT NULL
);

-- The epoch of each queue shard that every queued row is known to be in. A
-- shard whose own epoch differs has lost its tasks.
CREATE TABLE queue_epochs (
    shard TEXT COLLATE "C" PRIMARY KEY,
    epoch TEXT NOT NULL
);

CREATE TABLE audit (
    id     TEXT COLLATE "C" PRIMARY KEY,
    at     BIGINT NOT NULL,
    actor  TEXT NOT NULL,
    action TEXT NOT NULL,
    target TEXT NOT NULL,
    detail TEXT NOT NULL
);

-- +goose Down
DROP TABLE audit, queue_epochs, workers, objects, idempotency_keys, attempts, deliveries, events, windows,
    endpoints, secrets, partners, signing_keys, meta;
