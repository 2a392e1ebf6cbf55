package partners_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

func TestEveryReplacedKeyVerifiesForADayMore(t *testing.T) {
	start := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := partners.Partner{PublicKey: []byte("A")}
	replace := func(key string, after time.Duration) error { return p.ReplaceKey([]byte(key), start.Add(after)) }
	want := func(after time.Duration, want ...string) {
		t.Helper()
		got := []string{string(p.PublicKey)}
		for _, old := range p.ValidOldKeys(start.Add(after)) {
			got = append(got, string(old.PEM))
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("after %s these verify (-want +got):\n%s", after, diff)
		}
	}
	if err := errors.Join(replace("B", 0), replace("C", time.Hour)); err != nil {
		t.Fatal(err)
	}
	want(time.Hour, "C", "B", "A")
	want(24*time.Hour-1, "C", "B", "A")
	want(24*time.Hour, "C", "B")
	want(25*time.Hour, "C")

	if err := replace("C", time.Hour); webhook.KindOf(err) != webhook.KindConflict {
		t.Errorf("the present key again: %v", err)
	}
	if err := replace("D", 2*time.Hour); err != nil {
		t.Fatal(err)
	}
	if err := replace("E", 24*time.Hour-1); webhook.KindOf(err) != webhook.KindConflict {
		t.Errorf("more than %d keys: %v", partners.MaxKeys, err)
	}
	want(24*time.Hour-1, "D", "C", "B", "A")
	if err := replace("E", 24*time.Hour); err != nil {
		t.Error(err)
	}
	want(24*time.Hour, "E", "D", "C", "B")
}
