package shell

import (
	"strings"
	"testing"
)

func TestTheScriptStaysSmall(t *testing.T) {
	const most = 12 << 10
	a, err := loadAssets()
	if err != nil {
		t.Fatal(err)
	}
	if n := len(a.files[a.hashed["app.js"]].body); n == 0 || n > most {
		t.Errorf("%d bytes, at most %d", n, most)
	}
}

func TestAFileIsKeptForEverUnderAnAddressOfItsContent(t *testing.T) {
	s := newStage(t)
	for name, kind := range map[string]string{"app.css": "text/css", "app.js": "text/javascript", "mark.svg": "image/svg+xml"} {
		resp, _ := ask(t, stranger, "GET", s.portal.URL+"/portal/static/"+s.assets.hashed[name], nil)
		h := resp.Header
		if resp.StatusCode != 200 || !strings.HasPrefix(h.Get("Content-Type"), kind) || !strings.Contains(h.Get("Cache-Control"), "immutable") {
			t.Errorf("%s: %d %v", name, resp.StatusCode, h)
		}
		if resp, _ := ask(t, stranger, "GET", s.portal.URL+"/portal/static/"+name, nil); resp.StatusCode != 404 {
			t.Errorf("%s without its hash: %d", name, resp.StatusCode)
		}
	}
}
