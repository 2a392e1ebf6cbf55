package deliveries

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

const (
	// MaxExport is how many rows an export of deliveries holds at most.
	MaxExport    = 100_000
	exportLimit  = 80 * time.Second // of a whole export
	exportPerAsk = 10 * time.Second // of one page of it
)

// deliveriesExport writes the deliveries of a search as CSV, newest first, at
// most MaxExport. It is written to the audit log before the first row leaves.
// A fault on the way cuts the connection: half a file must not pass for a
// whole one.
func (s Pages) deliveriesExport(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	typed, _ := mergeQuery(r.URL.Query())
	search, err := parseQuery(typed, q.Here(q.Now))
	if err != nil {
		return webhook.Invalid("q", QueryProblem(q, err))
	}
	search.Scope, search.Limit = q.Scope(), reports.SearchMaxLimit
	ctx, cancel := context.WithTimeout(r.Context(), exportLimit)
	defer cancel()
	page, err := s.exportPart(ctx, search)
	if err != nil {
		return err
	}
	by := q.Audit("delivery.export")
	by.Detail = typed
	if err := s.Record(ctx, by); err != nil {
		return err
	}
	if err := http.NewResponseController(w).SetWriteDeadline(time.Now().Add(exportLimit + time.Minute)); err != nil {
		return fmt.Errorf("lift the limit on an export: %w", err)
	}
	w.Header().Set("Content-Type", "text/csv; charset=utf-8")
	w.Header().Set("Content-Disposition", `attachment; filename="deliveries.csv"`)
	out := shell.NewCSV(w)
	_ = out.Write([]string{"delivery_id", "event_id", "created_at", "partner", "type", "reference", "state", "trigger", "attempts",
		"outcome", "status_code", "error_class", "first_delay_ms", "duration_ms", "waiting_for", "next_attempt_at", "finished_at", "endpoint_id", "url", "delivered_by"}) // its errors come with the flush
	for rows := 0; ; {
		for _, d := range page.Items {
			if rows++; rows > MaxExport {
				_ = out.Write([]string{fmt.Sprintf("# %d rows at most: narrow the search for the rest", MaxExport)})
				out.Flush()
				return nil
			}
			_ = out.Write(exportRow(d, q.Now))
		}
		if out.Flush(); out.Error() != nil || page.Next == "" {
			return nil // nobody is there to hear of an error
		}
		search.Cursor = page.Next
		if page, err = s.exportPart(ctx, search); err != nil {
			return err
		}
	}
}

func (s Pages) exportPart(ctx context.Context, search reports.DeliveryQuery) (reports.DeliveryPage, error) {
	ctx, cancel := context.WithTimeout(ctx, exportPerAsk)
	defer cancel()
	return s.Reports.SearchDeliveries(ctx, search)
}

func exportRow(d reports.FoundDelivery, now time.Time) []string {
	reason, until := d.WaitingFor(d.Window, now)
	delay := ""
	if first, ok := d.FirstDelay(); ok {
		delay = strconv.FormatInt(first.Milliseconds(), 10)
	}
	took := ""
	if !d.LastAt.IsZero() {
		took = strconv.FormatInt(d.LastDuration.Milliseconds(), 10)
	}
	code := ""
	if d.Last.StatusCode > 0 {
		code = strconv.Itoa(d.Last.StatusCode)
	}
	return []string{d.ID, d.EventID, exportTime(d.CreatedAt), shell.Cell(d.PartnerCode), shell.Cell(string(d.Type)), shell.Cell(d.ObjectID), string(d.Shown(d.Window)),
		string(d.Trigger), strconv.Itoa(d.Attempts), string(d.Last.Outcome), code, string(d.Last.ErrorClass), delay, took, string(reason),
		exportTime(until), exportTime(d.FinishedAt), d.EndpointID, shell.Cell(d.URL), d.DeliveredBy}
}

func exportTime(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}
