package ops

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"ledgerhook/dashboard/proof"
	"ledgerhook/dashboard/shell"
	"ledgerhook/ledger/reports"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// reconcileView is a pasted list and what became of each reference.
type reconcileView struct {
	Partner, Pasted string
	Problem         string
	Max             int
	Answers         []reconciledRow
	Replayable      []string // deliveries that can be sent again
	Replays         string   // where they go; empty: the reader may not
	Owner           string   // whose they all are, who can get evidence; empty: of several or nobody
}

// Counted is how many references were looked up.
func (v reconcileView) Counted() string { return count(len(v.Answers), "reference") }

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
	answers, err := s.Reports.Reconcile(r.Context(), q.Scope(), v.Partner, pastedReferences(v.Pasted), s.Retention)
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
	v.Owner = ownerOf(answers)
	return q.Render(w, r, "reconcile", v)
}

func pastedReferences(text string) []string {
	return strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(c rune) bool { return strings.ContainsRune(" \t\r\n,;", c) })
}

// ownerOf is the one partner that answers are about; empty: several or none.
func ownerOf(answers []reports.Reconciled) (code string) {
	for _, a := range answers {
		if a.PartnerCode != "" && code != "" && a.PartnerCode != code {
			return ""
		}
		code = cmp.Or(code, a.PartnerCode)
	}
	return code
}

// reconcileEvidence proves to a partner what became of the pasted references.
// They are looked up as the partner itself may see them.
func (s pages) reconcileEvidence(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	code, refs := strings.TrimSpace(r.PostForm.Get("partner")), pastedReferences(r.PostForm.Get("references"))
	if partners.CheckCode(code) != nil {
		return webhook.Invalid("partner", "must be the code of the partner that gets the evidence")
	}
	if _, err := s.Accounts.Partner(r.Context(), code); err != nil {
		return err
	}
	answers, err := s.Reports.Reconcile(r.Context(), partners.Only(code), code, refs, s.Retention)
	if err != nil {
		return err
	}
	whole := len(answers) <= proof.MaxDeliveries
	var found []proof.Reference
	var ids []string
	for _, a := range answers[:min(len(answers), proof.MaxDeliveries)] {
		if a.Why == reports.WhyNot && len(a.Deliveries) == 0 {
			a.Why = reports.PastRetention // the event is kept for longer
		}
		ref := proof.Reference{Reference: a.Reference, Found: cmp.Or(string(a.Why), proof.FoundDeliveries), EventID: a.EventID, DeliveryIDs: []string{}}
		for _, d := range a.Deliveries {
			if ref.DeliveryIDs = append(ref.DeliveryIDs, d.ID); !slices.Contains(ids, d.ID) {
				ids = append(ids, d.ID)
			}
		}
		found = append(found, ref)
	}
	pack, err := s.Prove(r, q, partners.Only(code), proof.OfReconciliation, ids)
	if err != nil {
		return err
	}
	pack.References, pack.Notes = found, append(pack.Notes, proof.NoteLeftOut)
	pack.Bounds.Complete = pack.Bounds.Complete && whole
	return s.HandOver(w, r, q, pack)
}
