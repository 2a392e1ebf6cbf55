package ops

import (
	"context"
	"encoding/hex"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	auditPageSize = 50
	auditTime     = "2006-01-02T15:04" // of an input of type datetime-local; where the reader is
)

// auditView is the audit log: who did what, and whether nobody changed it since.
type auditView struct {
	Filter  auditFilter
	Views   shell.Views
	Entries []partners.AuditEntry
	More    string // the query of the next page; empty: there is none
	Export  string // the query of the export
	Chain   chainView
}

// auditFilter is what the form of the page holds, as it was typed.
type auditFilter struct{ Actor, Action, Target, Partner, Since, Until string }

func readAuditFilter(q *shell.Request, query url.Values) (auditFilter, partners.AuditFilter, error) {
	typed := auditFilter{query.Get("actor"), query.Get("action"), query.Get("target"), query.Get("partner"), query.Get("since"), query.Get("until")}
	f := partners.AuditFilter{
		Actor: typed.Actor, Action: typed.Action, Target: typed.Target, PartnerCode: typed.Partner, Cursor: query.Get("after"), Limit: auditPageSize,
	}
	for _, each := range []struct {
		name, text string
		into       *time.Time
	}{{"since", typed.Since, &f.Since}, {"until", typed.Until, &f.Until}} {
		if each.text == "" {
			continue
		}
		at, err := time.ParseInLocation(auditTime, each.text, q.Here(q.Now).Location())
		if err != nil {
			at, err = time.Parse(time.RFC3339, each.text)
		}
		if err != nil {
			return typed, f, webhook.Invalid(each.name, "must be a time like 2026-01-31T14:00, or one with an offset like 2026-01-31T14:00:00+07:00")
		}
		*each.into = at.UTC()
	}
	if !f.Since.IsZero() && !f.Until.IsZero() && f.Since.After(f.Until) {
		return typed, f, webhook.Invalid("since", "must not lie after until")
	}
	return typed, f, deliveries.CheckAfter(f.Cursor)
}

// instant is a time in UTC; empty: none.
func instant(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Format(time.RFC3339)
}

// query is the filter as part of an address.
func (f auditFilter) query(after string) string {
	values := url.Values{}
	for name, value := range map[string]string{"actor": f.Actor, "action": f.Action, "target": f.Target, "partner": f.Partner, "since": f.Since, "until": f.Until, "after": after} {
		if value != "" {
			values.Set(name, value)
		}
	}
	return values.Encode()
}

func (s pages) auditPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed, f, err := readAuditFilter(q, r.URL.Query())
	if err != nil {
		return err
	}
	v := auditView{Filter: typed, Views: s.ViewsOf(r, q), Export: typed.query(""), Chain: s.chain.look(r.Context(), s.Trail.VerifyAudit)}
	var next string
	if v.Entries, next, err = s.Trail.AuditEntries(r.Context(), f); err != nil {
		return err
	}
	if next != "" {
		v.More = typed.query(next)
	}
	return q.Render(w, r, "audit", v)
}

// auditExport writes all entries of the filter as CSV, newest first.
func (s pages) auditExport(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed, f, err := readAuditFilter(q, r.URL.Query())
	if err != nil {
		return err
	}
	f.Limit = 500
	entries, next, err := s.Trail.AuditEntries(r.Context(), f)
	if err != nil {
		return err
	}
	by := q.Audit("audit.export")
	recorded := typed // the times as they are everywhere
	recorded.Since, recorded.Until = instant(f.Since), instant(f.Until)
	by.Detail = recorded.query("")
	if err := s.Record(r.Context(), by); err != nil {
		return err
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="audit.csv"`)
	out := shell.NewCSV(w)
	_ = out.Write([]string{"seq", "at", "actor", "action", "target", "partner", "detail", "hash"}) // its errors come with the flush
	for {
		for _, e := range entries {
			_ = out.Write([]string{
				strconv.FormatInt(e.Seq, 10), e.At.Format("2006-01-02T15:04:05.000Z"), shell.Cell(e.Actor), shell.Cell(e.Action), shell.Cell(e.Target), shell.Cell(e.PartnerCode), shell.Cell(webhook.MaskCards(e.Detail)), hex.EncodeToString(e.Hash),
			})
		}
		out.Flush()
		if out.Error() != nil || next == "" {
			return nil // nobody is there to hear of an error
		}
		f.Cursor = next
		if entries, next, err = s.Trail.AuditEntries(r.Context(), f); err != nil {
			return err // cuts the connection: half a file must not pass for a whole one
		}
	}
}

const (
	chainFresh    = time.Minute            // how old a walk along the chain may be
	chainLimit    = 2 * time.Minute        // of one walk
	chainPatience = 500 * time.Millisecond // of a page
)

// chainView is what is known of the audit log's chain. It is not Known before
// the first walk has ended.
type chainView struct {
	partners.AuditState
	At      time.Time
	Known   bool
	Failing bool // the newest walk failed
}

// Fingerprint is the newest hash, to be written down elsewhere.
func (v chainView) Fingerprint() string { return hex.EncodeToString(v.Head) }

// chainWatch walks along the chain in the background, one walk at a time: a
// long log takes longer than a page may.
type chainWatch struct {
	mu      sync.Mutex
	last    chainView
	walking chan struct{} // closed when the walk ends; nil: there is none
}

// look is the newest state, of a walk that it begins if the last one is old.
func (c *chainWatch) look(ctx context.Context, verify func(context.Context) (partners.AuditState, error)) chainView {
	c.mu.Lock()
	if c.walking == nil && time.Since(c.last.At) >= chainFresh {
		c.walking = make(chan struct{})
		go c.walk(context.WithoutCancel(ctx), verify)
	}
	walking := c.walking
	c.mu.Unlock()
	if walking != nil {
		timer := time.NewTimer(chainPatience)
		defer timer.Stop()
		select {
		case <-walking:
		case <-timer.C:
		case <-ctx.Done():
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.last
}

func (c *chainWatch) walk(ctx context.Context, verify func(context.Context) (partners.AuditState, error)) {
	ctx, cancel := context.WithTimeout(ctx, chainLimit)
	defer cancel()
	began := time.Now()
	state, err := shell.WithDeadline(ctx, verify)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last.Failing = err != nil
	if err == nil {
		c.last = chainView{AuditState: state, At: began, Known: true}
	}
	close(c.walking)
	c.walking = nil
}
