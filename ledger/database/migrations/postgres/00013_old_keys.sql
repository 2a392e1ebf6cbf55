-- +goose Up
-- A partner's keys that were replaced, the newest first, as JSON: pem, and the
-- microseconds until when it verifies. Empty: none.
ALTER TABLE partners ADD COLUMN old_keys BYTEA NOT NULL DEFAULT '';
UPDATE partners SET old_keys = convert_to(json_build_array(json_build_object(
    'pem', convert_from(old_public_key, 'UTF8'), 'until', old_key_until))::text, 'UTF8') WHERE old_key_until > 0;
ALTER TABLE partners DROP COLUMN old_public_key;
ALTER TABLE partners DROP COLUMN old_key_until;

-- +goose Down
ALTER TABLE partners ADD COLUMN old_public_key BYTEA NOT NULL DEFAULT '';
ALTER TABLE partners ADD COLUMN old_key_until BIGINT NOT NULL DEFAULT 0;
UPDATE partners SET old_public_key = convert_to(convert_from(old_keys, 'UTF8')::json->0->>'pem', 'UTF8'),
    old_key_until = (convert_from(old_keys, 'UTF8')::json->0->>'until')::bigint WHERE length(old_keys) > 0;
ALTER TABLE partners DROP COLUMN old_keys;
