-- +goose Up
-- What somebody said of an order that had failed: that its money moved. The
-- order stays as it is, and this waits for somebody to settle it.
CREATE TABLE order_conflicts (
    order_id    TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    to_status   TEXT COLLATE "C" NOT NULL,
    paid_amount BIGINT NOT NULL,
    tx_hash     TEXT COLLATE "C" NOT NULL,
    sequence    BIGINT NOT NULL,
    from_status TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    at          BIGINT NOT NULL,
    settled_at  BIGINT NOT NULL, -- 0: it is still to settle
    settled_by  TEXT NOT NULL,
    settlement  TEXT NOT NULL,
    PRIMARY KEY (order_id, to_status, paid_amount, tx_hash)
);
CREATE INDEX order_conflicts_open ON order_conflicts (at) WHERE settled_at = 0;

-- How far a worker's clock is ahead of the database's, in microseconds.
ALTER TABLE workers ADD COLUMN clock_ahead BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE workers DROP COLUMN clock_ahead;
DROP TABLE order_conflicts;
