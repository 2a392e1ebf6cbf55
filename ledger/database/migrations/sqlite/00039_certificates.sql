-- +goose Up
-- SHA-256 of the certificate that the receiver showed; empty: none, or the
-- attempt was made before it was kept.
ALTER TABLE attempts ADD COLUMN certificate BLOB NOT NULL DEFAULT x'';

-- +goose Down
ALTER TABLE attempts DROP COLUMN certificate;
