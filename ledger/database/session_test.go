package database_test

import (
	"slices"
	"testing"
	"time"

	"ledgerhook/ledger/database"
)

// A plan is made for tables of the size of that moment: it is used no longer
// than the day's statements were known before, and no longer than a minute. One
// that comes later changes nothing, until the day does.
func TestPlansAreMadeAnewWhileTheirTablesGrow(t *testing.T) {
	t.Parallel()
	midnight := time.Date(2026, 11, 29, 0, 0, 0, 0, time.UTC)
	began := midnight.Add(-3 * time.Minute)
	var made []time.Duration
	outdated, learn := database.Plans(began)
	for at := began; at.Before(midnight.Add(5 * time.Second)); at = at.Add(100 * time.Millisecond) {
		if at.Sub(began)%(7*time.Second) == 0 {
			learn(at.String(), at)
		}
		if at.Equal(midnight) {
			learn("of the day", at)
		}
		if outdated(at) {
			made = append(made, at.Sub(began))
		}
	}
	want := []time.Duration{1 * time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second, 32 * time.Second,
		64 * time.Second, 124 * time.Second, 181 * time.Second, 182 * time.Second, 184 * time.Second}
	if !slices.Equal(made, want) {
		t.Errorf("made anew after %v, want %v", made, want)
	}
}
