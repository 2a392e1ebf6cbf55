package dashboard_test

import (
	"strings"
	"testing"

	"ledgerhook/ledger/ledgertest"
	"ledgerhook/partners"
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
	h.join(t, "acme", "dora", partners.RoleDeveloper)
	dora := h.browse(t, h.portal)
	dora.signIn("/portal", "dora")
	dora.want(200, "GET", "/portal/endpoints/new", nil, `value="`+string(about.Type)+`"`)
	path := "/portal/endpoints/" + h.Endpoint(t, "acme", 8).ID
	dora.want(200, "GET", path, nil, "<option>"+string(about.Type)+"</option>")
	dora.want(303, "POST", path+"/test", form("type", string(about.Type), "form", "f1"))
	if n := h.Count(t, "SELECT COUNT(*) FROM events WHERE webhook_type = $1 AND object_id = 'test'", string(about.Type)); n != 1 {
		t.Errorf("%d tests of it were made, want 1", n)
	}
	eve.want(200, "GET", "/portal/deliveries", nil, `value="`+string(about.Type)+`"`)
	eve.want(200, "GET", "/portal/deliveries?q=type:"+string(about.Type), nil, string(about.Type))
}
