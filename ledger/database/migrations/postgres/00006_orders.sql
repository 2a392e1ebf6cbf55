-- +goose Up
-- Orders that are final are counted like deliveries that have ended.
INSERT INTO rollups (hour, partner_code, fact, slot, n)
    SELECT updated_at / 3600000000, partner_code, 'order_' || status, 0, COUNT(*) FROM orders
    WHERE status IN ('SUCCESS', 'FAIL') GROUP BY 1, 2, 3;

-- +goose Down
DELETE FROM rollups WHERE fact IN ('order_SUCCESS', 'order_FAIL');
