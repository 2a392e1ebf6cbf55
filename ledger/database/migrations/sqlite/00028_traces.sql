-- +goose Up
-- Which trace an event came in: the traceparent of W3C Trace Context, or nothing.
ALTER TABLE events ADD COLUMN trace TEXT NOT NULL DEFAULT '';

-- +goose Down
ALTER TABLE events DROP COLUMN trace;
