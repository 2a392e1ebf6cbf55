package dashboard_test

import (
	"strings"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/webhook/webhooktest"
)

// A type that is added to the catalogue alone is described to partners, and
// offered wherever one is chosen.
func TestATypeThatIsAddedToTheCatalogueIsOnThePages(t *testing.T) {
	webhooktest.Add(t)
	h := newSigningHouse(t, ledgertest.New(t, "sqlite"))
	eve := h.browse(t, h.portal)
	eve.signIn("/portal", "eve")
	about := webhooktest.CardBlocked
	page := unescape(eve.want(200, "GET", "/portal/catalogue", nil, string(about.Type), "<code>blockNote</code>", "<code>costs[].amount</code>", "NotBlocked").text)
	if !strings.Contains(page, about.Title) || !strings.Contains(page, `"webhookType": "Card.Blocked"`) {
		t.Error("the catalogue does not tell of it")
	}
	eve.want(200, "GET", "/portal/deliveries", nil, `value="`+string(about.Type)+`"`)
	eve.want(200, "GET", "/portal/deliveries?q=type:"+string(about.Type), nil, string(about.Type))
}
