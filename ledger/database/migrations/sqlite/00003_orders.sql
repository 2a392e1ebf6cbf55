-- +goose Up
-- Cash-out orders and what they cost. Amounts of dong are whole; exact decimal
-- amounts are kept as text, as they are shown and signed.

CREATE TABLE rates (
    crypto         TEXT PRIMARY KEY,
    network        TEXT NOT NULL,
    price          TEXT NOT NULL,
    wallet_address TEXT NOT NULL,
    updated_at     INTEGER NOT NULL
);

CREATE TABLE quotes (
    id             TEXT PRIMARY KEY,
    partner_code   TEXT NOT NULL,
    email          TEXT NOT NULL,
    crypto         TEXT NOT NULL,
    network        TEXT NOT NULL,
    wallet_address TEXT NOT NULL,
    fiat_amount    INTEGER NOT NULL,
    price          TEXT NOT NULL,
    processing_fee INTEGER NOT NULL,
    system_fee     INTEGER NOT NULL,
    total_payment  INTEGER NOT NULL,
    token_amount   TEXT NOT NULL,
    created_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL
);
CREATE INDEX quotes_same ON quotes (partner_code, email, crypto, fiat_amount, id);

CREATE TABLE orders (
    id                TEXT PRIMARY KEY,
    partner_code      TEXT NOT NULL REFERENCES partners (code),
    external_order_id TEXT NOT NULL,
    email             TEXT NOT NULL,
    type              TEXT NOT NULL,
    fiat_amount       INTEGER NOT NULL,
    paid_amount       INTEGER NOT NULL,
    token_currency    TEXT NOT NULL,
    token_network     TEXT NOT NULL,
    token_price       TEXT NOT NULL,
    token_amount      TEXT NOT NULL,
    wallet_address    TEXT NOT NULL,
    tx_hash           TEXT NOT NULL,
    bank_bin          TEXT NOT NULL,
    bank_name         TEXT NOT NULL,
    account_name      TEXT NOT NULL,
    account_number    TEXT NOT NULL,
    card              BOOLEAN NOT NULL,
    content           TEXT NOT NULL,
    total_payment     INTEGER NOT NULL,
    qr_token          TEXT NOT NULL,
    processing_fee    INTEGER NOT NULL,
    system_fee        INTEGER NOT NULL,
    status            TEXT NOT NULL,
    sequence          INTEGER NOT NULL,
    description       TEXT NOT NULL,
    fingerprint       TEXT NOT NULL,
    payout_at         INTEGER NOT NULL,
    created_at        INTEGER NOT NULL,
    updated_at        INTEGER NOT NULL,
    expires_at        INTEGER NOT NULL,
    UNIQUE (partner_code, external_order_id)
);
CREATE INDEX orders_partner ON orders (partner_code, id);
CREATE INDEX orders_status ON orders (status, id);
CREATE INDEX orders_external ON orders (external_order_id, id);
CREATE UNIQUE INDEX orders_qr ON orders (qr_token) WHERE qr_token <> '';
-- What can expire: few rows, whatever the number of orders.
CREATE INDEX orders_unpaid ON orders (expires_at, id) WHERE status = 'AWAITING_PAYMENT' AND payout_at = 0;

-- One row for each status change of an order, numbered as its notifications are.
CREATE TABLE order_changes (
    order_id    TEXT NOT NULL REFERENCES orders (id),
    sequence    INTEGER NOT NULL,
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    event_id    TEXT NOT NULL,
    at          INTEGER NOT NULL,
    PRIMARY KEY (order_id, sequence)
);

-- +goose Down
DROP TABLE order_changes;
DROP TABLE orders;
DROP TABLE quotes;
DROP TABLE rates;
