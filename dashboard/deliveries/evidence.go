package deliveries

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
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
	return s.HandOver(w, r, q, pack)
}

// listEvidence proves the deliveries of a search, or those that were selected.
func (s Pages) listEvidence(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	ids, typed, whole := r.URL.Query()["id"], "", true
	if len(ids) == 0 {
		typed, _ = mergeQuery(r.URL.Query())
		typed = cmp.Or(typed, "state:"+stateAttention)
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
	return s.HandOver(w, r, q, pack)
}

// evidencePath is where the partner finds the evidence of what a pack holds: of
// exactly the same deliveries, or if an address does not hold their ids, of
// what the same search finds between the first and the last of them.
func evidencePath(p proof.Pack) string {
	if p.About == proof.OfDelivery {
		return EvidencePath("/portal", p.Deliveries[0].DeliveryID)
	}
	const list = "/portal/deliveries/evidence?"
	ids := url.Values{}
	for _, d := range p.Deliveries {
		ids.Add("id", d.DeliveryID)
	}
	if exact := list + ids.Encode(); len(exact) <= maxAddress {
		return exact
	}
	first, last := slices.Min(ids["id"]), slices.Max(ids["id"]) // ids are in the order of time
	terms := []string{"since:" + webhook.IDTime(webhook.DeliveryPrefix, first).Format(time.RFC3339Nano),
		"until:" + webhook.IDTime(webhook.DeliveryPrefix, last).Add(time.Millisecond).Format(time.RFC3339Nano)}
	for _, term := range strings.Fields(cmp.Or(p.Search, "state:"+stateAny)) {
		switch key, _, _ := strings.Cut(strings.ToLower(term), ":"); key {
		case "partner", "since", "until": // whose they are goes without saying
		default:
			terms = append(terms, term)
		}
	}
	return list + url.Values{"q": {strings.Join(terms, " ")}}.Encode()
}

// Prove begins the pack of several deliveries of a scope, which must be of one
// partner.
func (s Pages) Prove(r *http.Request, q *shell.Request, scope partners.Scope, about string, ids []string) (proof.Pack, error) {
	proofs, err := s.Reports.Proofs(r.Context(), scope, ids, proof.AttemptsEach)
	if err != nil {
		return proof.Pack{}, err
	}
	code := scope.Partner()
	for _, d := range proofs {
		if code = cmp.Or(code, d.PartnerCode); d.PartnerCode != code {
			return proof.Pack{}, webhook.Invalid("partner", q.T("must be one: evidence is handed to one partner and shows nothing of another. Search with partner:CODE"))
		}
	}
	if code == "" {
		return proof.Pack{}, webhook.Invalid("id", q.T("must be that of a delivery: nothing was found, so there is nothing to prove to anybody"))
	}
	pack := proof.New(about, code, s.PublicURL, q.Now)
	pack.Bounds.Complete = len(ids) <= proof.MaxDeliveries
	for _, d := range proofs {
		pack.Add(d, nil)
	}
	return pack, nil
}

// HandOver signs a pack, notes who takes it, and answers with it: as a page, or
// as the file that "as" asks for.
func (s Pages) HandOver(w http.ResponseWriter, r *http.Request, q *shell.Request, pack proof.Pack) error {
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
	return q.Render(w, r, "evidence", s.evidenceView(r, q, sealed))
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

func (s Pages) evidenceView(r *http.Request, q *shell.Request, sealed proof.Sealed) evidenceView {
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
		v.Sentences = append(v.Sentences, spokenSentence{language, locale.Name(language), evidenceSentence(locale.Speller{Locale: language}, sealed.Pack)})
	}
	return v
}

func attemptWords(t Say, a proof.Attempt) string {
	return ResultWords(t, webhook.LastResult{Outcome: webhook.Outcome(a.Outcome), StatusCode: a.StatusCode, ErrorClass: webhook.ErrorClass(a.ErrorClass)})
}

// evidenceSentence says what a pack comes to, for a letter to the partner.
func evidenceSentence(s locale.Speller, p proof.Pack) string {
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
		if n == len(p.Deliveries) && n > 0 {
			said = append(said, s.T("Every one of these notifications was delivered: %s.", s.Number(n)))
		} else {
			said = append(said, s.T("Of %s notifications, %s were delivered and %s were not.", s.Number(len(p.Deliveries)), s.Number(n), s.Number(len(p.Deliveries)-n)))
		}
	}
	if !p.Bounds.Complete {
		said = append(said, s.T("More was left out."))
	}
	if len(p.Deliveries) > 0 {
		said = append(said, s.T("The evidence, with our signature: %s", p.Gateway+evidencePath(p)))
	}
	between := " "
	if s.Locale == locale.Chinese {
		between = ""
	}
	return strings.Join(said, between)
}

func deliverySentence(s locale.Speller, d proof.Delivery) (said []string) {
	if len(d.Attempts) == 0 {
		return []string{s.T("%s for %s (event %s) has not been sent yet.", d.WebhookType, d.Reference, d.EventID)}
	}
	last := d.Attempts[len(d.Attempts)-1]
	at := s.Time(time.Time(last.StartedAt)) + " UTC"
	sent := locale.Text("We sent %s for %s (event %s) to its endpoint, now at %s.")
	if !d.Reached() {
		sent = locale.Text("We tried to send %s for %s (event %s) to its endpoint, now at %s.")
	}
	said = append(said, s.T(sent, d.WebhookType, d.Reference, d.EventID, cmp.Or(d.URL, "–")),
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
