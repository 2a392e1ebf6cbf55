package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type replayItem struct {
	ID       string         `json:"replayId"`
	State    string         `json:"state"`
	Reason   string         `json:"reason"`
	Rate     int            `json:"ratePerSecond"`
	Total    int            `json:"total"`
	Note     string         `json:"note"`
	Progress replayProgress `json:"progress"`
}

// replayProgress adds up to the replay's total from Open to Failed; what is
// queued, sent and answered are each a part of the one before.
type replayProgress struct {
	Open      int `json:"open"`
	Skipped   int `json:"skipped"`
	Waiting   int `json:"waiting"`
	Delivered int `json:"delivered"`
	Failing   int `json:"failing"`
	Failed    int `json:"failed"`

	Queued   int `json:"queued"`
	Sent     int `json:"sent"`
	Answered int `json:"answered2xx"`
	Failures []struct {
		ErrorClass string `json:"errorClass"`
		Failing    int    `json:"failing"`
		Failed     int    `json:"failed"`
	} `json:"failures"`
}

const replaysPath = "/internal/v1/replays"

func replayPath(id string) string { return replaysPath + "/" + url.PathEscape(id) }

func (c *cli) replay() *cobra.Command {
	return group("replay", "Send many finished deliveries again",
		c.replayPreview(), c.replayStart(), c.replayWatch(),
		c.replayMove("pause", "Hold a running replay", "is paused; deliveries already queued go on"),
		c.replayMove("resume", "Resume a replay", "goes on"),
		c.replayMove("cancel", "Cancel a replay", "is cancelled; deliveries already queued go on"))
}

