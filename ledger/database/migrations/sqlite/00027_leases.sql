-- +goose Up
-- Who does what one process does for all; seen_at is when it last said so, by
-- the database's clock.
CREATE TABLE leases (
    name    TEXT PRIMARY KEY,
    holder  TEXT NOT NULL,
    seen_at INTEGER NOT NULL
);
-- Few windows are one or the other, and looking for them must not take longer
-- the more endpoints there are.
CREATE INDEX windows_adopting ON windows (endpoint_id) WHERE adopting;
CREATE INDEX windows_removed ON windows (endpoint_id) WHERE removed;

-- +goose Down
DROP INDEX windows_removed;
DROP INDEX windows_adopting;
DROP TABLE leases;
