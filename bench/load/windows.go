package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"ledgerhook/bench/stage"
)

const (
	onDuty     = 10   // people
	ownWindows = 3    // of each, on the overview
	watched    = 100. // events a second
)

// windows measures how old what people see on the overview gets beside traffic,
// and what their pages take.
func windows(t *stage.Trial, s setting, o options) []Figure {
	w := newWorld(t, s, o)
	people := w.signIn(onDuty)
	load := errand{Events: max(1, int(watched*o.lasts.Seconds())), Batch: 1, Rate: watched}
	w.measure("warm up", load)
	alone := w.measure("100/s", load)

	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var open errgroup.Group
	var all []*window
	base, _ := w.gateway.Reach()
	for _, person := range people {
		for range ownWindows {
			seen := &window{browser: person, base: base, opened: refreshPause * time.Duration(len(all)) / (onDuty * ownWindows)}
			all = append(all, seen)
			open.Go(func() error { return seen.watch(ctx) })
		}
	}
	beside := w.measure("100/s beside the windows", load)
	stop()
	if err := open.Wait(); err != nil {
		t.Fatal(err)
	}
	var ages, took []time.Duration
	for _, seen := range all {
		ages, took = append(ages, seen.ages...), append(took, seen.took...)
	}
	lasted := float64(load.Events) / watched
	return []Figure{
		{"oldest that a window showed", stage.Percentile(ages, 100).Seconds(), "s"},
		{"oldest, 99 of 100 times", stage.Percentile(ages, 99).Seconds(), "s"},
		{"windows", float64(len(all)), ""},
		{"pages", float64(len(took)) / lasted, "/s"},
		{"p99 of a page", ms(stage.Percentile(took, 99)), "ms"},
		{"gateway, for pages", (beside.CPU.Gateway - alone.CPU.Gateway) * watched / 10, "% of a processor"},
		{"PostgreSQL, for pages", (beside.CPU.Postgres - alone.CPU.Postgres) * watched / 10, "% of a processor"},
		{"p99 to the receiver, without pages", alone.P99, "ms"},
		{"p99 to the receiver, beside them", beside.P99, "ms"},
	}
}

// window is a page that is looked at, as its script keeps it new.
type window struct {
	browser *http.Client
	base    string
	opened  time.Duration   // after the first one: people do not do so at one stroke
	ages    []time.Duration // of what it showed, when something newer came
	took    []time.Duration // to fetch it
}

// refreshPause is how long a page's script lets pass between two looks.
const refreshPause = 2 * time.Second

// watch keeps the overview open until ctx ends: it fetches it anew when its
// stream says that something has changed.
func (v *window) watch(ctx context.Context) error {
	if !comes(ctx, time.After(v.opened)) {
		return nil
	}
	changed := make(chan struct{}, 1)
	listening, stop := context.WithCancel(ctx)
	var stream errgroup.Group
	stream.Go(func() error { return v.listen(listening, changed) })
	err := v.refresh(ctx, changed)
	stop()
	return errors.Join(err, stream.Wait())
}

func (v *window) refresh(ctx context.Context, changed <-chan struct{}) error {
	var shown time.Time // when the figures were read, at the earliest
	for {
		began := time.Now()
		if err := v.get(ctx, "/ops", func(page io.Reader) error {
			_, err := io.Copy(io.Discard, page)
			return err
		}); err != nil || ctx.Err() != nil {
			return err
		}
		now := time.Now()
		v.took = append(v.took, now.Sub(began))
		if !shown.IsZero() {
			v.ages = append(v.ages, now.Sub(shown))
		}
		shown = began
		if !comes(ctx, time.After(refreshPause)) || !comes(ctx, changed) {
			return nil
		}
	}
}

// comes waits for one of c, and reports whether it came before ctx ended.
func comes[T any](ctx context.Context, c <-chan T) bool {
	select {
	case <-c:
		return true
	case <-ctx.Done():
		return false
	}
}

func (v *window) listen(ctx context.Context, changed chan<- struct{}) error {
	return v.get(ctx, "/ops/live", func(stream io.Reader) error {
		lines := bufio.NewScanner(stream)
		for lines.Scan() {
			if lines.Text() != "event: change" {
				continue
			}
			select {
			case changed <- struct{}{}:
			default:
			}
		}
		return lines.Err()
	})
}

// get reads an answer, if it is one; ctx may end it.
func (v *window) get(ctx context.Context, path string, read func(io.Reader) error) error {
	request, err := http.NewRequestWithContext(ctx, "GET", v.base+path, nil)
	if err != nil {
		return err
	}
	response, err := v.browser.Do(request)
	if err == nil {
		defer func() { _ = response.Body.Close() }()
		if response.StatusCode != http.StatusOK || response.Request.URL.Path != path {
			return fmt.Errorf("%s: %s from %s", path, response.Status, response.Request.URL.Path)
		}
		err = read(response.Body)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

var invitation = regexp.MustCompile(`/ops/invite/[A-Za-z0-9_-]+`)

// signIn is the browsers of n operators: the first, who invites the others.
func (w *world) signIn(n int) []*http.Client {
	base, _ := w.gateway.Reach()
	admin := stage.SignIn(w.gateway)
	admin.Timeout = 0 // of streams, too
	all := []*http.Client{admin}
	for i := range n - 1 {
		form := regexp.MustCompile(`name="form" value="([^"]*)"`).FindStringSubmatch(w.page(admin.Get(base + "/ops/admin")))
		if form == nil {
			w.t.Fatal("there is no form to invite somebody")
		}
		link := invitation.FindString(w.page(admin.PostForm(base+"/ops/admin/invite", url.Values{"form": {html.UnescapeString(form[1])}, "role": {"viewer"}, "name": {"Somebody"}})))
		jar, err := cookiejar.New(nil)
		if err != nil {
			w.t.Fatal(err)
		}
		browser := &http.Client{Jar: jar}
		page := w.page(browser.PostForm(base+link, url.Values{"username": {fmt.Sprintf("operator-%d", i)}, "name": {"Somebody"},
			"password": {stage.TestPassword + "-too"}, "again": {stage.TestPassword + "-too"}}))
		if !strings.Contains(page, "/ops/logout") {
			w.t.Fatalf("an operator could not join: %.1000s", page)
		}
		all = append(all, browser)
	}
	return all
}

func (w *world) page(response *http.Response, err error) string {
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %s (%v)", response.Request.URL.Path, response.Status, err)
	}
	return string(text)
}
