-- +goose Up
-- The partner whose people started a replay; empty: operators did. It alone
-- sees it in the portal.
ALTER TABLE replays ADD COLUMN partner_code TEXT NOT NULL DEFAULT '';
CREATE INDEX replays_partner ON replays (partner_code, id) WHERE partner_code <> '';

-- +goose Down
DROP INDEX replays_partner;
ALTER TABLE replays DROP COLUMN partner_code;
