package webhook

import (
	"slices"
	"strings"
	"time"
)

// Changes names for the audit log what differs in after: never the values,
// which may hold secrets.
func (e Endpoint) Changes(after Endpoint) string {
	var names []string
	for _, each := range []struct {
		name    string
		differs bool
	}{
		{"url", e.URL != after.URL}, {"description", e.Description != after.Description}, {"types", !slices.Equal(e.Types, after.Types)},
		{"headers", string(e.Headers) != string(after.Headers)}, {"ackMode", e.AckMode != after.AckMode},
		{"maxInFlight", e.Window.MaxInFlight != after.Window.MaxInFlight}, {"rateLimit", e.Window.RateEvery.Round(time.Microsecond) != after.Window.RateEvery.Round(time.Microsecond)},
		{"timeout", e.Timeout != after.Timeout}, {"ordered", e.Window.Ordered != after.Window.Ordered},
	} {
		if each.differs {
			names = append(names, each.name)
		}
	}
	return strings.Join(names, ", ")
}
