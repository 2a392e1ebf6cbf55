-- +goose Up
-- However many deliveries there are, or a partner has, few of them are on their way. Without statistics, which nobody
-- gathers here, SQLite would walk through all of them for those few, to save itself the sorting.
ANALYZE meta; -- makes the table
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
    ('deliveries', 'deliveries_active', '100 1'), -- rows, and of these with one value
    ('deliveries', 'deliveries_partner', '1000000 20000 1');
ANALYZE sqlite_schema; -- reads it

-- +goose Down
DELETE FROM sqlite_stat1;
ANALYZE sqlite_schema;
