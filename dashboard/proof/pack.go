// Package proof makes the pack that proves to a partner what was sent to it:
// one type of evidence, signed in one place with the key that signs its
// notifications.
package proof

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"ledgerhook/dashboard/locale"
	"ledgerhook/delivery/guard"
	"ledgerhook/ledger/reports"
	"ledgerhook/signer"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// Kind stands in every pack and in no notification, so that neither passes for
// the other.
const Kind = "ledgerhook.evidence/1"

// The bounds of a pack, which says them.
const (
	// MaxDeliveries is how many deliveries, and references, a pack holds.
	MaxDeliveries = reports.MaxProofs
	// AttemptsAlone is how many attempts the pack of a single delivery holds, and
	// AttemptsEach that of several holds of each.
	AttemptsAlone = 50
	AttemptsEach  = 1
	// maxAnswer is how many bytes of an answer's body the pack of a single
	// delivery shows.
	maxAnswer = 1 << 10
)

// What a pack can be about.
const (
	OfDelivery       = "delivery"
	OfList           = "list"
	OfReconciliation = "reconciliation"
)

// Pack is what a pack says: all of it is signed. It is about one partner.
type Pack struct {
	Kind        string      `json:"kind"`
	About       string      `json:"about"`
	PartnerCode string      `json:"partnerCode"`
	Gateway     string      `json:"gateway"` // its public URL
	TakenAt     web.Time    `json:"takenAt"`
	Search      string      `json:"search,omitempty"` // that made the list
	KeyID       string      `json:"keyId"`            // signs the pack
	Bounds      Bounds      `json:"bounds"`
	Notes       []string    `json:"notes"` // what must be known to read it, in English
	Deliveries  []Delivery  `json:"deliveries"`
	References  []Reference `json:"references,omitempty"` // of a reconciliation
}

// Bounds are how much a pack holds at most.
type Bounds struct {
	Deliveries       int  `json:"deliveries"`
	AttemptsEach     int  `json:"attemptsEach"` // the newest
	Complete         bool `json:"complete"`     // nothing was left out for them
	AnswerBodyKept   int  `json:"answerBodyKept"`
	AnswerBodyListed int  `json:"answerBodyListed"`
}

// Delivery is one delivery as a pack proves it.
type Delivery struct {
	DeliveryID   string    `json:"deliveryId"`
	EventID      string    `json:"eventId"` // the webhook-id of every attempt
	WebhookType  string    `json:"webhookType"`
	Reference    string    `json:"reference"`
	Sequence     int64     `json:"sequence"`
	EndpointID   string    `json:"endpointId"`
	URL          string    `json:"url"`
	State        string    `json:"state"`
	Trigger      string    `json:"trigger"`
	CreatedAt    web.Time  `json:"createdAt"`
	FinishedAt   web.Time  `json:"finishedAt"`
	AttemptCount int       `json:"attemptCount"`
	ReplayOf     string    `json:"replayOf,omitempty"`
	DeliveredBy  string    `json:"deliveredBy,omitempty"`
	SignedWith   string    `json:"signedWith"` // the key of its RSA signature
	DataSHA256   string    `json:"dataSha256"` // of the text of its RSA signature; empty: erased, or past its retention
	BodySHA256   string    `json:"bodySha256,omitempty"`
	BodyBytes    int       `json:"bodyBytes,omitempty"`
	Erased       bool      `json:"erased,omitempty"` // nothing tells any more what was sent and answered
	Attempts     []Attempt `json:"attempts"`
}

