-- +goose Up
ALTER TABLE windows
    ADD COLUMN breaker TEXT NOT NULL DEFAULT 'closed',
    ADD COLUMN open_until BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN breaker_epoch BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN breaker_opened INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN breaker_reason TEXT NOT NULL DEFAULT '',
    ADD COLUMN probe TEXT NOT NULL DEFAULT '',
    ADD COLUMN probes_passed INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN last_success BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN failing_since BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN failed INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN gone INTEGER NOT NULL DEFAULT 0,
    ADD COLUMN warned BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN disabled_reason TEXT NOT NULL DEFAULT '',
    ADD COLUMN not_before BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN rate_every BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN rate_next BIGINT NOT NULL DEFAULT 0,
    ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE,
    ADD COLUMN waiting_blocked BIGINT NOT NULL DEFAULT 0;

ALTER TABLE endpoints
    ADD COLUMN ack_mode TEXT NOT NULL DEFAULT 'status',
    ADD COLUMN headers BYTEA NOT NULL DEFAULT '',
    ADD COLUMN url_changed_at BIGINT NOT NULL DEFAULT 0;

-- subject is set for the deliveries of ordered endpoints only.
ALTER TABLE deliveries
    ADD COLUMN subject TEXT COLLATE "C" NOT NULL DEFAULT '',
    ADD COLUMN asked_by_receiver BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX deliveries_subject ON deliveries (endpoint_id, subject, sequence) WHERE subject <> '' AND finished_at = 0;
CREATE INDEX deliveries_sequence ON deliveries (endpoint_id, sequence);

-- Facts that never change again, counted by the hour in which they became
-- true. A process writes in one slot, so processes seldom wait for each other.
CREATE TABLE rollups (
    hour         BIGINT NOT NULL,
    partner_code TEXT COLLATE "C" NOT NULL,
    fact         TEXT COLLATE "C" NOT NULL,
    slot         INTEGER NOT NULL,
    n            BIGINT NOT NULL,
    PRIMARY KEY (hour, partner_code, fact, slot)
);
INSERT INTO rollups (hour, partner_code, fact, slot, n)
    SELECT created_at / 3600000000, partner_code, 'created', 0, COUNT(*) FROM deliveries WHERE trigger <> 'test' GROUP BY 1, 2;
INSERT INTO rollups (hour, partner_code, fact, slot, n)
    SELECT finished_at / 3600000000, partner_code, state, 0, COUNT(*) FROM deliveries
    WHERE trigger <> 'test' AND finished_at > 0 GROUP BY 1, 2, 3;

-- judge_after is the newest delivery that is no longer judged: a replay that
-- stopped itself and was resumed is judged by what it sends from then on.
CREATE TABLE replays (
    id           TEXT COLLATE "C" PRIMARY KEY,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    filter       BYTEA NOT NULL,
    rate         INTEGER NOT NULL,
    total        BIGINT NOT NULL,
    rate_next    BIGINT NOT NULL,
    judge_after  TEXT COLLATE "C" NOT NULL,
    note         TEXT NOT NULL,
    created_at   BIGINT NOT NULL,
    finished_at  BIGINT NOT NULL
);

-- The frozen list of a replay, in order of admission. outcome is empty until
-- the item was skipped or admitted, that is has become the delivery new_id;
-- how that one ended is copied here, so that it may go before the replay.
CREATE TABLE replay_items (
    replay_id   TEXT COLLATE "C" NOT NULL,
    position    BIGINT NOT NULL,
    delivery_id TEXT COLLATE "C" NOT NULL,
    endpoint_id TEXT COLLATE "C" NOT NULL,
    new_id      TEXT COLLATE "C" NOT NULL,
    outcome     TEXT NOT NULL,
    last_status INTEGER NOT NULL,
    last_class  TEXT NOT NULL,
    PRIMARY KEY (replay_id, position)
);
CREATE INDEX replay_items_open ON replay_items (replay_id, endpoint_id, position) WHERE outcome = '';
CREATE INDEX replay_items_admitted ON replay_items (new_id) WHERE outcome = 'admitted';
CREATE INDEX replay_items_sent ON replay_items (replay_id, new_id) WHERE new_id <> '';

-- +goose Down
DROP TABLE replay_items;
DROP TABLE replays;
DROP TABLE rollups;
DROP INDEX deliveries_sequence;
DROP INDEX deliveries_subject;
ALTER TABLE deliveries DROP COLUMN subject, DROP COLUMN asked_by_receiver;
ALTER TABLE endpoints DROP COLUMN ack_mode, DROP COLUMN headers, DROP COLUMN url_changed_at;
ALTER TABLE windows DROP COLUMN breaker, DROP COLUMN open_until, DROP COLUMN breaker_epoch, DROP COLUMN breaker_opened,
    DROP COLUMN breaker_reason, DROP COLUMN probe, DROP COLUMN probes_passed, DROP COLUMN last_success,
    DROP COLUMN failing_since, DROP COLUMN failed, DROP COLUMN gone, DROP COLUMN warned, DROP COLUMN disabled_reason,
    DROP COLUMN not_before, DROP COLUMN rate_every, DROP COLUMN rate_next, DROP COLUMN ordered, DROP COLUMN waiting_blocked;
