package browsertest

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// Evidence is handed over from the page of a delivery in two clicks: one opens
// it, one copies what goes to the partner, whose link leads its own people to
// the same.
func TestEvidenceIsHandedOverInTwoClicks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people(firstAdmin(t, w.Gateway))
	e := w.everyone(t)
	delivery := "/deliveries/" + w.exhausted
	e.ops.visit("/ops" + delivery)
	e.ops.follow(`a[href="/ops` + delivery + `/evidence"]`)
	e.ops.sees("Our signature", "answered 503")
	value[bool](e.ops, `(navigator.clipboard.writeText = text => { window.copied = text; return Promise.resolve(); }, true)`)
	e.ops.do(click(chromedp.CSS(`[data-copy-from="sentence-vi"]`)))
	e.ops.sees("Copied")
	copied := value[string](e.ops, `window.copied`)
	_, link, _ := strings.Cut(copied, w.Public)
	if want := "/portal" + delivery + "/evidence"; link != want {
		t.Fatalf("what was copied leads to %q, want %q: %s", link, want, copied)
	}
	e.portal.visit(link)
	e.portal.sees("Our signature", "answered 503")

	// Printed, it is the evidence alone, and none of them is cut off.
	call(e.ops, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: "print"})
	seen := func(selector string) bool {
		return value[bool](e.ops, `[...document.querySelectorAll("`+selector+`")].some(e => e.getClientRects().length > 0)`)
	}
	for _, selector := range []string{".top", ".menu", ".toolbar", ".copy", "#sentence-en"} {
		if seen(selector) {
			t.Errorf("%s is printed", selector)
		}
	}
	if !seen("[aria-labelledby=signature-title]") || !seen(".proved") {
		t.Error("the evidence is not printed")
	}
}