// Attempt is one attempt as a pack proves it.
type Attempt struct {
	Number            int      `json:"number"`
	Trigger           string   `json:"trigger"`
	StartedAt         web.Time `json:"startedAt"`
	DurationMs        int64    `json:"durationMs"`
	Address           string   `json:"address"` // that was dialled
	TLSVersion        string   `json:"tlsVersion"`
	CertificateSHA256 string   `json:"certificateSha256"`
	CertificateEnds   web.Time `json:"certificateEnds"`
	WebhookTimestamp  string   `json:"webhookTimestamp,omitempty"`
	WebhookSignature  string   `json:"webhookSignature,omitempty"`
	Outcome           string   `json:"outcome"`
	StatusCode        int      `json:"statusCode"`
	ErrorClass        string   `json:"errorClass"`
	ErrorDetail       string   `json:"errorDetail,omitempty"`
	AnswerBytes       int      `json:"answerBytes,omitempty"`  // that are kept
	AnswerSHA256      string   `json:"answerSha256,omitempty"` // of them; absent: there was no answer, or it was erased
	AnswerCut         bool     `json:"answerCut,omitempty"`    // there was more than is kept
	Answer            string   `json:"answer,omitempty"`
}

// Reference is one reference of a reconciliation and what was found of it.
type Reference struct {
	Reference   string   `json:"reference"`
	Found       string   `json:"found"` // one of the words below, or why there are none to show
	EventID     string   `json:"eventId"`
	DeliveryIDs []string `json:"deliveryIds"` // also of those that were left out
}

// What a Reference found beside a reports.Why.
const (
	FoundDeliveries = "deliveries"
	FoundLeftOut    = "left_out" // deliveries, none of which the pack holds
)

// What must be known to read a pack. The pages translate them.
var (
	NoteURL     = locale.Text("The URL is the endpoint's when this was taken. Of each attempt, the address that was dialled and the certificate shown are kept.")
	NoteOld     = locale.Text("Attempts made before certificates were kept have no certificate hash.")
	NoteAnswers = locale.Text("Hashes of answers are over the part that is kept: the first 16 KiB.")
	NoteUnseen  = locale.Text("An address inside the gateway's own networks is not told.")
	NoteLeftOut = locale.Text("A reference names its deliveries also where they were left out.")
	NoteErased  = locale.Text("Of an event that was erased, headers, answers and details of errors are not kept any more.")
)

// New begins a pack about a partner.
func New(about, partnerCode, gateway string, takenAt time.Time) Pack {
	p := Pack{Kind: Kind, About: about, PartnerCode: partnerCode, Gateway: gateway, TakenAt: web.Time(takenAt), Deliveries: []Delivery{},
		Notes:  []string{NoteURL, NoteOld, NoteAnswers, NoteUnseen},
		Bounds: Bounds{Deliveries: MaxDeliveries, AttemptsEach: AttemptsEach, Complete: true, AnswerBodyKept: webhook.MaxKeptBody}}
	if about == OfDelivery {
		p.Bounds.Deliveries, p.Bounds.AttemptsEach, p.Bounds.AnswerBodyListed = 1, AttemptsAlone, maxAnswer
	}
	return p
}

// Add adds a delivery. body is what every attempt at it sent; nil: it is not
// told.
func (p *Pack) Add(of reports.Proof, body []byte) {
	d := Delivery{DeliveryID: of.ID, EventID: of.EventID, WebhookType: string(of.Type), Reference: of.ObjectID, Sequence: of.Sequence,
		EndpointID: of.EndpointID, URL: of.URL, State: string(of.Shown(of.Window)), Trigger: string(of.Trigger),
		CreatedAt: web.Time(of.CreatedAt), FinishedAt: web.Time(of.FinishedAt), AttemptCount: of.Delivery.Attempts,
		ReplayOf: of.ReplayOf, DeliveredBy: of.DeliveredBy, SignedWith: of.Event.KeyID, Attempts: []Attempt{}}
	d.Erased = of.Event.Erased.Done()
	if of.Event.ID != "" && !d.Erased {
		d.DataSHA256 = hash(of.Event.Data)
	}
	if d.Erased && !slices.Contains(p.Notes, NoteErased) {
		p.Notes = append(p.Notes, NoteErased)
	}
	for _, a := range of.Attempts {
		shown := told(a)
		if !d.Erased {
			p.answer(&shown, a)
		}
		d.Attempts = append(d.Attempts, shown)
	}
	if p.About == OfDelivery && of.Delivery.Attempts > p.Bounds.AttemptsEach {
		p.Bounds.Complete = false
	}
	if body != nil {
		d.BodySHA256, d.BodyBytes = hash(body), len(body)
	}
	p.Deliveries = append(p.Deliveries, d)
}

