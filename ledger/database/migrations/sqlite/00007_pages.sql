-- +goose Up
-- What the pages read. Index predicates and keys on deliveries name only
-- columns that change when an attempt is recorded or a delivery ends: a claim
-- must still be an update in place.

-- When the first attempt began, when the newest one was recorded and how long
-- it took; 0: none yet, or it was recorded before these columns existed.
ALTER TABLE deliveries ADD COLUMN first_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN last_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN last_us INTEGER NOT NULL DEFAULT 0;
CREATE INDEX deliveries_pending ON deliveries (id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_pending_partner ON deliveries (partner_code, id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (id) WHERE finished_at > 0 AND last_outcome <> 'delivered';
CREATE INDEX deliveries_failed_partner ON deliveries (partner_code, id) WHERE finished_at > 0 AND last_outcome <> 'delivered';
CREATE INDEX deliveries_internal ON deliveries (last_at) WHERE last_class = 'internal';
CREATE INDEX attempts_id ON attempts (id);

CREATE INDEX events_type ON events (webhook_type, id);
-- Of most types the subject is the object itself.
CREATE INDEX events_subject ON events (subject, id) WHERE subject <> object_id;

ALTER TABLE endpoints ADD COLUMN host TEXT NOT NULL GENERATED ALWAYS AS (lower(CASE
    WHEN instr(url, '://[') > 0 THEN substr(url, instr(url, '://') + 3, instr(url, ']') - instr(url, '://') - 2)
    ELSE substr(url, instr(url, '://') + 3,
        instr(replace(replace(replace(substr(url, instr(url, '://') + 3), ':', '/'), '?', '/'), '#', '/') || '/', '/') - 1) END)) VIRTUAL;
CREATE INDEX endpoints_host ON endpoints (host, id);

-- The same facts as rollups, of all partners together: charts of everything
-- read these few rows.
CREATE TABLE rollups_all (
    hour INTEGER NOT NULL,
    fact TEXT NOT NULL,
    slot INTEGER NOT NULL,
    n    INTEGER NOT NULL,
    PRIMARY KEY (hour, fact, slot)
);
INSERT INTO rollups_all (hour, fact, slot, n) SELECT hour, fact, 0, SUM(n) FROM rollups GROUP BY hour, fact;
CREATE INDEX rollups_partner ON rollups (partner_code, hour);

-- What internal systems sent and was not stored: refused or a duplicate.
CREATE TABLE refusals (
    id           TEXT PRIMARY KEY,
    partner_code TEXT NOT NULL,
    webhook_type TEXT NOT NULL,
    reference    TEXT NOT NULL,
    result       TEXT NOT NULL,
    reason       TEXT NOT NULL,
    event_id     TEXT NOT NULL,
    at           INTEGER NOT NULL
);
CREATE INDEX refusals_partner ON refusals (partner_code, id);
CREATE INDEX refusals_reference ON refusals (reference, id);

-- +goose Down
DROP TABLE refusals;
DROP INDEX rollups_partner;
DROP TABLE rollups_all;
DROP INDEX endpoints_host;
ALTER TABLE endpoints DROP COLUMN host;
DROP INDEX events_subject;
DROP INDEX events_type;
DROP INDEX attempts_id;
DROP INDEX deliveries_internal;
DROP INDEX deliveries_failed_partner;
DROP INDEX deliveries_failed;
DROP INDEX deliveries_pending_partner;
DROP INDEX deliveries_pending;
ALTER TABLE deliveries DROP COLUMN first_at;
ALTER TABLE deliveries DROP COLUMN last_at;
ALTER TABLE deliveries DROP COLUMN last_us;
