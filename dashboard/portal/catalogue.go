package portal

import (
	"net/http"
	"time"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/signer"
	"ledgerhook/webhook"
)

// catalogueView describes what partners get.
type catalogueView struct {
	Types    []typeView
	Headers  []headerView
	Attempts int      // at most; 0: not known
	Waits    []string // before each attempt but the first, which is made at once
	Span     string   // of the whole schedule
	Timeout  string   // of a whole attempt; empty: not known
}

// typeView is one type of notification.
type typeView struct {
	webhook.EventType
	Fields  []fieldRow
	Example string
	Beside  bool // the signature stands beside data
}

// fieldRow is one member of data; those of objects and lists follow theirs.
type fieldRow struct {
	Path, Alias string
	Kind, Doc   string
	Values      []string
	Always      bool // never an empty text or list
	Inner       bool
}

// headerView is one header that comes with notifications.
type headerView struct{ Name, Means, Example string }

// kindWords are the kinds of fields.
var kindWords = map[webhook.FieldKind]string{
	webhook.FieldID: locale.Text("text, an id"), webhook.FieldText: locale.Text("text"), webhook.FieldChoice: locale.Text("text, one of"), webhook.FieldCardNumber: locale.Text("text, a masked number"),
	webhook.FieldTime: locale.Text("text, RFC 3339 in UTC"), webhook.FieldNumber: locale.Text("number"), webhook.FieldSeconds: locale.Text("number, seconds since 1970"),
	webhook.FieldObject: locale.Text("object"), webhook.FieldList: locale.Text("list of objects"),
}

// exampleSignature stands in examples for an RSA signature.
const exampleSignature = "bGVkZ2VyaG9vayBzaWducyBkYXRh…"

func (s pages) cataloguePage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	v := catalogueView{Headers: noteHeaders(q)}
	for _, e := range webhook.Catalog {
		t := typeView{EventType: e, Beside: e.Type.TopLevelSignature(), Fields: fieldRows(q, "", e.Fields)}
		body, err := signer.Notification{WebhookType: string(e.Type), Success: e.Type.Success(exampleStatus(e)), Data: []byte(e.Example), TopLevelSignature: t.Beside}.Body(exampleSignature)
		if err != nil {
			return err
		}
		t.Example = deliveries.Indent(body)
		v.Types = append(v.Types, t)
	}
	if v.Attempts = s.Retry.Attempts(); v.Attempts > 0 {
		var span time.Duration
		for _, wait := range s.Retry.Waits[1:] {
			span += wait
			v.Waits = append(v.Waits, q.Duration(wait))
		}
		v.Span = q.Duration(span)
	}
	if s.Timeout > 0 {
		v.Timeout = q.Duration(s.Timeout)
	}
	return q.Render(w, r, "catalogue", v)
}

// exampleStatus is the status that a type's example reports.
func exampleStatus(e webhook.EventType) string {
	status, _ := deliveries.Decode([]byte(e.Example)).(map[string]any)["status"].(string)
	return status
}

func fieldRows(q *shell.Request, before string, fields []webhook.Field) (rows []fieldRow) {
	for _, f := range fields {
		rows = append(rows, fieldRow{Path: before + f.Name, Alias: f.Alias, Kind: q.T(kindWords[f.Kind]), Doc: q.T(f.Doc), Values: f.Values, Always: f.Required, Inner: before != ""})
		inside := before + f.Name + "."
		if f.Kind == webhook.FieldList {
			inside = before + f.Name + "[]."
		}
		rows = append(rows, fieldRows(q, inside, f.Members)...)
	}
	return rows
}

func noteHeaders(q *shell.Request) []headerView {
	return []headerView{
		{signer.HeaderID, q.T("the event's id, the same in every attempt"), "evt_01HF7YRV700000000000000000"},
		{signer.HeaderTimestamp, q.T("when this attempt was made, in seconds since 1970 UTC"), "1700000460"},
		{signer.HeaderSignature, q.T("v1 signatures by your secrets, separated by a space; a retiring secret's comes first"), "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4="},
		{"Content-Type", q.T("always the same"), "application/json"},
		{"User-Agent", q.T("who sends"), "Ledgerhook/" + q.Surface.Version},
		{"Ledgerhook-Webhook-Type", q.T("the type, before you parse the body"), string(webhook.CashoutOrderUpdated)},
		{"Ledgerhook-Attempt", q.T("counts the attempts of this delivery from 1"), "1"},
		{"Ledgerhook-Key-Id", q.T("the gateway's key that made the RSA signature"), signer.KeyID(q.Surface.Key())},
		{"Ledgerhook-Sequence", q.T("counts the deliveries of an endpoint without gaps; not with tests"), "1042"},
	}
}