// replayFilter is which deliveries, as a request says it.
type replayFilter struct {
	Partner    string     `json:"partnerCode,omitempty"`
	EndpointID string     `json:"endpointId,omitempty"`
	State      string     `json:"state,omitempty"`
	Type       string     `json:"webhookType,omitempty"`
	Code       int        `json:"statusCode,omitempty"`
	ErrorClass string     `json:"errorClass,omitempty"`
	Reference  string     `json:"reference,omitempty"`
	ReplayID   string     `json:"replayId,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	Until      *time.Time `json:"until,omitempty"`
}

// replayRequest is a filter with its flags, and what else is sent with it.
type replayRequest struct {
	Filter replayFilter `json:"filter"`
	Rate   int          `json:"ratePerSecond,omitempty"`
	Reason string       `json:"reason,omitempty"`
	DryRun bool         `json:"dryRun,omitempty"`

	IncludeSettled bool `json:"includeSettled,omitempty"`

	since, until string
}

func (q *replayRequest) register(cmd *cobra.Command) {
	f := &q.Filter
	cmd.Flags().StringVar(&f.Partner, "partner", "", "only this partner's")
	cmd.Flags().StringVar(&f.EndpointID, "endpoint", "", "only this endpoint's")
	cmd.Flags().StringVar(&f.State, "state", "", "only those that ended delivered, exhausted or cancelled")
	cmd.Flags().StringVar(&f.Type, "type", "", "only this webhookType")
	cmd.Flags().IntVar(&f.Code, "code", 0, "only those whose last answer had this status code")
	cmd.Flags().StringVar(&f.ErrorClass, "error", "", "only those whose last attempt failed like this: timeout, connect, http_5xx …")
	cmd.Flags().StringVar(&f.Reference, "reference", "", "only those about this event, card, top-up, transaction, account or order")
	cmd.Flags().StringVar(&f.ReplayID, "replay", "", "only those made by this replay; with --state exhausted, those of it that failed")
	cmd.Flags().BoolVar(&q.IncludeSettled, "include-settled", false, "send also what failed and another delivery has brought to the endpoint; default: leave it out")
	cmd.Flags().StringVar(&q.since, "since", "", `only those made since: "2h" ago, "14:00" today, "2026-01-31", or an RFC 3339 time`)
	cmd.Flags().StringVar(&q.until, "until", "", "only those made before, in the form of --since")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(eventTypes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{"delivered", "exhausted", "cancelled"}, cobra.ShellCompDirectiveNoFileComp))
}

// read puts the moments of the flags into the filter.
func (q *replayRequest) read(now time.Time) error {
	for _, moment := range []struct {
		flag, text string
		into       **time.Time
	}{{"--since", q.since, &q.Filter.Since}, {"--until", q.until, &q.Filter.Until}} {
		if moment.text == "" {
			continue
		}
		at, err := parseMoment(moment.flag, moment.text, now)
		if err != nil {
			return err
		}
		at = at.UTC()
		*moment.into = &at
	}
	if since, until := q.Filter.Since, q.Filter.Until; since != nil && until != nil && since.After(*until) {
		return usage("--since must not be after --until")
	}
	if q.Filter == (replayFilter{}) {
		return usage("choose deliveries by --partner, --state, --since or another filter")
	}
	return nil
}

func (c *cli) replayPreview() *cobra.Command {
	q := replayRequest{DryRun: true}
	cmd := &cobra.Command{
		Use: "preview", Short: "Preview a replay without changing anything", Args: cobra.NoArgs,
		Example: `  ledgerhook replay preview --partner acme --state exhausted --since 14:00 --until 16:30`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := q.read(time.Now()); err != nil {
				return err
			}
			p, raw, err := fetch[replayPreview](cmd.Context(), c, http.MethodPost, replaysPath, q)
			if err != nil {
				return err
			}
			if c.json {
				return c.raw(raw)
			}
			return c.showPreview(p)
		},
	}
	q.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

type replayPreview struct {
	Count     int    `json:"count"`
	CountIs   string `json:"countIs"`
	Max       int    `json:"max"`
	Settled   int    `json:"settled"`
	SettledIs string `json:"settledIs"`
	Included  bool   `json:"includeSettled"`
	Grouped   int    `json:"grouped"`
	Breakdown []struct {
		Partner    string `json:"partnerCode"`
		Endpoint   string `json:"endpointId"`
		Type       string `json:"webhookType"`
		State      string `json:"state"`
		ErrorClass string `json:"errorClass"`
		Count      int    `json:"count"`
	} `json:"breakdown"`
	Warnings struct {
		Checked       int `json:"checked"`
		Delivered     int `json:"alreadyDelivered"`
		Retrying      int `json:"stillRetrying"`
		URLChanged    int `json:"urlChanged"`
		SecretRotated int `json:"secretRotated"`
		Removed       int `json:"endpointRemoved"`
	} `json:"warnings"`
	Sample []deliveryItem `json:"sample"`
}

func (c *cli) showPreview(p replayPreview) error {
	if p.Count == 0 {
		c.say("no finished delivery matches")
		p.sayLeftOut(c)
		return nil
	}
	t := c.table("COUNT", "PARTNER", "ENDPOINT", "TYPE", "STATE", "LAST ERROR")
	for _, g := range p.Breakdown {
		t.row(strconv.Itoa(g.Count), g.Partner, g.Endpoint, g.Type, stateColour(g.State), g.ErrorClass)
	}
	if err := t.flush(); err != nil {
		return err
	}
	fmt.Fprintln(c.out)
	t = c.table("NEWEST", "CREATED", "ABOUT", "STATE", "TRIES", "LAST")
	for _, d := range p.Sample {
		t.row(d.ID, clock(d.CreatedAt), d.Reference, d.standing(), strconv.Itoa(d.AttemptCount), d.last())
	}
	if err := t.flush(); err != nil {
		return err
	}
	p.sayLeftOut(c)
	p.warn(c)
	if p.Count > p.Max {
		c.say("more than %d match, the maximum of a replay: narrow the filters, for example by --since and --until", p.Max)
		return nil
	}
	c.say("%s match; send them again: ledgerhook replay start with the same filters and --reason", p.count())
	return nil
}

// count is the number as it is known.
func (p replayPreview) count() string { return counted(p.Count, p.CountIs) }

// counted is a number with how far it is known.
func counted(n int, is string) string {
	switch is {
	case "about":
		return fmt.Sprintf("about %d", n)
	case "atLeast":
		return fmt.Sprintf("at least %d", n)
	}
	return strconv.Itoa(n)
}

// sayLeftOut says how many were left out since their event was delivered.
func (p replayPreview) sayLeftOut(c *cli) {
	if p.Included || p.Settled == 0 {
		return
	}
	c.say("%s more failed, but another delivery has brought their event: they are left out unless --include-settled is given", counted(p.Settled, p.SettledIs))
}

// warn says what should be known before a replay is started.
func (p replayPreview) warn(c *cli) {
	if p.Grouped < p.Count {
		c.say("the table counts the newest %d", p.Grouped)
	}
	w := p.Warnings
	for _, warning := range []struct {
		n    int
		says string
	}{
		{w.Delivered, "have already been delivered"},
		{w.Retrying, "have another delivery under way, and would be skipped"},
		{w.URLChanged, "ended before their endpoint's URL was changed"},
		{w.SecretRotated, "ended before their partner had a newer signing secret"},
		{w.Removed, "no longer have an endpoint, and would be skipped"},
	} {
		if warning.n > 0 {
			c.say("%d of the newest %d %s", warning.n, w.Checked, warning.says)
		}
	}
}

func (c *cli) replayStart() *cobra.Command {
	var watch bool
	var q replayRequest
	cmd := &cobra.Command{
		Use: "start --reason TEXT", Short: "Start a replay of the deliveries that match now", Args: cobra.NoArgs,
		Example: `  ledgerhook replay start --partner acme --state exhausted --since 2h --reason 'their outage' --watch`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if strings.TrimSpace(q.Reason) == "" {
				return usage("--reason must say why, for the audit log")
			}
			if c.json && watch {
				return usage("--json and --watch exclude each other: ledgerhook replay watch takes --json")
			}
			if err := q.read(time.Now()); err != nil {
				return err
			}
			r, raw, err := fetch[replayItem](cmd.Context(), c, http.MethodPost, replaysPath, q)
			if err != nil {
				return err
			}
			if c.json {
				return c.raw(raw)
			}
			t := c.table()
			t.field("replay", r.ID)
			t.field("deliveries", strconv.Itoa(r.Total))
			t.field("a second", strconv.Itoa(r.Rate))
			if err := t.flush(); err != nil {
				return err
			}
			if watch {
				return c.watchReplay(cmd.Context(), r.ID, watchPatience)
			}
			c.say("it is running; follow it: ledgerhook replay watch %s", r.ID)
			return nil
		},
	}
	q.register(cmd)
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for the audit log")
	cmd.Flags().IntVar(&q.Rate, "rate", 0, "most deliveries a second; default: the server's")
	cmd.Flags().BoolVar(&watch, "watch", false, "follow it to its end")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) replayMove(verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tell(cmd.Context(), http.MethodPost, replayPath(args[0])+"/"+verb, nil, "replay %s %s", args[0], done)
		},
	}
}

const (
	watchPatience = 24 * time.Hour         // unless --timeout says otherwise
	watchEvery    = 500 * time.Millisecond // between two looks
)

func (c *cli) replayWatch() *cobra.Command {
	var patience time.Duration
	cmd := &cobra.Command{
		Use: "watch ID", Short: "Follow a replay until all its deliveries have ended", Args: cobra.ExactArgs(1),
		Long: `Follow a replay until all its deliveries have ended, or it is paused, stopped or
cancelled. Exit code 0: all were delivered or skipped. 6: some failed. 5: it does
not run. 8: --timeout came first.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if patience <= 0 {
				return usage("--timeout must be above 0, like 10m")
			}
			return c.watchReplay(cmd.Context(), args[0], patience)
		},
	}
	cmd.Flags().DurationVar(&patience, "timeout", watchPatience, "longest time to follow it")
	cmd.Flags().BoolVar(&c.json, "json", false, "print only the server's last JSON, unchanged")
	return cmd
}

