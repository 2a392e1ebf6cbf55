package locale

import (
	"testing"
	"time"
)

func TestFiguresInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 9400 * time.Millisecond: "9.4 s", 192 * time.Second: "3 m 12 s", 2 * time.Minute: "2 m", 26 * time.Hour: "1 d 2 h", -5 * time.Second: "−5 s",
	} {
		if got := Duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", 48_200: "48,200", -1234567: "−1,234,567"} {
		if got := Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	if got := Bytes(16 << 10); got != "16 KiB" {
		t.Error(got)
	}
}

func TestASharePerCentIsNeverRoundedUpToAll(t *testing.T) {
	for _, tt := range []struct {
		part, all int64
		want      string
	}{{0, 3, "0 %"}, {1, 3, "33.3 %"}, {99_999, 100_000, "99.9 %"}, {5, 5, "100 %"}, {0, 0, "–"}} {
		if got := Percent(tt.part, tt.all); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.part, tt.all, got, tt.want)
		}
	}
}
