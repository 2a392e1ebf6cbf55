package browsertest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"ledgerhook/bench/stage"
)

const (
	width, height = 1280, 900
	patience      = time.Minute // of a busy machine
)

// tab is somebody at the browser. Whatever a page complains of in the console
// fails the test: a script that throws, or something that the policy forbids.
type tab struct {
	t    *testing.T
	base string
	ctx  context.Context

	scriptless bool
	complaints *complaints
}

type complaints struct {
	sync.Mutex
	all []string
}

// in is the same tab in a subtest.
func (b *tab) in(t *testing.T) *tab { return &tab{t, b.base, b.ctx, b.scriptless, b.complaints} }

// open opens the browser for somebody new at a listener.
func open(t *testing.T, base string) *tab {
	t.Helper()
	ctx, end := chromedp.NewContext(chromium, chromedp.WithNewBrowserContext())
	t.Cleanup(end)
	b := &tab{t: t, base: base, ctx: ctx, complaints: &complaints{}}
	if err := errors.Join(chromedp.Do(ctx), chromedp.Listen(ctx, b.hear)); err != nil {
		t.Fatal(err)
	}
	call(b, log.Enable, cdp.Empty{})
	b.wears("light")
	t.Cleanup(func() {
		b.complaints.Lock()
		defer b.complaints.Unlock()
		for _, c := range b.complaints.all {
			t.Errorf("the browser says: %s", c)
		}
	})
	return b
}

func (b *tab) hear(event any) {
	var said string
	switch e := event.(type) {
	case *log.EventEntryAdded:
		// A status above 399 is what some pages are asked for.
		if e.Entry.Level == log.EntryLevelError && e.Entry.Source != log.EntrySourceNetwork {
			said = fmt.Sprintf("%s (%s)", e.Entry.Text, e.Entry.URL)
		}
	case *runtime.EventExceptionThrown:
		said = e.ExceptionDetails.Text + " " + e.ExceptionDetails.URL
	case *page.EventJavascriptDialogOpening:
		said = "a dialog: " + e.Message
	}
	if said != "" {
		b.complaints.Lock()
		defer b.complaints.Unlock()
		b.complaints.all = append(b.complaints.all, said)
	}
}

// do makes the browser do something, which must not fail.
func (b *tab) do(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := b.try(actions...); err != nil {
		b.t.Fatalf("%v\nat %s", err, b.where())
	}
}

func (b *tab) try(actions ...chromedp.Action[chromedp.Void]) error {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	return chromedp.Do(ctx, actions...)
}

// where is the page's address with what it says, for a failure.
func (b *tab) where() string {
	ctx, cancel := context.WithTimeout(b.ctx, 5*time.Second)
	defer cancel()
	text, err := chromedp.Run(ctx, chromedp.Evaluate[string](`location.href + "\n" + document.body.innerText`))
	if err != nil {
		return err.Error()
	}
	return text
}

// goes waits for the page that actions lead to, and returns its status.
func (b *tab) goes(actions ...chromedp.Action[chromedp.Void]) int {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	response, err := chromedp.RunResponse(ctx, actions...)
	if err != nil || response == nil {
		b.t.Fatalf("no page came: %v\nat %s", err, b.where())
	}
	return int(response.Status)
}

// visit opens a page, which must be answered with status 200.
func (b *tab) visit(path string) {
	b.t.Helper()
	if status := b.goes(chromedp.Navigate(b.base + path)); status != http.StatusOK {
		b.t.Fatalf("%s is answered with %d:\n%s", path, status, b.where())
	}
}

// fill writes into the field of a form.
func (b *tab) fill(name, value string) {
	b.t.Helper()
	field := `main [name="` + name + `"]`
	b.do(chromedp.SetValue(chromedp.CSS(field), value))
}

// button is what says text and can be pressed in the page itself.
func button(text string) string {
	return fmt.Sprintf(`//main//*[self::button or self::a or self::summary][contains(normalize-space(.), %q)]`, text)
}

