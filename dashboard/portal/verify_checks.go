package portal

import (
	"bytes"
	"context"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/delivery"
	"ledgerhook/partners"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// checkAll checks a notification in every way there is.
func (s pages) checkAll(ctx context.Context, q *shell.Request, got signer.Capture, v *verifyView) {
	account, err := shell.WithDeadline(ctx, func(ctx context.Context) (partners.Partner, error) {
		return s.Accounts.Partner(ctx, q.User.PartnerCode)
	})
	has := func(signature string) bool {
		return err != nil || slices.Contains(account.Settings.Signatures, signature)
	}
	rsaRight := s.checkRSA(ctx, q, got, has(webhook.SignatureRSA), v)
	standardRight := s.checkStandard(ctx, q, got, has(webhook.SignatureStandard), v)
	if sent, ok := signer.SentAt(got.Header); ok {
		v.Checks = append(v.Checks, sentAge(q, sent))
	}
	same := s.checkSent(ctx, q, got, v)
	switch {
	case standardRight && rsaRight || same && (standardRight || rsaRight):
		v.Verdict = shell.Notice{Tone: "good", Text: q.T("It is genuine: the gateway sent it, and it is unchanged.")}
	case standardRight:
		v.Verdict = shell.Notice{Tone: "good", Text: q.T("It is genuine by your webhook secret.")}
	case rsaRight && got.Header.Get(signer.HeaderSignature) == "":
		v.Verdict = shell.Notice{Tone: "good", Text: q.T("The gateway's key confirms its data. Paste the headers, too, to check the rest.")}
	case rsaRight:
		v.Verdict = shell.Notice{Tone: "bad", Text: q.T("Its data is genuine, but the request has been changed.")}
	default:
		v.Verdict = shell.Notice{Tone: "bad", Text: q.T("It does not verify. The reason is below.")}
	}
}

// findingWords are what was found as a sentence: with a capital, unless it
// begins with a name, and with an end.
func findingWords(q *shell.Request, f signer.Finding) string {
	said := q.T(f.Text, f.Values...)
	if said == "" {
		return ""
	}
	if first, _, _ := strings.Cut(q.T(f.Text), " "); !strings.ContainsAny(first, "%-") && first == strings.ToLower(first) {
		r, size := utf8.DecodeRuneInString(said)
		said = string(unicode.ToUpper(r)) + said[size:]
	}
	if q.Locale == locale.Chinese {
		return said + "。"
	}
	return said + "."
}

// checked adds what one signature came to.
func (v *verifyView) checked(q *shell.Request, name string, c signer.Check, by string) {
	row := verifyCheck{Name: name, Result: shell.Bad(locale.Text("wrong")), Says: findingWords(q, c.Found)}
	if c.Right {
		row.Result = shell.Good(locale.Text("right"))
		if c.Found.None() {
			row.Says = by
		} else {
			row.Says = by + " " + row.Says
		}
	}
	v.Checks = append(v.Checks, row)
}

func (s pages) checkRSA(ctx context.Context, q *shell.Request, got signer.Capture, expected bool, v *verifyView) (right bool) {
	keys := s.gatewayKeys(ctx)
	c := signer.CheckNotification(ctx, keys, got.Body)
	if !c.Right && !expected {
		v.Checks = append(v.Checks, verifyCheck{q.T("RSA signature"), shell.Idle(locale.Text("not sent")), q.T("Your account's notifications do not include it.")})
		return false
	}
	by := q.T("Signed with the gateway's key %s.", signer.KeyID(keys[c.By]))
	if c.By > 0 {
		by = q.T("Signed with %s, an earlier key of the gateway.", signer.KeyID(keys[c.By]))
	}
	v.checked(q, q.T("RSA signature"), c, by)
	return c.Right
}

func (s pages) checkStandard(ctx context.Context, q *shell.Request, got signer.Capture, expected bool, v *verifyView) (right bool) {
	name := q.T("Standard Webhooks")
	if !expected && got.Header.Get(signer.HeaderSignature) == "" {
		v.Checks = append(v.Checks, verifyCheck{name, shell.Idle(locale.Text("not sent")), q.T("Your account's notifications do not include it.")})
		return false
	}
	secrets, values, err := s.openSecrets(ctx, q.User.PartnerCode)
	if err != nil {
		v.Checks = append(v.Checks, verifyCheck{name, shell.Warn(locale.Text("not known just now")), q.T("Your secrets cannot be read just now.")})
		return false
	}
	c := signer.CheckStandard(ctx, values, got.Header, got.Body)
	by := ""
	if c.Right {
		by = q.T("Signed with your secret %s, which is %s now.", secrets[c.By].ID, q.T(secretWords[secrets[c.By].StateAt(q.Now)]))
	}
	v.checked(q, name, c, by)
	return c.Right
}

// secretWords are the states of secrets.
var secretWords = map[partners.SecretState]string{
	partners.SecretPending: locale.Text("pending"), partners.SecretActive: locale.Text("active"), partners.SecretRetiring: locale.Text("retiring"), partners.SecretRevoked: locale.Text("revoked"),
}

// checkSent compares the notification with what the ledger knows to have been
// sent under its webhook-id.
func (s pages) checkSent(ctx context.Context, q *shell.Request, got signer.Capture, v *verifyView) (same bool) {
	row := verifyCheck{Name: q.T("As it was sent"), Result: shell.Idle(locale.Text("not known"))}
	defer func() { v.Checks = append(v.Checks, row) }()
	id := got.Header.Get(signer.HeaderID)
	if id == "" {
		row.Says = q.T("Without the webhook-id header it cannot be compared.")
		return false
	}
	type sent struct {
		event  webhook.Event
		placed []delivery.DeliveryWithWindow
		body   []byte
	}
	kept, err := shell.WithDeadline(ctx, func(ctx context.Context) (k sent, err error) {
		if err := webhook.CheckID(signer.HeaderID, webhook.EventPrefix, id); err != nil {
			return k, webhook.NotFound("event", id)
		}
		if k.event, k.placed, err = s.Reports.SeenEvent(ctx, q.Scope(), id); err == nil && s.Composer != nil && !k.event.Erased.Done() {
			k.body, err = s.Composer.Body(ctx, k.event)
		}
		return k, err
	})
	switch {
	case webhook.KindOf(err) == webhook.KindNotFound && err != nil:
		row.Result = shell.Bad(locale.Text("not found"))
		row.Says = q.T("You have no notification with this webhook-id. It was changed, is another partner's, or is past its retention.")
		return false
	case err == nil && kept.event.Erased.Done():
		row.Says = q.T("The content of this notification was erased: it cannot be compared.")
		return false
	case err != nil || kept.body == nil:
		row.Result, row.Says = shell.Warn(locale.Text("not known just now")), q.T("The sent request cannot be read just now.")
		return false
	}
	body := bytes.TrimRight(got.Body, "\r\n")
	if !bytes.Equal(body, kept.body) {
		row.Result = shell.Bad(locale.Text("changed"))
		if v.Diff = deliveries.DiffPayloads("", kept.body, body).Rows; len(v.Diff) == 0 {
			row.Says = q.T("It has the right content in other bytes: something parsed and re-encoded it.")
		} else {
			row.Says = q.T("The body is not the one sent. The differences are below.")
		}
		return false
	}
	if says := s.comparedHeaders(ctx, q, got, kept.placed); says != "" {
		row.Result, row.Says = shell.Bad(locale.Text("changed")), says
		return false
	}
	row.Result, row.Says = shell.Good(locale.Text("right")), q.T("The body is exactly the one sent, byte for byte.")
	return true
}

// comparedDeliveries is how many deliveries of an event are asked for the
// attempt that a notification came with.
const comparedDeliveries = 10

// comparedHeaders says how time and signature differ from those of the event's
// attempts; empty if they do not, or if that is not known.
func (s pages) comparedHeaders(ctx context.Context, q *shell.Request, got signer.Capture, placed []delivery.DeliveryWithWindow) string {
	seconds, signature := got.Header.Get(signer.HeaderTimestamp), got.Header.Get(signer.HeaderSignature)
	if seconds == "" {
		return ""
	}
	made := 0
	for _, d := range placed[:min(len(placed), comparedDeliveries)] {
		attempts, err := shell.WithDeadline(ctx, func(ctx context.Context) ([]webhook.Attempt, error) { return s.Reports.Attempts(ctx, d.ID) })
		if err != nil {
			return ""
		}
		made += len(attempts)
		for _, a := range attempts {
			at, signed := headerOf(a.RequestHeaders, signer.HeaderTimestamp), headerOf(a.RequestHeaders, signer.HeaderSignature)
			switch {
			case at != seconds:
			case signature == "" || signed == signature:
				return ""
			default:
				return q.T("webhook-signature is not the one that attempt %s was sent with.", strconv.Itoa(a.Number))
			}
		}
	}
	if made == 0 || len(placed) > comparedDeliveries {
		return ""
	}
	return q.T("The body is right, but no attempt was made at that webhook-timestamp.")
}

func headerOf(h map[string][]string, name string) string {
	for _, f := range deliveries.HeadersOf(h) {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}
