-- +goose Up
-- Few deliveries are on their way, however many there are, or a partner has. A ledger of this kind gathers no statistics:
-- for those that are queued or being sent it would walk through all of them, to save itself the sorting of a few.
ANALYZE meta; -- makes the table
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('deliveries', 'deliveries_active', '100 1'), -- rows, and of these with one value
    ('deliveries', 'deliveries_partner', '1000000 20000 1');
ANALYZE sqlite_schema; -- reads it

-- +goose Down
DELETE FROM sqlite_stat1;
ANALYZE sqlite_schema;
