-- +goose Up
-- Events of a partner without endpoint wait in a place of their own: a window
-- whose id is kept with the partner until an endpoint takes it over.
ALTER TABLE partners ADD COLUMN unrouted TEXT COLLATE "C" NOT NULL DEFAULT '';
ALTER TABLE windows ADD COLUMN unrouted BOOLEAN NOT NULL DEFAULT FALSE;
-- What waits is still to be rid of types that the endpoint does not take.
DROP INDEX windows_adopting;
ALTER TABLE windows RENAME COLUMN adopting TO filtering;
CREATE INDEX windows_filtering ON windows (endpoint_id) WHERE filtering;
CREATE INDEX windows_unrouted ON windows (endpoint_id) WHERE unrouted;

-- Until now such events waited without any window. They get a place if their
-- partner still has no endpoint, else they wait for the oldest one.
UPDATE partners SET unrouted = 'ep_' || substr(d.oldest, 5)
    FROM (SELECT partner_code, MIN(id) AS oldest FROM deliveries WHERE endpoint_id = '' AND due_at IS NOT NULL GROUP BY partner_code) AS d
    WHERE code = d.partner_code AND NOT EXISTS (SELECT 1 FROM endpoints e WHERE e.partner_code = code AND e.removed_at = 0);
INSERT INTO windows (endpoint_id, max_in_flight, grown, used, waiting_first, waiting_again, admissions, next_sequence,
        paused, disabled, partner_disabled, removed, ordered, unrouted)
    SELECT unrouted, 32, 2, 0, 0, 0, 0, 1, FALSE, FALSE, disabled, FALSE, TRUE, TRUE FROM partners WHERE unrouted <> '';
UPDATE windows SET filtering = TRUE WHERE endpoint_id IN (SELECT MIN(e.id) FROM endpoints e WHERE e.removed_at = 0
    AND e.partner_code IN (SELECT d.partner_code FROM deliveries d WHERE d.endpoint_id = '' AND d.due_at IS NOT NULL) GROUP BY e.partner_code);
UPDATE deliveries SET endpoint_id = v.endpoint_id, sequence = v.sequence, subject = v.subject, lane = v.lane
    FROM (SELECT d.id, w.endpoint_id, w.next_sequence - 1 + ROW_NUMBER() OVER (PARTITION BY w.endpoint_id ORDER BY d.id) AS sequence, e.subject,
            CASE WHEN e.subject <> '' AND (ROW_NUMBER() OVER (PARTITION BY w.endpoint_id, e.subject ORDER BY d.id) > 1
                OR EXISTS (SELECT 1 FROM deliveries o WHERE o.endpoint_id = w.endpoint_id AND o.subject = e.subject AND o.subject <> '' AND o.finished_at = 0))
                THEN 3 ELSE 0 END AS lane
        FROM deliveries d JOIN events e ON e.id = d.event_id JOIN partners p ON p.code = d.partner_code
        JOIN windows w ON w.endpoint_id = CASE WHEN p.unrouted <> '' THEN p.unrouted
            ELSE (SELECT MIN(o.id) FROM endpoints o WHERE o.partner_code = p.code AND o.removed_at = 0) END
        WHERE d.endpoint_id = '' AND d.due_at IS NOT NULL) AS v
    WHERE deliveries.id = v.id;
UPDATE windows SET
        waiting_first = (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = windows.endpoint_id AND d.due_at IS NOT NULL AND d.lane = 0),
        waiting_blocked = (SELECT COUNT(*) FROM deliveries d WHERE d.endpoint_id = windows.endpoint_id AND d.due_at IS NOT NULL AND d.lane = 3),
        next_sequence = GREATEST(next_sequence, 1 + (SELECT COALESCE(MAX(d.sequence), 0) FROM deliveries d WHERE d.endpoint_id = windows.endpoint_id))
    WHERE unrouted OR filtering;
DROP INDEX deliveries_homeless;

-- +goose Down
CREATE INDEX deliveries_homeless ON deliveries (partner_code, id) WHERE endpoint_id = '' AND due_at IS NOT NULL;
UPDATE deliveries SET endpoint_id = '', sequence = 0, subject = '', lane = 0 WHERE endpoint_id IN (SELECT unrouted FROM partners WHERE unrouted <> '');
DELETE FROM windows WHERE unrouted;
DROP INDEX windows_unrouted;
DROP INDEX windows_filtering;
ALTER TABLE windows RENAME COLUMN filtering TO adopting;
CREATE INDEX windows_adopting ON windows (endpoint_id) WHERE adopting;
ALTER TABLE windows DROP COLUMN unrouted;
ALTER TABLE partners DROP COLUMN unrouted;
