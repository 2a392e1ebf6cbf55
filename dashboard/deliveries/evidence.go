package deliveries

import (
	"cmp"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/proof"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// evidenceView is a pack as a page.
type evidenceView struct {
	proof.Sealed
	Alone     bool // about a single delivery
	Rows      []provedRow
	Sentences []spokenSentence
	Again     evidenceForm // that takes it as a file
	File      string       // what the JSON file is called
	Back      string       // to what it is about
}

// provedRow is a delivery of a pack as it is shown.
type provedRow struct {
	proof.Delivery
	Stands   shell.Pill
	Attempts []provedAttempt
}

// provedAttempt is an attempt of a pack as it is shown.
type provedAttempt struct {
	proof.Attempt
	Result string
}

// spokenSentence is what a pack comes to, in one language.
type spokenSentence struct{ Language, Name, Text string }

// evidenceForm takes the same pack anew.
type evidenceForm struct {
	Method, Action string
	Fields         url.Values
}

// evidenceRoutes are the pages that prove what was sent, of every surface.
func (s Pages) evidenceRoutes() []shell.Route {
	return []shell.Route{
		shell.Read("GET "+s.Base+"/deliveries/evidence", s.listEvidence),
		shell.Read("GET "+s.Base+"/deliveries/{id}/evidence", s.deliveryEvidence),
	}
}

// EvidencePath is the evidence of a delivery.
func EvidencePath(base, deliveryID string) string {
	return base + "/deliveries/" + deliveryID + "/evidence"
}

// deliveryEvidence proves one delivery with all its attempts.
func (s Pages) deliveryEvidence(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	id := r.PathValue("id")
	proofs, err := s.Reports.Proofs(r.Context(), q.Scope(), []string{id}, proof.AttemptsAlone)
	if err != nil {
		return err
	}
	if len(proofs) == 0 {
		return webhook.NotFound("delivery", id)
	}
	d := proofs[0]
	var body []byte
	if e := d.Event; s.Composer != nil && e.ID != "" && !e.Erased.Done() {
		if body, err = s.Composer.Body(r.Context(), e); err != nil {
			return err
		}
	}
	pack := proof.New(proof.OfDelivery, d.PartnerCode, s.PublicURL, q.Now)
	pack.Add(d, body)
	return s.HandOver(w, r, q, pack, EvidencePath("/portal", id))
}

// listEvidence proves the deliveries of a search, or those that were selected.
func (s Pages) listEvidence(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	ids, typed, whole := r.URL.Query()["id"], "", true
	if len(ids) == 0 {
		typed, _ = mergeQuery(r.URL.Query())
		search, err := parseQuery(typed, q.Here(q.Now))
		if err != nil {
			return webhook.Invalid("q", QueryProblem(q, err))
		}
		search.Scope, search.Limit = q.Scope(), proof.MaxDeliveries
		page, err := s.Reports.SearchDeliveries(r.Context(), search)
		if err != nil {
			return err
		}
		for _, d := range page.Items {
			ids = append(ids, d.ID)
		}
		whole = page.Next == ""
	}
	pack, err := s.Prove(r, q, q.Scope(), proof.OfList, ids)
	if err != nil {
		return err
	}
	pack.Search = typed
	pack.Bounds.Complete = pack.Bounds.Complete && whole
	return s.HandOver(w, r, q, pack, "/portal/deliveries/evidence?"+ofOnePartner(r.URL.Query(), typed).Encode())
}

// ofOnePartner is the query of a list as the partner asks it: who it is of goes
// without saying.
func ofOnePartner(asked url.Values, typed string) url.Values {
	if ids := asked["id"]; len(ids) > 0 {
		return url.Values{"id": ids}
	}
	var kept []string
	for _, term := range strings.Fields(typed) {
		if !strings.HasPrefix(strings.ToLower(term), "partner:") {
			kept = append(kept, term)
		}
	}
	return url.Values{"q": {strings.Join(kept, " ")}}
}

// Prove begins the pack of several deliveries of a scope, which must be of one
// partner.
func (s Pages) Prove(r *http.Request, q *shell.Request, scope partners.Scope, about string, ids []string) (proof.Pack, error) {
	proofs, err := s.Reports.Proofs(r.Context(), scope, ids, proof.AttemptsEach)
	if err != nil {
		return proof.Pack{}, err
	}
	code := q.User.PartnerCode
	for _, d := range proofs {
		if code = cmp.Or(code, d.PartnerCode); d.PartnerCode != code {
			return proof.Pack{}, webhook.Invalid("partner", q.T("must be one: evidence is handed to one partner and shows nothing of another. Search with partner:CODE"))
		}
	}
	pack := proof.New(about, code, s.PublicURL, q.Now)
	pack.Bounds.Complete = len(ids) <= proof.MaxDeliveries
	for _, d := range proofs {
		pack.Add(d, nil)
	}
	return pack, nil
}

// HandOver signs a pack, notes who takes it, and answers with it: as a page, or
// as the file that "as" asks for. link is where the partner finds the same.
func (s Pages) HandOver(w http.ResponseWriter, r *http.Request, q *shell.Request, pack proof.Pack, link string) error {
	if s.Composer == nil {
		return &webhook.Error{Kind: webhook.KindUnavailable, Message: q.T("This process cannot sign.")}
	}
	as := r.FormValue("as")
	if as != "" && as != "json" && as != "csv" {
		return webhook.Invalid("as", "must be json, csv or absent")
	}
	sealed, err := pack.Seal(r.Context(), s.KeyID(), s.Composer.Sign)
	if err != nil {
		return err
	}
	by := q.Audit("evidence.take")
	by.PartnerCode, by.Detail = sealed.PartnerCode, strings.TrimSpace(sealed.About+" "+as)+", SHA-256 "+sealed.SHA256
	if pack.About == proof.OfDelivery {
		by.Target = sealed.Deliveries[0].DeliveryID
	}
	if err := s.Record(r.Context(), by); err != nil {
		return err
	}
	name := "evidence-" + cmp.Or(by.Target, sealed.PartnerCode)
	switch as {
	case "json":
		file, err := sealed.JSON()
		return sendFile(w, "application/json", name+".json", file, err)
	case "csv":
		file, err := sealed.CSV(r.Context(), s.Composer.Sign)
		return sendFile(w, "text/csv; charset=utf-8", name+".csv", file, err)
	}
	return q.Render(w, r, "evidence", s.evidenceView(r, q, sealed, s.PublicURL+link))
}

func sendFile(w http.ResponseWriter, kind, name string, file []byte, err error) error {
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("Content-Disposition", `attachment; filename="`+name+`"`)
	_, _ = w.Write(file) // fails only when nobody is there any more
	return nil
}

func (s Pages) evidenceView(r *http.Request, q *shell.Request, sealed proof.Sealed, link string) evidenceView {
	v := evidenceView{Sealed: sealed, Alone: sealed.About == proof.OfDelivery, Again: evidenceForm{r.Method, r.URL.Path, url.Values{}}, Back: s.Base + "/deliveries"}
	asked := r.URL.Query()
	if r.Method == http.MethodPost {
		asked = r.PostForm
	}
	for name, values := range asked {
		if name != "as" {
			v.Again.Fields[name] = values
		}
	}
	if v.Alone {
		v.Back += "/" + sealed.Deliveries[0].DeliveryID
	}
	v.File = "evidence-" + cmp.Or(strings.TrimPrefix(strings.TrimPrefix(v.Back, s.Base+"/deliveries"), "/"), sealed.PartnerCode) + ".json"
	for _, d := range sealed.Deliveries {
		row := provedRow{Delivery: d, Stands: shell.StateOf(webhook.State(d.State))}
		if d.DeliveredBy != "" {
			row.Stands = shell.Standing(webhook.Delivery{ID: d.DeliveryID, DeliveredBy: d.DeliveredBy}, webhook.Window{})
		}
		for _, a := range d.Attempts {
			row.Attempts = append(row.Attempts, provedAttempt{a, attemptWords(q.T, a)})
		}
		v.Rows = append(v.Rows, row)
	}
	for _, language := range locale.All() {
		v.Sentences = append(v.Sentences, spokenSentence{language, locale.Name(language), evidenceSentence(locale.Speller{Locale: language}, sealed.Pack, link)})
	}
	return v
}

func attemptWords(t Say, a proof.Attempt) string {
	return ResultWords(t, webhook.LastResult{Outcome: webhook.Outcome(a.Outcome), StatusCode: a.StatusCode, ErrorClass: webhook.ErrorClass(a.ErrorClass)})
}

// evidenceSentence says what a pack comes to, for a letter to the partner.
func evidenceSentence(s locale.Speller, p proof.Pack, link string) string {
	var said []string
	switch p.About {
	case proof.OfDelivery:
		said = deliverySentence(s, p.Deliveries[0])
	case proof.OfReconciliation:
		arrived, none, unknown := p.Count()
		said = append(said, s.T("Of %s references, %s have a notification that was delivered, and %s have none.", s.Number(len(p.References)), s.Number(arrived), s.Number(none)))
		if unknown > 0 {
			said = append(said, s.T("Of %s more this evidence cannot tell: what was sent was left out or is past its retention.", s.Number(unknown)))
		}
	default:
		n := 0
		for _, d := range p.Deliveries {
			if d.Arrived() {
				n++
			}
		}
		said = append(said, s.T("Of %s notifications, %s were delivered and %s were not.", s.Number(len(p.Deliveries)), s.Number(n), s.Number(len(p.Deliveries)-n)))
	}
	if !p.Bounds.Complete {
		said = append(said, s.T("More was left out."))
	}
	between := " "
	if s.Locale == locale.Chinese {
		between = ""
	}
	return strings.Join(append(said, s.T("Every attempt, with our signature: %s", link)), between)
}

func deliverySentence(s locale.Speller, d proof.Delivery) (said []string) {
	if len(d.Attempts) == 0 {
		return []string{s.T("%s for %s (event %s) has not been sent yet.", d.WebhookType, d.Reference, d.EventID)}
	}
	last := d.Attempts[len(d.Attempts)-1]
	at := s.Time(time.Time(last.StartedAt)) + " UTC"
	said = append(said, s.T("We sent %s for %s (event %s) to %s.", d.WebhookType, d.Reference, d.EventID, d.URL),
		s.T("Attempt %s, at %s: %s.", strconv.Itoa(last.Number), at, attemptWords(s.T, last)))
	switch {
	case d.DeliveredBy != "":
		said = append(said, s.T("Delivery %s brought the same event.", d.DeliveredBy))
	case d.State != string(webhook.Delivered):
		said = append(said, s.T("It has not been delivered."))
	}
	if last.CertificateSHA256 != "" {
		said = append(said, s.T("The certificate shown has the SHA-256 %s.", last.CertificateSHA256))
	}
	if d.BodySHA256 != "" {
		said = append(said, s.T("The body has the SHA-256 %s.", d.BodySHA256))
	}
	return said
}

// exactUTC spells a time of a pack, which is the same for whoever reads it.
func exactUTC(t web.Time) string {
	return cmp.Or(strings.Replace(web.FormatTime(time.Time(t)), "T", " ", 1), "–")
}
