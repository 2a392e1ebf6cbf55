package deliveries

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// signedView is what was signed and sent for a delivery, byte for byte, and
// what came of it.
type signedView struct {
	reports.FoundDelivery
	State    shell.Pill
	Sentence string
	Ended    bool
	Steps    []CheckStep // of the newest attempt; none: there is none yet
	Done     string
	Gone     bool // the event is past its retention
	ErasedBy string

	Body      exactText
	RSA       exactText // what the RSA signature is made over; zero: it is not made
	RSAValue  string
	RSAPlace  string    // where in the body it stands
	Standard  exactText // what the header webhook-signature is made over; zero: it is not made, or nothing is sent yet
	Headers   []Header
	KeyID     string
	Signature string // the header webhook-signature
}

// exactText is a text that somebody compares byte for byte.
type exactText struct {
	ID, Text string
	Bytes    int
	SHA256   string
}

func exact(id string, text []byte) exactText {
	sum := sha256.Sum256(text)
	return exactText{id, string(text), len(text), hex.EncodeToString(sum[:])}
}

// SignedPath is the page about what a delivery's signatures are made over.
func SignedPath(base, deliveryID string) string {
	return base + "/deliveries/" + deliveryID + "/signed"
}

// KeyID names the key that new notifications are signed with.
func (s Pages) KeyID() string { return signer.KeyID(s.Key()) }

func (s Pages) signedPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	d, attempts, err := s.deliveryAt(r, q)
	if err != nil {
		return err
	}
	v := signedView{FoundDelivery: d, State: shell.Standing(d.Delivery, d.Window), Sentence: sentence(q.Speller, d, q.Now), Ended: d.State.Final()}
	v.Done = map[string]string{
		"created": q.T("The endpoint is saved, and a test event was sent to it."), "saved": q.T("The changes are saved, and a test event was sent."),
		"test": q.T("The test event is sent."), "again": q.T(DoneBefore),
	}[r.URL.Query().Get("done")]
	e, _, err := s.Reports.SeenEvent(r.Context(), q.Scope(), d.EventID)
	if v.Gone = webhook.KindOf(err) == webhook.KindNotFound && err != nil; err != nil && !v.Gone {
		return err
	}
	var newest webhook.Attempt
	if len(attempts) > 0 {
		newest = attempts[len(attempts)-1]
		v.Steps = CheckSteps(q, d.URL, newest)
		v.Headers = HeadersOf(newest.RequestHeaders)
	}
	v.ErasedBy = erasedBy(q, e)
	if !v.Gone && v.ErasedBy == "" {
		if err := v.fill(r.Context(), s, e, http.Header(newest.RequestHeaders)); err != nil {
			return err
		}
	}
	return q.Render(w, r, "signed", v)
}

// fill makes the texts anew, as the sender did: every attempt at an event
// sends the same bytes.
func (v *signedView) fill(ctx context.Context, s Pages, e webhook.Event, sent http.Header) error {
	if s.Composer == nil {
		return nil
	}
	body, err := s.Composer.Body(ctx, e)
	if err != nil {
		return err
	}
	v.Body, v.KeyID = exact("body", body), e.KeyID
	var parts struct {
		Signature string `json:"signature"`
		Data      struct {
			Signature string `json:"signature"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &parts); err != nil {
		return err
	}
	if v.RSAValue = cmp.Or(parts.Signature, parts.Data.Signature); v.RSAValue != "" {
		v.RSA, v.RSAPlace = exact("rsa", e.Data), "data.signature"
		if parts.Signature != "" {
			v.RSAPlace = "signature"
		}
	}
	if v.Signature = sent.Get(signer.HeaderSignature); v.Signature != "" {
		text := sent.Get(signer.HeaderID) + "." + sent.Get(signer.HeaderTimestamp) + "."
		v.Standard = exact("standard", append([]byte(text), body...))
	}
	return nil
}

// DoneBefore answers a form that comes a second time.
var DoneBefore = locale.Text("This has already been done: the form was sent before. Nothing was done twice.")
