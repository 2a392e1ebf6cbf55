-- +goose Up
-- What somebody said of an order that had failed: that its money moved. The
-- order stays as it is, and this waits for somebody to settle it.
CREATE TABLE order_conflicts (
    order_id    TEXT NOT NULL REFERENCES orders (id),
    to_status   TEXT NOT NULL,
    paid_amount INTEGER NOT NULL,
    tx_hash     TEXT NOT NULL,
    sequence    INTEGER NOT NULL,
    from_status TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    at          INTEGER NOT NULL,
    settled_at  INTEGER NOT NULL, -- 0: it is still to settle
    settled_by  TEXT NOT NULL,
    settlement  TEXT NOT NULL,
    PRIMARY KEY (order_id, to_status, paid_amount, tx_hash)
);
CREATE INDEX order_conflicts_open ON order_conflicts (at) WHERE settled_at = 0;

-- How far a worker's clock is ahead of the database's, in microseconds.
ALTER TABLE workers ADD COLUMN clock_ahead INTEGER NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE workers DROP COLUMN clock_ahead;
DROP TABLE order_conflicts;
