package webhook

// GatewayIncident tells the operators' own systems that a fault was found or is
// over. It goes to the one account that the settings name, and is no type that
// partners are offered.
const GatewayIncident Type = "Gateway.Incident"

// The statuses of GatewayIncident.
const (
	IncidentOpen     = "OPEN"
	IncidentReminded = "REMINDED"
	IncidentClosed   = "CLOSED"
	IncidentTest     = "TEST"
)

var incidentStatuses = []string{IncidentOpen, IncidentReminded, IncidentClosed, IncidentTest}

var _ = describeOwn(EventType{
	Type: GatewayIncident, Title: "A fault was found, or is over.", IDField: "incidentId", OrderingKeyField: "incidentId", Statuses: incidentStatuses,
	Fields: []Field{
		{Name: "incidentId", Kind: FieldID, Required: true, Doc: "the incident; of a test the message"},
		{Name: "status", Kind: FieldChoice, Required: true, Values: incidentStatuses, Doc: "what happened to the incident"},
		{Name: "kind", Kind: FieldText, Doc: "the class of the fault, such as failing or canary"},
		{Name: "rule", Kind: FieldText, Doc: "what found it, such as breaker"},
		{Name: "partnerCode", Kind: FieldText, Doc: "whose endpoint it is; empty: it is the gateway's"},
		{Name: "endpointId", Kind: FieldText, Doc: "the endpoint; empty: it is the gateway's"},
		{Name: "url", Kind: FieldText, Doc: "of the endpoint"},
		{Name: "title", Kind: FieldText, Doc: "what it is, in a line"},
		{Name: "text", Kind: FieldText, Doc: "what was found, or what became of the deliveries"},
		{Name: "link", Kind: FieldText, Doc: "the incident's page"},
		{Name: "since", Kind: FieldSeconds, Doc: "since when it has been so, in seconds since 1970 UTC; 0 in a test"},
		{Name: "deliveredLate", Kind: FieldNumber, Doc: "deliveries that arrived late, once it is over"},
		{Name: "notDelivered", Kind: FieldNumber, Doc: "deliveries that were given up or cancelled, once it is over"},
		{Name: "stillWaiting", Kind: FieldNumber, Doc: "deliveries that still wait, once it is over"},
		createdAtField,
	},
	Moves: []Move{{"", IncidentOpen}, {"", IncidentTest}, {IncidentOpen, IncidentReminded}, {IncidentReminded, IncidentReminded},
		{IncidentOpen, IncidentClosed}, {IncidentReminded, IncidentClosed}},
	Example: `{"createdAt":1700000600,"deliveredLate":0,"endpointId":"ep_01HF7YRV700000000000000000","incidentId":"inc_01HF7YRV700000000000000000",` +
		`"kind":"failing","link":"https://ops.example.com/ops/incidents/inc_01HF7YRV700000000000000000","notDelivered":0,"partnerCode":"acme","rule":"breaker",` +
		`"since":1700000300,"status":"OPEN","stillWaiting":0,"text":"Attempts have failed since 2023-11-14 22:18 UTC.","title":"Webhooks to acme.example are not getting through","url":"https://acme.example/hooks"}`,
})
