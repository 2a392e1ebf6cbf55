package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/webhook"
)

type deliveryItem struct {
	ID            string    `json:"deliveryId"`
	EventID       string    `json:"eventId"`
	EndpointID    string    `json:"endpointId"`
	Partner       string    `json:"partnerCode"`
	Type          string    `json:"webhookType"`
	Reference     string    `json:"reference"`
	Sequence      int64     `json:"sequence"`
	State         string    `json:"state"`
	Reason        string    `json:"reason"`
	DeliveredBy   string    `json:"deliveredBy"`
	AttemptCount  int       `json:"attemptCount"`
	CreatedAt     time.Time `json:"createdAt"`
	FinishedAt    time.Time `json:"finishedAt"`
	NextAttemptAt time.Time `json:"nextAttemptAt"`
	WaitingFor    *struct {
		Reason string    `json:"reason"`
		Until  time.Time `json:"until"`
	} `json:"waitingFor"`
	LastStatusCode int    `json:"lastStatusCode"`
	LastErrorClass string `json:"lastErrorClass"`
	Erased         *struct {
		At time.Time `json:"at"`
		By string    `json:"by"`
	} `json:"erased"`
	Attempts []attemptItem `json:"attempts"`
}

func deliveryPath(id string) string { return "/internal/v1/deliveries/" + url.PathEscape(id) }

// standing is the state, or that another delivery has brought the event.
func (d deliveryItem) standing() cell {
	switch {
	case d.DeliveredBy == "":
		return stateColour(d.State)
	case d.DeliveredBy < d.ID:
		return cell{"delivered before", green}
	}
	return cell{"delivered by replay", green}
}

// waitingText says what the delivery waits for; empty when it does not.
func (d deliveryItem) waitingText(before string) string {
	if d.WaitingFor == nil || d.WaitingFor.Reason == "" {
		return ""
	}
	text := before + waitWords(d.WaitingFor.Reason)
	if !d.WaitingFor.Until.IsZero() {
		text += " at " + clock(d.WaitingFor.Until)
	}
	return text
}

// waitWords puts the reasons of the API into words.
func waitWords(reason string) string {
	switch reason {
	case "queue":
		return "a worker"
	case "slot":
		return "room at its endpoint"
	case "rate":
		return "the endpoint's rate limit"
	case "retry":
		return "its next attempt"
	case "retry_after":
		return "the time its endpoint asked for"
	case "breaker":
		return "its endpoint's breaker"
	case "paused":
		return "its endpoint to be resumed"
	case "disabled":
		return "its endpoint or partner to be enabled"
	case "no_endpoint":
		return "a first endpoint"
	case "order":
		return "an earlier one of its subject"
	}
	return reason
}

// last is the newest answer: a status code or a class of error.
func (d deliveryItem) last() cell {
	return attemptItem{StatusCode: d.LastStatusCode, ErrorClass: d.LastErrorClass}.result()
}

func (c *cli) deliveries() *cobra.Command {
	return group("deliveries", "Find, show, retry and cancel deliveries",
		c.deliveriesList(), c.deliveriesShow(), c.deliveriesRetry(), c.deliveriesCancel())
}

