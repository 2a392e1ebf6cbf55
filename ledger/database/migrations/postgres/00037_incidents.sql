-- +goose Up
-- Faults that people are told of, what was done about each, the messages that
-- say so, and who of a partner is told. state: watched (true, but not for long
-- enough yet), open, closed.
CREATE TABLE incidents (
    id            TEXT COLLATE "C" PRIMARY KEY,
    kind          TEXT COLLATE "C" NOT NULL,
    subject       TEXT COLLATE "C" NOT NULL, -- what it is about within its kind: an endpoint; empty: the gateway
    fault         TEXT COLLATE "C" UNIQUE,   -- both while it is not closed: there is one of each at a time
    partner_code  TEXT COLLATE "C" NOT NULL,
    url           TEXT NOT NULL,
    state         TEXT COLLATE "C" NOT NULL,
    version       BIGINT NOT NULL, -- counts up with every change
    rule          TEXT COLLATE "C" NOT NULL, -- which found it
    n             BIGINT NOT NULL,
    detail        TEXT NOT NULL,
    due_at        BIGINT NOT NULL, -- a time that the fault is about
    seen_at       BIGINT NOT NULL,
    looked_at     BIGINT NOT NULL,
    opened_at     BIGINT NOT NULL,
    cleared_at    BIGINT NOT NULL,
    closed_at     BIGINT NOT NULL,
    acked_at      BIGINT NOT NULL,
    acked_by      TEXT NOT NULL,
    snoozed_until BIGINT NOT NULL,
    reminded      INTEGER NOT NULL,
    late          BIGINT NOT NULL,
    lost          BIGINT NOT NULL,
    waiting       BIGINT NOT NULL
);
CREATE INDEX incidents_closed ON incidents (closed_at);

CREATE TABLE incident_history (
    incident_id TEXT COLLATE "C" NOT NULL,
    version     BIGINT NOT NULL, -- of the incident, that this made
    at          BIGINT NOT NULL,
    act         TEXT COLLATE "C" NOT NULL,
    actor       TEXT NOT NULL,
    detail      TEXT NOT NULL,
    PRIMARY KEY (incident_id, version)
);

CREATE TABLE incident_messages (
    id          TEXT COLLATE "C" PRIMARY KEY,
    incident_id TEXT COLLATE "C" NOT NULL, -- empty: a test
    about       TEXT COLLATE "C" NOT NULL, -- the act that it tells of
    channel     TEXT COLLATE "C" NOT NULL, -- mail or webhook
    address     TEXT NOT NULL,             -- an e-mail, or the code of the account whose endpoints get it
    partner_code TEXT COLLATE "C" NOT NULL, -- whose contact it is for; empty: ours
    subject     TEXT NOT NULL,
    body        TEXT NOT NULL,
    created_at  BIGINT NOT NULL,
    due_at      BIGINT NOT NULL, -- when it is tried next; 0: not any more
    tries       INTEGER NOT NULL,
    sent_at     BIGINT NOT NULL,
    failure     TEXT NOT NULL    -- of the last try
);
CREATE INDEX incident_messages_due ON incident_messages (due_at) WHERE due_at > 0;
CREATE INDEX incident_messages_incident ON incident_messages (incident_id, id);

CREATE TABLE endpoint_contacts (
    endpoint_id  TEXT COLLATE "C" NOT NULL,
    email        TEXT COLLATE "C" NOT NULL,
    partner_code TEXT COLLATE "C" NOT NULL,
    lang         TEXT COLLATE "C" NOT NULL,
    created_at   BIGINT NOT NULL,
    PRIMARY KEY (endpoint_id, email)
);

-- +goose Down
DROP TABLE endpoint_contacts;
DROP TABLE incident_messages;
DROP TABLE incident_history;
DROP TABLE incidents;
