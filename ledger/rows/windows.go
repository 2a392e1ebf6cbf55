package rows

import (
	"ledgerhook/ledger/database"
	"ledgerhook/webhook"
)

// WindowColumns are what windowFields reads.
const WindowColumns = `w.endpoint_id, w.max_in_flight, w.grown, w.used, w.waiting_first, w.waiting_again, w.waiting_blocked, w.admissions,
	w.next_sequence, w.paused, w.disabled, w.partner_disabled, w.removed, w.wake_at, w.breaker, w.open_until,
	w.breaker_epoch, w.breaker_opened, w.breaker_reason, w.probe, w.probes_passed, w.last_success, w.failing_since, w.failed,
	w.gone, w.warned, w.disabled_reason, w.not_before, w.rate_every, w.rate_next, w.ordered, w.unrouted, w.filtering, w.tests, w.breaker_refused,
	w.attempts_failed, w.attempts_alike, w.last_outcome, w.last_class, w.last_status, w.took_us, w.usual_us, w.slow_since`

// WindowFields are the columns of a window.
func WindowFields(w *webhook.Window) []any {
	b, h := &w.Breaker, &w.Health
	return []any{&w.EndpointID, &w.MaxInFlight, &w.Grown, &w.Used, &w.WaitingFirst, &w.WaitingAgain, &w.WaitingBlocked, &w.Admissions,
		&w.NextSequence, &w.Paused, &w.Disabled, &w.PartnerDisabled, &w.Removed, database.Time(&w.WakeAt), &b.State,
		database.Time(&b.OpenUntil), &b.Epoch, &b.Opened, &b.Reason, &b.Probe, &b.Passed, database.Time(&h.LastSuccess),
		database.Time(&h.FailingSince), &h.Failed, &h.Gone, database.Duration(&h.Warned), &h.DisabledReason, database.Time(&w.NotBefore),
		database.Duration(&w.RateEvery), database.Time(&w.RateNext), &w.Ordered, &w.Unrouted, &w.Filtering, &w.Tests, &b.Refused,
		&h.Attempts, &h.Alike, &h.Last.Outcome, &h.Last.ErrorClass, &h.Last.StatusCode,
		database.Duration(&h.Pace.Took), database.Duration(&h.Pace.Usual), database.Time(&h.Pace.SlowSince)}
}
