-- +goose Up
ALTER TABLE windows ADD COLUMN breaker TEXT NOT NULL DEFAULT 'closed';
ALTER TABLE windows ADD COLUMN open_until INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN breaker_epoch INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN breaker_opened INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN breaker_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN probe TEXT NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN probes_passed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN last_success INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN failing_since INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN failed INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN gone INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN warned INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN disabled_reason TEXT NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN not_before INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN rate_every INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN rate_next INTEGER NOT NULL DEFAULT 0;
ALTER TABLE windows ADD COLUMN ordered BOOLEAN NOT NULL DEFAULT FALSE;
ALTER TABLE windows ADD COLUMN waiting_blocked INTEGER NOT NULL DEFAULT 0;

ALTER TABLE endpoints ADD COLUMN ack_mode TEXT NOT NULL DEFAULT 'status';
ALTER TABLE endpoints ADD COLUMN headers BLOB NOT NULL DEFAULT x'';
ALTER TABLE endpoints ADD COLUMN url_changed_at INTEGER NOT NULL DEFAULT 0;

-- subject is set for the deliveries of ordered endpoints only.
ALTER TABLE deliveries ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN asked_by_receiver BOOLEAN NOT NULL DEFAULT FALSE;
CREATE INDEX deliveries_subject ON deliveries (endpoint_id, subject, sequence) WHERE subject <> '' AND finished_at = 0;
CREATE INDEX deliveries_sequence ON deliveries (endpoint_id, sequence);

-- Facts that never change again, counted by the hour in which they became
-- true. A process writes in one slot, so processes seldom wait for each other.
CREATE TABLE rollups (
    hour         INTEGER NOT NULL,
    partner_code TEXT NOT NULL,
    fact         TEXT NOT NULL,
    slot         INTEGER NOT NULL,
    n            INTEGER NOT NULL,
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
    id           TEXT PRIMARY KEY,
    state        TEXT NOT NULL,
    reason       TEXT NOT NULL,
    filter       BLOB NOT NULL,
    rate         INTEGER NOT NULL,
    total        INTEGER NOT NULL,
    rate_next    INTEGER NOT NULL,
    judge_after  TEXT NOT NULL,
    note         TEXT NOT NULL,
    created_at   INTEGER NOT NULL,
    finished_at  INTEGER NOT NULL
);

-- The frozen list of a replay, in order of admission. outcome is empty until
-- the item was skipped or admitted, that is has become the delivery new_id;
-- how that one ended is copied here, so that it may go before the replay.
CREATE TABLE replay_items (
    replay_id   TEXT NOT NULL,
    position    INTEGER NOT NULL,
    delivery_id TEXT NOT NULL,
    endpoint_id TEXT NOT NULL,
    new_id      TEXT NOT NULL,
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
ALTER TABLE deliveries DROP COLUMN subject;
ALTER TABLE deliveries DROP COLUMN asked_by_receiver;
ALTER TABLE endpoints DROP COLUMN ack_mode;
ALTER TABLE endpoints DROP COLUMN headers;
ALTER TABLE endpoints DROP COLUMN url_changed_at;
ALTER TABLE windows DROP COLUMN breaker;
ALTER TABLE windows DROP COLUMN open_until;
ALTER TABLE windows DROP COLUMN breaker_epoch;
ALTER TABLE windows DROP COLUMN breaker_opened;
ALTER TABLE windows DROP COLUMN breaker_reason;
ALTER TABLE windows DROP COLUMN probe;
ALTER TABLE windows DROP COLUMN probes_passed;
ALTER TABLE windows DROP COLUMN last_success;
ALTER TABLE windows DROP COLUMN failing_since;
ALTER TABLE windows DROP COLUMN failed;
ALTER TABLE windows DROP COLUMN gone;
ALTER TABLE windows DROP COLUMN warned;
ALTER TABLE windows DROP COLUMN disabled_reason;
ALTER TABLE windows DROP COLUMN not_before;
ALTER TABLE windows DROP COLUMN rate_every;
ALTER TABLE windows DROP COLUMN rate_next;
ALTER TABLE windows DROP COLUMN ordered;
ALTER TABLE windows DROP COLUMN waiting_blocked;
