package proof

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/signer"
	"ledgerhook/web"
)

// Signer signs a text with one of the gateway's keys, as it does notifications.
type Signer func(ctx context.Context, keyID string, text []byte) (signature string, err error)

// webhookType names a pack where a notification has its type.
const webhookType = "Evidence"

// maxText is how long the signed text may be, in bytes: what checks a
// notification also checks a pack.
const maxText = signer.MaxChecked - 1024

// Sealed is a pack with the gateway's signature.
type Sealed struct {
	Pack
	Text      []byte // what is signed: the pack in the form of RFC 8785
	SHA256    string // of Text
	Signature string // RSA PKCS#1 v1.5 over SHA-256, in base64
}

// Seal signs a pack with the key keyID. A pack too large to be checked like a
// notification loses deliveries from its end, then references, and says so.
func (p Pack) Seal(ctx context.Context, keyID string, sign Signer) (s Sealed, err error) {
	p.KeyID = keyID
	for {
		p.References = p.marked()
		if s.Text, err = p.text(); err != nil {
			return s, err
		}
		if len(s.Text) <= maxText || len(p.Deliveries)+len(p.References) == 0 {
			break
		}
		p.Bounds.Complete = false
		if len(p.Deliveries) > 0 {
			p.Deliveries = fitting(p.Deliveries, len(s.Text))
		} else {
			p.References = fitting(p.References, len(s.Text))
		}
	}
	s.Pack, s.SHA256 = p, hash(s.Text)
	s.Signature, err = sign(ctx, keyID, s.Text)
	return s, err
}

// fitting is the beginning of all that about fits where all together take size
// bytes; it is always shorter.
func fitting[T any](all []T, size int) []T { return all[:len(all)*maxText/(size+1)] }

// marked returns the references, those marked whose deliveries were all left
// out.
func (p Pack) marked() []Reference {
	held, marked := p.held(), slices.Clone(p.References)
	for i, r := range marked {
		if r.Found == FoundDeliveries && !slices.ContainsFunc(r.DeliveryIDs, func(id string) bool { return held[id].DeliveryID != "" }) {
			marked[i].Found = FoundLeftOut
		}
	}
	return marked
}

func (p Pack) text() ([]byte, error) {
	plain, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("write the evidence: %w", err)
	}
	return signer.Canonical(plain)
}

// JSON is the pack as a file: it is built and signed like a notification, and
// whatever verifies the RSA signature of one verifies it.
func (s Sealed) JSON() ([]byte, error) {
	return signer.Notification{WebhookType: webhookType, Success: true, Data: s.Text, TopLevelSignature: true}.Body(s.Signature)
}

var columns = []string{"reference", "found", "delivery_id", "event_id", "type", "object", "endpoint_id", "url", "state", "created_at", "finished_at", "attempts", "data_sha256", "signed_with",
	"attempt", "trigger", "started_at", "duration_ms", "address", "tls_version", "certificate_sha256", "certificate_ends", "webhook_timestamp", "webhook_signature",
	"outcome", "status_code", "error_class", "error_detail", "answer_bytes", "answer_sha256"}

// CSV is the pack as a table: a row for each attempt, for each delivery without
// any, for each that a reference names and that was left out, and for each
// reference without deliveries. Its last line is the signature of all before it.
func (s Sealed) CSV(ctx context.Context, sign Signer) ([]byte, error) {
	var b bytes.Buffer
	w := shell.NewCSV(&b) // a buffer refuses nothing
	_ = w.Write(columns)
	byID, asked := s.held(), map[string]bool{}
	for _, r := range s.References {
		if len(r.DeliveryIDs) == 0 {
			writeReference(w, r, r.Found, "")
		}
		for _, id := range r.DeliveryIDs {
			if d, held := byID[id]; held {
				asked[id] = true
				writeDelivery(w, r, d)
			} else {
				writeReference(w, r, FoundLeftOut, id)
			}
		}
	}
	for _, d := range s.Deliveries {
		if !asked[d.DeliveryID] {
			writeDelivery(w, Reference{}, d)
		}
	}
	_ = w.Write([]string{fmt.Sprintf("# %s; %s; %s; partner %s; taken at %s; complete: %t; signed by %s", s.Kind, s.Gateway, s.About, s.PartnerCode, spell(s.TakenAt), s.Bounds.Complete, s.KeyID)})
	w.Flush()
	signature, err := sign(ctx, s.KeyID, b.Bytes())
	b.WriteString("# signature " + signature + "\n")
	return b.Bytes(), err
}

// writeReference writes a reference without what was sent of it.
func writeReference(w *csv.Writer, r Reference, found, deliveryID string) {
	_ = w.Write(append([]string{shell.Cell(r.Reference), found, deliveryID, r.EventID}, make([]string, len(columns)-4)...))
}

func writeDelivery(w *csv.Writer, r Reference, d Delivery) {
	row := []string{shell.Cell(r.Reference), r.Found, d.DeliveryID, d.EventID, d.WebhookType, shell.Cell(d.Reference), d.EndpointID, shell.Cell(d.URL), d.State,
		spell(d.CreatedAt), spell(d.FinishedAt), strconv.Itoa(d.AttemptCount), d.DataSHA256, d.SignedWith}
	for _, a := range d.Attempts {
		writeAttempt(w, row, a)
	}
	if len(d.Attempts) == 0 {
		_ = w.Write(append(row, make([]string, len(columns)-len(row))...))
	}
}

func writeAttempt(w *csv.Writer, row []string, a Attempt) {
	code, kept := "", ""
	if a.StatusCode > 0 {
		code = strconv.Itoa(a.StatusCode)
	}
	if a.AnswerSHA256 != "" {
		kept = strconv.Itoa(a.AnswerBytes)
	}
	_ = w.Write(append(row[:len(row):len(row)], strconv.Itoa(a.Number), a.Trigger, spell(a.StartedAt), strconv.FormatInt(a.DurationMs, 10), a.Address, a.TLSVersion,
		a.CertificateSHA256, spell(a.CertificateEnds), a.WebhookTimestamp, shell.Cell(a.WebhookSignature), a.Outcome, code, a.ErrorClass, shell.Cell(a.ErrorDetail), kept, a.AnswerSHA256))
}

func spell(t web.Time) string { return web.FormatTime(time.Time(t)) }
