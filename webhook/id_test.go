package webhook

import (
	"testing"
	"time"
)

func TestAnIDTellsWhenItWasMade(t *testing.T) {
	at := time.Date(2026, 1, 31, 14, 0, 0, 5e6, time.UTC)
	if got := IDTime(DeliveryPrefix, TimeBound(DeliveryPrefix, at)); !got.Equal(at) {
		t.Errorf("got %s, want %s", got, at)
	}
	for _, id := range []string{"", DeliveryPrefix, DeliveryPrefix + "~", NewID(EventPrefix), TimeBound(DeliveryPrefix, at) + "0"} {
		if got := IDTime(DeliveryPrefix, id); !got.IsZero() {
			t.Errorf("%q was made at %s", id, got)
		}
	}
}
