-- +goose Up
-- Faults that people are told of, what was done about each, the messages that
-- say so, and who of a partner is told. state: watched (true, but not for long
-- enough yet), open, closed.
CREATE TABLE incidents (
    id            TEXT PRIMARY KEY,
    kind          TEXT NOT NULL,
    subject       TEXT NOT NULL, -- what it is about within its kind: an endpoint; empty: the gateway
    fault         TEXT UNIQUE,   -- both while it is not closed: there is one of each at a time
    partner_code  TEXT NOT NULL,
    url           TEXT NOT NULL,
    state         TEXT NOT NULL,
    version       INTEGER NOT NULL, -- counts up with every change
    rule          TEXT NOT NULL, -- which found it
    n             INTEGER NOT NULL,
    detail        TEXT NOT NULL,
    due_at        INTEGER NOT NULL, -- a time that the fault is about
    seen_at       INTEGER NOT NULL,
    looked_at     INTEGER NOT NULL,
    opened_at     INTEGER NOT NULL,
    cleared_at    INTEGER NOT NULL,
    closed_at     INTEGER NOT NULL,
    acked_at      INTEGER NOT NULL,
    acked_by      TEXT NOT NULL,
    snoozed_until INTEGER NOT NULL,
    reminded      INTEGER NOT NULL,
    late          INTEGER NOT NULL,
    lost          INTEGER NOT NULL,
    waiting       INTEGER NOT NULL
);
CREATE INDEX incidents_closed ON incidents (closed_at);

CREATE TABLE incident_history (
    incident_id TEXT NOT NULL,
    version     INTEGER NOT NULL, -- of the incident, that this made
    at          INTEGER NOT NULL,
    act         TEXT NOT NULL,
    actor       TEXT NOT NULL,
    detail      TEXT NOT NULL,
    PRIMARY KEY (incident_id, version)
);

CREATE TABLE incident_messages (
    id          TEXT PRIMARY KEY,
    incident_id TEXT NOT NULL, -- empty: a test
    about       TEXT NOT NULL, -- the act that it tells of
    channel     TEXT NOT NULL, -- mail or webhook
    address     TEXT NOT NULL,             -- an e-mail, or the code of the account whose endpoints get it
    partner_code TEXT NOT NULL, -- whose contact it is for; empty: ours
    subject     TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  INTEGER NOT NULL,
    due_at      INTEGER NOT NULL, -- when it is tried next; 0: not any more
    tries       INTEGER NOT NULL,
    sent_at     INTEGER NOT NULL,
    failure     TEXT NOT NULL    -- of the last try
);
CREATE INDEX incident_messages_due ON incident_messages (due_at) WHERE due_at > 0;
CREATE INDEX incident_messages_incident ON incident_messages (incident_id, id);

CREATE TABLE endpoint_contacts (
    endpoint_id  TEXT NOT NULL,
    email        TEXT NOT NULL,
    partner_code TEXT NOT NULL,
    lang         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    PRIMARY KEY (endpoint_id, email)
);

-- +goose Down
DROP TABLE endpoint_contacts;
DROP TABLE incident_messages;
DROP TABLE incident_history;
DROP TABLE incidents;