// told is what an attempt keeps also when its event is erased.
func told(a webhook.Attempt) Attempt {
	return Attempt{Number: a.Number, Trigger: string(a.Trigger), StartedAt: web.Time(a.StartedAt), DurationMs: a.Phases.Total.Milliseconds(),
		Address: publicAddress(a), TLSVersion: a.TLSVersion, CertificateSHA256: hex.EncodeToString(a.Certificate), CertificateEnds: web.Time(a.TLSNotAfter),
		Outcome: string(a.Outcome), StatusCode: a.StatusCode, ErrorClass: string(a.ErrorClass)}
}

// answer tells what else an attempt sent and got.
func (p *Pack) answer(shown *Attempt, a webhook.Attempt) {
	shown.WebhookTimestamp, shown.WebhookSignature, shown.ErrorDetail = header(a, signer.HeaderTimestamp), header(a, signer.HeaderSignature), a.ErrorDetail
	if a.StatusCode == 0 {
		return
	}
	shown.AnswerBytes, shown.AnswerSHA256, shown.AnswerCut = len(a.ResponseBody), hash(a.ResponseBody), a.Truncated
	if p.Bounds.AnswerBodyListed > 0 {
		shown.Answer = text(a.ResponseBody, p.Bounds.AnswerBodyListed)
	}
}

// held returns the deliveries by their ids.
func (p *Pack) held() map[string]Delivery {
	byID := make(map[string]Delivery, len(p.Deliveries))
	for _, d := range p.Deliveries {
		byID[d.DeliveryID] = d
	}
	return byID
}

// Count counts the references of which a delivery arrived, those of which none
// did, and those of which the pack cannot tell: what it would take was left out
// or is past its retention.
func (p *Pack) Count() (arrived, none, unknown int) {
	held := p.held()
	for _, r := range p.References {
		brought, whole := false, r.Found != string(reports.PastRetention)
		for _, id := range r.DeliveryIDs {
			d, here := held[id]
			brought, whole = brought || d.Arrived(), whole && here
		}
		switch {
		case brought:
			arrived++
		case whole:
			none++
		default:
			unknown++
		}
	}
	return arrived, none, unknown
}

// Arrived reports whether the receiver has taken the event of the delivery.
func (d Delivery) Arrived() bool {
	return d.State == string(webhook.Delivered) || d.DeliveredBy != ""
}

// Reached reports whether an attempt that the pack holds got a connection over
// which the notification could be sent.
func (d Delivery) Reached() bool {
	return slices.ContainsFunc(d.Attempts, func(a Attempt) bool {
		return a.StatusCode > 0 || a.TLSVersion != "" && a.ErrorClass != string(webhook.ErrorTLS)
	})
}

// publicAddress is the address that an attempt dialled; empty if it lies inside
// the gateway's own networks, which a pack leads out of.
func publicAddress(a webhook.Attempt) string {
	if addr, err := netip.ParseAddr(a.PeerIP); err != nil || !guard.IsPublic(addr) {
		return ""
	}
	return a.PeerIP
}

// text is the beginning of an answer as text, card numbers masked; empty if it
// is none.
func text(body []byte, limit int) string {
	if !utf8.Valid(body) {
		return ""
	}
	shown := locale.Printable([]byte(webhook.MaskCards(string(body))))
	if len(shown) > limit {
		return strings.ToValidUTF8(shown[:limit], "") + "…"
	}
	return shown
}

func header(a webhook.Attempt, name string) string {
	for each, values := range a.RequestHeaders {
		if strings.EqualFold(each, name) && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func hash(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
