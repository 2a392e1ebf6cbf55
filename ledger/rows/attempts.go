package rows

import (
	"encoding/json"
	"errors"
	"fmt"

	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// AttemptColumns are what AttemptFields reads.
const AttemptColumns = `delivery_id, number, id, trigger, started_at, dns_us, connect_us, tls_us, first_byte_us, total_us,
	peer_ip, tls_version, tls_not_after, request_headers, outcome, status_code, error_class, error_detail, response_headers,
	response_body, truncated, key_id, worker_id, next_at, next_reason, headers_cut, certificate`

// AttemptFields are the columns of an attempt.
func AttemptFields(a *webhook.Attempt) []any {
	return []any{&a.DeliveryID, &a.Number, &a.ID, &a.Trigger, database.Time(&a.StartedAt), database.Duration(&a.Phases.DNS),
		database.Duration(&a.Phases.Connect), database.Duration(&a.Phases.TLS), database.Duration(&a.Phases.FirstByte), database.Duration(&a.Phases.Total),
		&a.PeerIP, &a.TLSVersion, database.Time(&a.TLSNotAfter), headerColumn{&a.RequestHeaders}, &a.Outcome, &a.StatusCode,
		&a.ErrorClass, &a.ErrorDetail, headerColumn{&a.ResponseHeaders}, &a.ResponseBody, &a.Truncated, &a.KeyID, &a.Worker,
		database.Time(&a.NextAt), &a.NextReason, &a.HeadersCut, &a.Certificate}
}

// HeaderBytes is how the ledger keeps headers: JSON as bytes.
func HeaderBytes(h map[string][]string) []byte {
	text, err := json.Marshal(h)
	if err != nil || len(h) == 0 { // a map of strings always has a JSON form
		return []byte("{}")
	}
	return text
}

// headerColumn scans what HeaderBytes wrote.
type headerColumn struct{ h *map[string][]string }

func (c headerColumn) Scan(v any) error {
	b, ok := v.([]byte)
	if !ok {
		return fmt.Errorf("headers cannot be read from %T", v)
	}
	*c.h = nil
	if err := json.Unmarshal(b, c.h); err != nil {
		return errors.New("headers are damaged")
	}
	return nil
}
