-- +goose Up
-- A partner's own deliveries must not be searched for among everybody's. So the
-- indexes over all partners ask for more than what a partner's query says.
DROP INDEX deliveries_pending, deliveries_failed;
CREATE INDEX deliveries_pending ON deliveries (id) WHERE due_at >= 0;
CREATE INDEX deliveries_failed ON deliveries (id) WHERE finished_at > 1 AND last_outcome <> 'delivered';

-- +goose Down
DROP INDEX deliveries_pending, deliveries_failed;
CREATE INDEX deliveries_pending ON deliveries (id) WHERE due_at IS NOT NULL;
CREATE INDEX deliveries_failed ON deliveries (id) WHERE finished_at > 0 AND last_outcome <> 'delivered';
