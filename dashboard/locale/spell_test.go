package locale

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
	"golang.org/x/text/number"
)

var (
	inEnglish    = Speller{}
	inVietnamese = Speller{Locale: Vietnamese}
	inChinese    = Speller{Locale: Chinese}
)

func TestEveryLanguageSpellsFiguresItsOwnWay(t *testing.T) {
	at := time.Date(2026, 11, 30, 9, 5, 12, 0, time.UTC)
	for i, figure := range []struct {
		spell      func(Speller) string
		en, vi, zh string
	}{
		{func(s Speller) string { return s.Number(48_200) }, "48,200", "48.200", "48,200"},
		{func(s Speller) string { return s.Number("1234.50") }, "1,234.50", "1.234,50", "1,234.50"},
		{func(s Speller) string { return s.Percent(171, 200) }, "85.5 %", "85,5%", "85.5%"},
		{func(s Speller) string { return s.Time(at) }, "2026-11-30 09:05:12", "30/11/2026 09:05:12", "2026年11月30日 09:05:12"},
		{func(s Speller) string { return s.Minute(at) }, "2026-11-30 09:05", "30/11/2026 09:05", "2026年11月30日 09:05"},
		{func(s Speller) string { return s.Day(at) }, "2026-11-30", "30/11/2026", "2026年11月30日"},
		{func(s Speller) string { return s.Duration(3*time.Hour + 2*time.Minute) }, "3 h 2 m", "3 giờ 2 phút", "3 小时 2 分钟"},
		{func(s Speller) string { return s.Duration(9400 * time.Millisecond) }, "9.4 s", "9,4 giây", "9.4 秒"},
		{func(s Speller) string { return s.Duration(26 * time.Hour) }, "1 d 2 h", "1 ngày 2 giờ", "1 天 2 小时"},
		{func(s Speller) string { return s.Duration(40 * time.Millisecond) }, "40 ms", "40 ms", "40 毫秒"},
		{func(s Speller) string { return s.Bytes(1536) }, "1.5 KiB", "1,5 KiB", "1.5 KiB"},
		{func(s Speller) string { return s.Scale(1500) }, "1.5 k", "1,5 N", "1,500"},
		{func(s Speller) string { return s.Scale(20_000_000) }, "20 M", "20 Tr", "2,000 万"},
	} {
		if en, vi, zh := figure.spell(inEnglish), figure.spell(inVietnamese), figure.spell(inChinese); en != figure.en || vi != figure.vi || zh != figure.zh {
			t.Errorf("%d: %q %q %q, want %q %q %q", i, en, vi, zh, figure.en, figure.vi, figure.zh)
		}
	}
}

// What the files say of numbers is what the Unicode CLDR says.
func TestNumbersAreWrittenAsInTheCLDR(t *testing.T) {
	for _, code := range All() {
		s, cldr := Speller{Locale: code}, message.NewPrinter(language.MustParse(code))
		for _, n := range []float64{0, 7, 999, 1000, 48_200, 1_234_567.5, 0.25} {
			if got, want := s.Number(strconv.FormatFloat(n, 'f', -1, 64)), cldr.Sprint(number.Decimal(n)); got != want {
				t.Errorf("%s: %q, want %q", code, got, want)
			}
		}
		if got, want := s.Percent(171, 200), cldr.Sprint(number.Percent(.855, number.MaxFractionDigits(1))); code != English && got != want { // in English we set a space
			t.Errorf("%s: %q, want %q", code, got, want)
		}
	}
}

// A language that lacks a unit would show a number without it.
func TestEveryLanguageHasEveryUnit(t *testing.T) {
	all, err := catalogues()
	if err != nil {
		t.Fatal(err)
	}
	want := slices.Sorted(maps.Keys(english.Units))
	for code, c := range all {
		f := c.Formats
		if got := slices.Sorted(maps.Keys(f.Units)); !slices.Equal(got, want) || f.Group == "" || f.Decimal == "" || f.Percent == "" || f.Day == "" || len(f.Large) == 0 {
			t.Errorf("%s: %+v", code, f)
		}
	}
}

func TestFiguresInWords(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0 ms", 192 * time.Second: "3 m 12 s", 2 * time.Minute: "2 m", -5 * time.Second: "−5 s",
	} {
		if got := inEnglish.Duration(d); got != want {
			t.Errorf("%d: %q, want %q", d, got, want)
		}
	}
	for n, want := range map[int64]string{0: "0", 999: "999", 1000: "1,000", -1234567: "−1,234,567"} {
		if got := inEnglish.Number(n); got != want {
			t.Errorf("%d: %q, want %q", n, got, want)
		}
	}
	for size, want := range map[int64]string{0: "0 B", 1023: "1,023 B", 16 << 10: "16 KiB", 1 << 50: "1,024 TiB"} {
		if got := inEnglish.Bytes(size); got != want {
			t.Errorf("%d: %q, want %q", size, got, want)
		}
	}
}

func TestASharePerCentIsNeverRoundedUpToAll(t *testing.T) {
	for _, tt := range []struct {
		part, all int64
		want      string
	}{{0, 3, "0 %"}, {1, 3, "33.3 %"}, {99_999, 100_000, "99.9 %"}, {5, 5, "100 %"}, {0, 0, "–"}} {
		if got := inEnglish.Percent(tt.part, tt.all); got != tt.want {
			t.Errorf("%d of %d: %q, want %q", tt.part, tt.all, got, tt.want)
		}
	}
}

func TestAClockSaysHowFarFromUTCItIs(t *testing.T) {
	at := time.Date(2026, 11, 30, 20, 5, 12, 0, time.UTC)
	for name, want := range map[string]string{"UTC": "UTC 20:05:12", "Asia/Ho_Chi_Minh": "UTC+7 03:05:12", "America/St_Johns": "UTC−3:30 16:35:12", "Europe/London": "UTC 20:05:12"} {
		s := Speller{Zone: Zone(name)}
		if got := s.Offset(at) + " " + s.Clock(at); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if got := (Speller{Zone: Zone("Asia/Ho_Chi_Minh"), Locale: Vietnamese}).Time(at); got != "01/12/2026 03:05:12" {
		t.Errorf("in Vietnam it is %q", got)
	}
	for _, name := range []string{"", "Local", "Nowhere", "../etc/passwd", "/etc/localtime", "zone.tab", "Asia//Tokyo", "Asia/./Tokyo", "./Asia/Tokyo", "Asia/Tokyo/", strings.Repeat("A", 1000)} {
		if zone := Zone(name); zone != nil {
			t.Errorf("%q is %v", name, zone)
		}
	}
}