// click clicks where a person would: on what stands there now. A page may bring
// a part of it up to date between the moment a button is found and the moment
// it is clicked; then the one that took its place is.
func click[S chromedp.Selectable](selector S) chromedp.Action[chromedp.Void] {
	return func(ctx context.Context, t *chromedp.Target) (chromedp.Void, error) {
		for {
			done, err := chromedp.Click(selector)(ctx, t)
			if gone := new(cdproto.Error); ctx.Err() != nil || !errors.As(err, &gone) || !slices.Contains(noSuchNode, gone.Message) {
				return done, err
			}
		}
	}
}

// noSuchNode is what the browser says of an element that is no longer part of
// the page, before it moves the mouse.
var noSuchNode = []string{"Could not find node with given id", "Node is detached from document", "Node does not have a layout object"}

// press presses a button or follows a link, which must lead to a page.
func (b *tab) press(text string) {
	b.t.Helper()
	if status := b.goes(click(chromedp.Search(button(text)))); status != http.StatusOK {
		b.t.Fatalf("%q is answered with %d:\n%s", text, status, b.where())
	}
}

// follow opens the page of a link's address.
func (b *tab) follow(selector string) {
	b.t.Helper()
	if status := b.goes(click(chromedp.CSS(selector))); status != http.StatusOK {
		b.t.Fatalf("%s is answered with %d:\n%s", selector, status, b.where())
	}
}

// text is all that the page says.
func (b *tab) text() string {
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	said, err := chromedp.Run(ctx, chromedp.Evaluate[string](`document.body ? document.body.innerText : ""`))
	if err != nil {
		return "" // between two pages there is nothing to ask
	}
	return said
}

// sees waits until the page says all of texts, however it writes capitals.
func (b *tab) sees(texts ...string) {
	b.t.Helper()
	for _, text := range texts {
		end := time.Now().Add(patience)
		tick := time.NewTicker(20 * time.Millisecond)
		for !strings.Contains(strings.ToLower(b.text()), strings.ToLower(text)) {
			if time.Now().After(end) {
				tick.Stop()
				b.t.Fatalf("the page does not say %q:\n%s", text, b.where())
			}
			<-tick.C
		}
		tick.Stop()
	}
}

// becomes waits until the page says text by itself; without scripts, when it is
// opened again.
func (b *tab) becomes(text string) {
	b.t.Helper()
	if b.scriptless {
		b.reloads(text)
	} else {
		b.sees(text)
	}
}

// reloads opens the page again until it says text, as browsers without scripts do.
func (b *tab) reloads(text string) {
	b.t.Helper()
	stage.Asking(b.t, patience, "a page says "+text, func() bool {
		b.goes(chromedp.Reload())
		return strings.Contains(strings.ToLower(b.text()), strings.ToLower(text))
	})
}

// value asks the page for something.
func value[T any](b *tab, script string, options ...chromedp.EvaluateOption) T {
	b.t.Helper()
	return get(b, chromedp.Evaluate[T](script, options...))
}

// get makes the browser do something that has a result.
func get[T any](b *tab, action chromedp.Action[T]) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, action)
	if err != nil {
		b.t.Fatalf("%v\nat %s", err, b.where())
	}
	return v
}

// call sends the browser a command.
func call[P, R any](b *tab, command cdp.Command[P, R], params P) {
	b.t.Helper()
	if _, err := chromedp.Call(b.ctx, command, params); err != nil {
		b.t.Fatal(err)
	}
}

// wears makes the system's appearance light or dark.
func (b *tab) wears(theme string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: []*emulation.MediaFeature{
		{Name: "prefers-color-scheme", Value: theme}, {Name: "prefers-reduced-motion", Value: "reduce"}}})
}

// withoutScripts switches the scripts of pages off.
func (b *tab) withoutScripts() *tab {
	b.t.Helper()
	b.scriptless = true
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: true})
	return b
}

// speaks makes the pages be asked for in a language.
func (b *tab) speaks(language string) {
	b.t.Helper()
	call(b, network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{Headers: network.Headers{"Accept-Language": language}})
}

// photograph keeps the whole page as a picture for the documentation.
func (b *tab) photograph(name string) {
	b.t.Helper()
	picture := smaller(b.t, get(b, chromedp.FullScreenshot(100)))
	if err := os.MkdirAll(*screens, 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*screens, name+".png"), picture, 0o644); err != nil {
		b.t.Fatal(err)
	}
}
