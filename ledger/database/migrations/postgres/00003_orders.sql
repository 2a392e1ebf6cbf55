-- +goose Up
-- Cash-out orders and what they cost. Amounts of dong are whole; exact decimal
-- amounts are kept as text, as they are shown and signed.

CREATE TABLE rates (
    crypto         TEXT COLLATE "C" PRIMARY KEY,
    network        TEXT NOT NULL,
    price          TEXT NOT NULL,
    wallet_address TEXT NOT NULL,
    updated_at     BIGINT NOT NULL
);

CREATE TABLE quotes (
    id             TEXT COLLATE "C" PRIMARY KEY,
    partner_code   TEXT COLLATE "C" NOT NULL,
    email          TEXT COLLATE "C" NOT NULL,
    crypto         TEXT COLLATE "C" NOT NULL,
    network        TEXT NOT NULL,
    wallet_address TEXT NOT NULL,
    fiat_amount    BIGINT NOT NULL,
    price          TEXT NOT NULL,
    processing_fee BIGINT NOT NULL,
    system_fee     BIGINT NOT NULL,
    total_payment  BIGINT NOT NULL,
    token_amount   TEXT NOT NULL,
    created_at     BIGINT NOT NULL,
    expires_at     BIGINT NOT NULL
);
CREATE INDEX quotes_same ON quotes (partner_code, email, crypto, fiat_amount, id);

CREATE TABLE orders (
    id                TEXT COLLATE "C" PRIMARY KEY,
    partner_code      TEXT COLLATE "C" NOT NULL REFERENCES partners (code),
    external_order_id TEXT COLLATE "C" NOT NULL,
    email             TEXT NOT NULL,
    type              TEXT NOT NULL,
    fiat_amount       BIGINT NOT NULL,
    paid_amount       BIGINT NOT NULL,
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
    total_payment     BIGINT NOT NULL,
    qr_token          TEXT COLLATE "C" NOT NULL,
    processing_fee    BIGINT NOT NULL,
    system_fee        BIGINT NOT NULL,
    status            TEXT NOT NULL,
    sequence          BIGINT NOT NULL,
    description       TEXT NOT NULL,
    fingerprint       TEXT NOT NULL,
    payout_at         BIGINT NOT NULL,
    created_at        BIGINT NOT NULL,
    updated_at        BIGINT NOT NULL,
    expires_at        BIGINT NOT NULL,
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
    order_id    TEXT COLLATE "C" NOT NULL REFERENCES orders (id),
    sequence    BIGINT NOT NULL,
    from_status TEXT NOT NULL,
    to_status   TEXT NOT NULL,
    actor       TEXT NOT NULL,
    reason      TEXT NOT NULL,
    event_id    TEXT COLLATE "C" NOT NULL,
    at          BIGINT NOT NULL,
    PRIMARY KEY (order_id, sequence)
);

-- +goose Down
DROP TABLE order_changes, orders, quotes, rates;
