package incidents

import (
	"encoding/json"
	"time"

	"ledgerhook/webhook"
)

// statuses are the notification's words for what happened.
var statuses = map[Act]string{ActOpen: webhook.IncidentOpen, ActRemind: webhook.IncidentReminded, ActClose: webhook.IncidentClosed, "": webhook.IncidentTest}

// Notify is the data of the notification that act has happened to i; without an
// act it is a test. link is the incident's page.
func Notify(i Incident, act Act, l Letter, link string, now time.Time) string {
	text := l.Body
	if act != "" {
		text = Says(i)
	}
	if act == ActClose {
		text = Ends(i)
	}
	var since int64
	if !i.SeenAt.IsZero() {
		since = i.Since().Unix()
	}
	data, err := json.Marshal(map[string]any{
		"incidentId": i.ID, "status": statuses[act], "kind": i.Kind, "rule": i.Rule, "partnerCode": i.PartnerCode, "endpointId": i.Subject, "url": i.URL,
		"title": l.Subject, "text": text, "link": link, "since": since, "createdAt": now.Unix(),
		"deliveredLate": i.Outcome.Late, "notDelivered": i.Outcome.NotDelivered, "stillWaiting": i.Outcome.Waiting,
	})
	if err != nil {
		panic(err) // texts and numbers always have a JSON form
	}
	return string(data)
}

// Event is the event of a message on the Webhook channel, for the account that
// it is addressed to, without what only its sender knows.
func (m Message) Event() (webhook.Event, error) {
	var data struct{ IncidentID, Status string }
	if err := json.Unmarshal([]byte(m.Body), &data); err != nil {
		return webhook.Event{}, err
	}
	return webhook.Event{ID: webhook.NewID(webhook.EventPrefix), PartnerCode: m.Address, Type: webhook.GatewayIncident, ObjectID: data.IncidentID,
		OrderingKey: data.IncidentID, Status: data.Status, Data: []byte(m.Body)}, nil
}
