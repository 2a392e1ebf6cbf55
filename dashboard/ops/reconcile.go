package ops

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/webhook"
)

// reconcileView is a pasted list and what became of each reference.
type reconcileView struct {
	Partner, Pasted string
	Problem         string
	Max             int
	Answers         []reconciledRow
	Replayable      []string // deliveries that can be sent again
	Replays         string   // where they go; empty: who asks may not
}

// reconciledRow is one reference with what became of it in words.
type reconciledRow struct {
	reports.Reconciled
	Why string
}

// Shown is the state of a delivery as it reads.
func (r reconciledRow) Shown(i int) shell.Pill {
	d := r.Deliveries[i]
	return shell.Standing(d.Delivery, d.Window)
}

// whyWords say why there is no delivery to show.
var whyWords = map[reports.Why]string{
	reports.NeverReceived: "never received: no internal system sent it", reports.WasRefused: "refused when it came",
	reports.WasFiltered: "filtered: no endpoint of the partner takes its type", reports.NothingYet: "an order that has not changed yet",
	reports.OfOtherPartner: "of another partner", reports.PastRetention: "past its retention",
}

func (s pages) reconcilePage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return q.Render(w, r, "reconcile", reconcileView{Max: reports.MaxReferences})
}

// reconcile answers what became of the pasted references. It changes nothing.
func (s pages) reconcile(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := r.ParseForm(); err != nil {
		return webhook.Invalid("references", "cannot be read")
	}
	v := reconcileView{Partner: strings.TrimSpace(r.PostForm.Get("partner")), Pasted: r.PostForm.Get("references"), Max: reports.MaxReferences}
	refs := strings.FieldsFunc(strings.ToValidUTF8(v.Pasted, ""), func(c rune) bool { return strings.ContainsRune(" \t\r\n,;", c) })
	answers, err := s.Reports.Reconcile(r.Context(), q.Scope(), v.Partner, refs, s.Retention)
	if wrong, ok := errors.AsType[*webhook.Error](err); ok && wrong.Kind == webhook.KindInvalid {
		v.Problem = "At most " + strconv.Itoa(reports.MaxReferences) + " references at once: paste fewer."
		return q.RenderStatus(w, r, http.StatusBadRequest, "reconcile", v)
	}
	if err != nil {
		return err
	}
	for _, a := range answers {
		v.Answers = append(v.Answers, reconciledRow{a, whyWords[a.Why]})
		for _, id := range a.Replayable() {
			if !slices.Contains(v.Replayable, id) {
				v.Replayable = append(v.Replayable, id)
			}
		}
	}
	if q.CanAct() && s.Has("POST "+s.Base+"/replays") {
		v.Replays = s.Base + "/replays"
	}
	return q.Render(w, r, "reconcile", v)
}
