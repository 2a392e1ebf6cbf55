-- +goose Up
-- A partner's keys that were replaced, the newest first, as JSON: pem, and the
-- microseconds until when it verifies. Empty: none.
ALTER TABLE partners ADD COLUMN old_keys BLOB NOT NULL DEFAULT x'';
UPDATE partners SET old_keys = CAST(json_array(json_object(
    'pem', CAST(old_public_key AS TEXT), 'until', old_key_until)) AS BLOB) WHERE old_key_until > 0;
ALTER TABLE partners DROP COLUMN old_public_key;
ALTER TABLE partners DROP COLUMN old_key_until;

-- +goose Down
ALTER TABLE partners ADD COLUMN old_public_key BLOB NOT NULL DEFAULT x'';
ALTER TABLE partners ADD COLUMN old_key_until INTEGER NOT NULL DEFAULT 0;
UPDATE partners SET old_public_key = CAST(json_extract(CAST(old_keys AS TEXT), '$[0].pem') AS BLOB),
    old_key_until = json_extract(CAST(old_keys AS TEXT), '$[0].until') WHERE length(old_keys) > 0;
ALTER TABLE partners DROP COLUMN old_keys;