func (c *cli) deliveriesList() *cobra.Command {
	var f listFlags
	var partner, state, kind, since string
	var code int
	cmd := &cobra.Command{
		Use: "list", Short: "List deliveries, the newest first", Args: cobra.NoArgs,
		Example: `  ledgerhook deliveries list --partner acme --state exhausted --since 2h
  ledgerhook deliveries list --code 503 --since 14:00`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			query := url.Values{}
			for name, value := range map[string]string{"partnerCode": partner, "state": state, "webhookType": kind} {
				if value != "" {
					query.Set(name, value)
				}
			}
			if code != 0 {
				query.Set("statusCode", strconv.Itoa(code))
			}
			if since != "" {
				at, err := parseMoment("--since", since, time.Now())
				if err != nil {
					return err
				}
				query.Set("since", at.UTC().Format(time.RFC3339Nano))
			}
			return list(cmd.Context(), c, "/internal/v1/deliveries", query, f,
				[]string{"DELIVERY", "CREATED", "PARTNER", "TYPE", "STATE", "TRIES", "LAST", "WAITS FOR"},
				func(t *table, d deliveryItem) {
					t.row(d.ID, clock(d.CreatedAt), d.Partner, d.Type, d.standing(),
						strconv.Itoa(d.AttemptCount), d.last(), d.waitingText(""))
				})
		},
	}
	f.register(c, cmd)
	cmd.Flags().StringVar(&partner, "partner", "", "only this partner's")
	cmd.Flags().StringVar(&state, "state", "", "only those in this state")
	cmd.Flags().StringVar(&kind, "type", "", "only this webhookType")
	cmd.Flags().StringVar(&since, "since", "", `only those made since: "2h" ago, "14:00" today, "2026-01-31", or an RFC 3339 time`)
	cmd.Flags().IntVar(&code, "code", 0, "only those whose last answer had this status code")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(eventTypes(), cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions([]string{
		"pending", "queued", "sending", "held", "delivered", "exhausted", "cancelled"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// parseMoment reads the ways a person names a moment in the past, the value of flag.
func parseMoment(flag, s string, now time.Time) (time.Time, error) {
	if d, err := time.ParseDuration(s); err == nil && d >= 0 {
		return now.Add(-d), nil
	}
	if t, err := time.ParseInLocation("15:04", s, now.Location()); err == nil {
		year, month, day := now.Date()
		return time.Date(year, month, day, t.Hour(), t.Minute(), 0, 0, now.Location()), nil
	}
	if t, err := time.ParseInLocation(time.DateOnly, s, now.Location()); err == nil {
		return t, nil
	}
	if t, err := time.Parse(time.RFC3339, s); err == nil {
		return t, nil
	}
	return time.Time{}, usage(`%s must be like "2h", "14:00", "2026-01-31" or "2026-01-31T14:00:00Z", not %q`, flag, s)
}

func (c *cli) deliveriesRetry() *cobra.Command {
	cmd := &cobra.Command{
		Use: "retry ID…", Short: "Retry deliveries: waiting ones now, finished ones as new deliveries",
		Long: `Try deliveries again: one that waits is due now, of one that has ended a new
delivery is made. Prints for each the id of the delivery that goes out.`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.each(cmd.Context(), args, func(ctx context.Context, id string) (string, error) {
				due, raw, err := fetch[deliveryItem](ctx, c, http.MethodPost, deliveryPath(id)+"/retry", nil)
				if err != nil {
					return "", err
				}
				if c.json {
					err = c.raw(raw)
				} else {
					_, err = fmt.Fprintln(c.out, plain(due.ID))
				}
				return due.retried(ctx, c, id), err
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// retried says what a retry of id came to: when and as which delivery it goes
// out, and what still keeps it from that.
func (d deliveryItem) retried(ctx context.Context, c *cli, id string) string {
	says, waits := "is due now", ", but waits for "
	if d.ID != id {
		says, waits = "goes out again as "+plain(d.ID), ", which waits for "
	}
	now, _, err := fetch[deliveryItem](ctx, c, http.MethodGet, deliveryPath(d.ID), nil)
	if err != nil || now.State == string(webhook.Queued) {
		return says // it is done; what it waits for can be asked again
	}
	return says + now.waitingText(waits)
}

func (c *cli) deliveriesCancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID…", Short: "Cancel waiting deliveries", Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.each(cmd.Context(), args, func(ctx context.Context, id string) (string, error) {
				_, err := c.call(ctx, http.MethodPost, deliveryPath(id)+"/cancel", nil)
				return "is cancelled", err
			})
		},
	}
}

// each does one thing to every id and goes on when one is refused. Its error is
// the refusal itself if there was but one id.
func (c *cli) each(ctx context.Context, ids []string, do func(context.Context, string) (string, error)) error {
	failed := 0
	for _, id := range ids {
		done, err := do(ctx, id)
		var refused *apiError
		switch {
		case err == nil:
			c.say("%s %s", id, done)
		case len(ids) == 1 || !errors.As(err, &refused):
			return err
		default:
			failed++
			c.say("%s: %s", id, errorLine(err))
		}
	}
	switch failed {
	case 0:
		return nil
	case len(ids):
		return fmt.Errorf("all %d were refused", failed)
	}
	return &exitError{exitSomeFailed, fmt.Errorf("%d of %d were refused", failed, len(ids))}
}

func (c *cli) deliveriesShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show ID", Short: "Show a delivery and every attempt at it", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			d, raw, err := fetch[deliveryItem](cmd.Context(), c, http.MethodGet, deliveryPath(args[0]), nil)
			if err != nil {
				return err
			}
			if c.json {
				return c.raw(raw)
			}
			var e endpointItem // without it, when it is removed, the delivery tells all
			if d.EndpointID != "" && !webhook.State(d.State).Final() {
				if e, _, err = fetch[endpointItem](cmd.Context(), c, http.MethodGet, endpointPath(d.EndpointID), nil); err != nil && !isNotFound(err) {
					return err
				}
			}
			return c.showDelivery(d, e)
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// isNotFound reports whether the server knows no such thing.
func isNotFound(err error) bool {
	var refused *apiError
	return errors.As(err, &refused) && refused.status == http.StatusNotFound
}

// showDelivery prints a delivery and, of the endpoint that it waits for, what
// keeps it waiting.
func (c *cli) showDelivery(d deliveryItem, e endpointItem) error {
	t := c.table()
	t.field("delivery", d.ID)
	t.field("event", d.EventID)
	t.field("partner", d.Partner)
	t.field("type", d.Type)
	t.field("about", d.Reference)
	t.field("endpoint", d.EndpointID)
	if d.Sequence > 0 {
		t.field("sequence", strconv.FormatInt(d.Sequence, 10))
	}
	t.field("state", stateColour(d.State))
	t.field("delivered by", d.DeliveredBy)
	t.field("reason", d.Reason)
	t.field("waits for", d.waitingText(""))
	t.field("disabled", e.StateReason)
	t.field("breaker", e.breakerText())
	for _, advice := range e.Advice {
		t.field("advice", "the endpoint: "+advice)
	}
	t.field("created", clock(d.CreatedAt))
	t.field("finished", clock(d.FinishedAt))
	if d.Erased != nil {
		t.field("erased", clock(d.Erased.At)+" by "+d.Erased.By)
	}
	if err := t.flush(); err != nil {
		return err
	}
	if len(d.Attempts) == 0 {
		c.say("no attempt yet")
		return nil
	}
	fmt.Fprintln(c.out)
	return c.showAttempts(d.Attempts, webhook.State(d.State).Final())
}
