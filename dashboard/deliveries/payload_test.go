package deliveries

import (
	"strings"
	"testing"
)

func TestADifferenceOfShapeComesFirst(t *testing.T) {
	d := DiffPayloads("dlv_1", []byte(`{"a":1,"b":{"c":"x"},"z":null}`), []byte(`{"a":2,"b":{"c":3},"n":[true],"z":null}`))
	var got []string
	for _, r := range d.Rows {
		got = append(got, r.Path+" "+r.Was+" "+r.Is)
	}
	if strings.Join(got, "|") != `b.c "x" 3|n[0]  true|a 1 2` {
		t.Error(got)
	}
}

// One long name before many fields is told once for each difference that is
// shown, and not kept for every field.
func TestADiffCostsWhatItsDocumentsHold(t *testing.T) {
	name := strings.Repeat("n", 60<<10)
	was := []byte(`{"` + name + `":[` + strings.Repeat("1,", 2000) + `1]}`)
	is := []byte(`{"` + name + `":[` + strings.Repeat("2,", 2000) + `2]}`)
	r := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			if d := DiffPayloads("", was, is); len(d.Rows) != maxDiff || d.Rows[0].Was != "1" || len(d.Rows[0].Path) > 300 {
				b.Fatalf("%d rows, %.100s", len(d.Rows), d.Rows[0].Path)
			}
		}
	})
	if r.AllocedBytesPerOp() > 16<<20 {
		t.Errorf("%d MiB to compare documents of 64 KiB", r.AllocedBytesPerOp()>>20)
	}
}

func TestACardNumberInADifferenceIsMasked(t *testing.T) {
	for value, want := range map[string]string{
		"4111111111111111": `"************1111"`,
		strings.Repeat("x ", 93) + "4111111111111111": `"` + strings.Repeat("x ", 93) + "************1…", // the cut is within it
	} {
		if d := DiffPayloads("", []byte(`{"a":"x"}`), []byte(`{"a":"`+value+`"}`)); d.Rows[0].Is != want {
			t.Errorf("a difference shows %s, want %s", d.Rows[0].Is, want)
		}
	}
}