// watchReplay prints a line whenever the replay has got on: over the last one
// on a terminal, below it elsewhere.
func (c *cli) watchReplay(ctx context.Context, id string, patience time.Duration) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	line := progressLine{c: c, live: c.coloured(c.out)}
	for {
		r, raw, err := fetch[replayItem](waiting, c, http.MethodGet, replayPath(id), nil)
		if err == nil && !c.json {
			line.show(r)
		}
		if err == nil && r.settled() {
			line.end()
			if c.json {
				if err := c.raw(raw); err != nil {
					return err
				}
			}
			return r.verdict()
		}
		if err != nil && waiting.Err() == nil {
			line.end()
			return err
		}
		select {
		case <-tick.C:
			continue
		case <-waiting.Done():
		}
		line.end()
		if errors.Is(waiting.Err(), context.DeadlineExceeded) {
			return &exitError{exitTimedOut, fmt.Errorf("the replay has not ended within %v; it is still running: ledgerhook replay watch %s", patience, id)}
		}
		return waiting.Err()
	}
}

// settled reports whether nothing more comes by itself.
func (r replayItem) settled() bool {
	if r.State == "running" {
		return false
	}
	return r.State != "finished" || r.Progress.Waiting+r.Progress.Failing == 0
}

// verdict is how a settled replay went.
func (r replayItem) verdict() error {
	note := ""
	if r.Note != "" {
		note = ": " + r.Note
	}
	switch {
	case r.State == "cancelled":
		return &exitError{exitChanged, errors.New("the replay is cancelled")}
	case r.State != "finished":
		return &exitError{exitChanged, fmt.Errorf("the replay is %s%s; go on: ledgerhook replay resume %s", r.State, note, r.ID)}
	case r.Progress.Failed > 0:
		return &exitError{exitSomeFailed, fmt.Errorf("%d of %d failed again; send those again: ledgerhook replay start --replay %s --state exhausted --reason TEXT", r.Progress.Failed, r.Total, r.ID)}
	}
	return nil
}

// progressLine shows how far a replay is, on one line of a terminal.
type progressLine struct {
	c     *cli
	live  bool
	shown string
}

func (l *progressLine) show(r replayItem) {
	p := r.Progress
	parts := []string{fmt.Sprintf("%s  %d of %d queued", r.State, p.Queued, r.Total), fmt.Sprintf("%d sent", p.Sent), fmt.Sprintf("%d answered 2xx", p.Answered)}
	for _, more := range []struct {
		n    int
		what string
	}{{p.Waiting, "on their way"}, {p.Failing, "to be retried"}, {p.Failed, "failed"}, {p.Skipped, "skipped"}} {
		if more.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", more.n, more.what))
		}
	}
	var failures []string
	for _, f := range p.Failures {
		failures = append(failures, fmt.Sprintf("%d %s", f.Failing+f.Failed, cmp.Or(f.ErrorClass, "without attempt")))
	}
	text := strings.Join(parts, ", ")
	if len(failures) > 0 {
		text += ": " + strings.Join(failures, ", ")
	}
	text = plain(text)
	if text == l.shown {
		return
	}
	if l.live {
		fmt.Fprint(l.c.out, "\r\x1b[K"+text)
	} else {
		fmt.Fprintln(l.c.out, text)
	}
	l.shown = text
}

// end leaves the terminal's line.
func (l *progressLine) end() {
	if l.live && l.shown != "" {
		fmt.Fprintln(l.c.out)
	}
}
