package browsertest

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/chromedp/chromedp"

	"ledgerhook/bench/stage"
)

var screens = flag.String("screens", "", "a folder that gets the screenshots chosen for the documentation; empty: none")

// chromium is the one browser of all tests; each works in a context of its
// own, which shares no cookie with another's.
var chromium context.Context

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

// browser is the one that has no window of its own, which takes half of the
// CPU; where only the whole one is installed, that.
func browser() string {
	for _, name := range []string{"chromium-headless-shell", "chromium"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return "" // what else there is
}

func run(m *testing.M) int {
	remove, err := stage.Build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer remove()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(browser()),
		chromedp.NoSandbox, // which root cannot have; only pages of our own are opened
		chromedp.WindowSize(width, height),
		chromedp.Flag("lang", "en"),
		chromedp.Flag("force-device-scale-factor", "1"),
		// What no test looks at, and what took half of the CPU: a GPU that is software, processes kept ready, pages
		// kept for the way back, the pages of the browser's own window and threads that compile ahead of pages that
		// are left at once.
		chromedp.Flag("disable-gpu", true),
		chromedp.Flag("in-process-gpu", true),
		chromedp.Flag("js-flags", "--single-threaded"),
		chromedp.Flag("renderer-process-limit", "2"),
		chromedp.Flag("disable-site-isolation-trials", true),
		chromedp.Flag("disable-features", "Translate,SpareRendererForSitePerProcess,BackForwardCache,"+
			"PreloadTopChromeWebUI,InitialWebUI,WebUIReloadButton,WebUIOmniboxPopup,WebUIOmniboxAimPopup"),
	)
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	defer stop()
	var end context.CancelFunc
	chromium, end = chromedp.NewContext(allocator)
	defer end()
	if err := chromedp.Do(chromium); err != nil {
		fmt.Fprintln(os.Stderr, "start the browser (Debian's package chromium-headless-shell, which \"make test\" installs):", err)
		return 1
	}
	return m.Run()
}
