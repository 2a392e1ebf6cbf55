package partners_test

import (
	"testing"
	"time"

	"ledgerhook/partners"
)

func TestASigningKeySignsBetweenItsNeighbours(t *testing.T) {
	t.Parallel()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	at := func(days int) time.Time { return start.AddDate(0, 0, days) }
	keys := []partners.SigningKey{
		{ID: "key_c", ActivatesAt: at(20)},
		{ID: "key_b", ActivatesAt: at(10), RetiresAt: at(50)},
		{ID: "key_a", ActivatesAt: at(0), RetiresAt: at(40)},
	}
	for _, test := range []struct {
		day     int
		a, b, c string
	}{
		{-1, "active", "pending", "pending"}, // a clock that is behind the one that made the first key
		{0, "active", "pending", "pending"},
		{9, "active", "pending", "pending"},
		{10, "retiring", "active", "pending"},
		{20, "retiring", "retiring", "active"},
		{40, "retired", "retiring", "active"},
		{50, "retired", "retired", "active"},
		{500, "retired", "retired", "active"},
	} {
		for i, want := range []string{test.c, test.b, test.a} {
			if got := keys[i].State(keys, at(test.day)); got != want {
				t.Errorf("day %d: %s is %s, want %s", test.day, keys[i].ID, got, want)
			}
		}
	}
	if _, ok := partners.ActiveKey(nil, start); ok {
		t.Error("no key is active")
	}
}
