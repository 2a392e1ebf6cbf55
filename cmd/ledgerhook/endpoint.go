package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/webhook"
)

type endpointItem struct {
	ID          string    `json:"endpointId"`
	Partner     string    `json:"partnerCode"`
	URL         string    `json:"url"`
	Types       []string  `json:"webhookTypes"`
	Description string    `json:"description"`
	State       string    `json:"state"`
	StateReason string    `json:"stateReason"`
	MaxInFlight int       `json:"maxInFlight"`
	InFlight    int       `json:"inFlight"`
	Waiting     int       `json:"waiting"`
	RateLimit   int       `json:"rateLimit"`
	Ordered     bool      `json:"ordered"`
	AckMode     string    `json:"ackMode"`
	Timeout     int       `json:"timeoutSeconds"`
	Headers     []string  `json:"headers"`
	CreatedAt   time.Time `json:"createdAt"`
	Breaker     struct {
		State     string    `json:"state"`
		OpenUntil time.Time `json:"openUntil"`
		Reason    string    `json:"reason"`
	} `json:"breaker"`
	Advice []string `json:"advice"` // of a single one
}

// stateCell is whether deliveries may leave: a breaker that is not closed
// counts for as much as a pause.
func (e endpointItem) stateCell() cell {
	if b := e.Breaker.State; e.State == "active" && b != "" && b != "closed" {
		return cell{"breaker " + strings.ReplaceAll(b, "_", " "), red}
	}
	return stateColour(e.State)
}

// breakerText says why the breaker is open and until when; empty if it is not.
func (e endpointItem) breakerText() string {
	b := e.Breaker
	if b.State == "" || b.State == "closed" {
		return ""
	}
	text := strings.ReplaceAll(b.State, "_", " ")
	if !b.OpenUntil.IsZero() && b.State == "open" {
		text += " until " + clock(b.OpenUntil)
	}
	if b.Reason != "" {
		text += ": " + b.Reason
	}
	return text
}

// resumed says that the endpoint is, and what still keeps its deliveries from
// leaving.
func (e endpointItem) resumed() string {
	switch breaker := e.breakerText(); {
	case e.State == "disabled": // by its partner alone: a resume ends its own
		return "is resumed, but its partner is disabled: ledgerhook partner enable " + e.Partner
	case breaker != "":
		return "is resumed, but its breaker is " + breaker
	}
	return "is resumed"
}

func endpointPath(id string) string { return "/internal/v1/endpoints/" + url.PathEscape(id) }

func eventTypes() []string {
	var names []string
	for _, t := range webhook.Types {
		names = append(names, string(t))
	}
	return names
}

func (c *cli) endpoint() *cobra.Command {
	return group("endpoint", "Manage where a partner's notifications go",
		c.endpointAdd(), c.endpointList(), c.endpointTest(),
		c.endpointSwitch("pause", "Hold an endpoint's deliveries",
			func(endpointItem) string { return "is paused; its deliveries are held" }),
		c.endpointSwitch("resume", "Release the deliveries a pause held", endpointItem.resumed),
		c.endpointRemove())
}

func (c *cli) endpointAdd() *cobra.Command {
	var target, description string
	var types, headers []string
	var inFlight, rate, timeout int
	var ordered bool
	var ackMode string
	cmd := &cobra.Command{
		Use: "add CODE --url URL", Short: "Add an endpoint to a partner", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			named, err := readHeaders(headers)
			if err != nil {
				return err
			}
			body := struct {
				URL         string            `json:"url"`
				Types       []string          `json:"webhookTypes,omitempty"`
				Description string            `json:"description,omitempty"`
				MaxInFlight int               `json:"maxInFlight,omitempty"`
				RateLimit   int               `json:"rateLimit,omitempty"`
				Ordered     bool              `json:"ordered,omitempty"`
				AckMode     string            `json:"ackMode,omitempty"`
				Timeout     int               `json:"timeoutSeconds,omitempty"`
				Headers     map[string]string `json:"headers,omitempty"`
			}{target, types, description, inFlight, rate, ordered, ackMode, timeout, named}
			e, raw, err := fetch[endpointItem](cmd.Context(), c, http.MethodPost, partnerPath(args[0])+"/endpoints", body)
			if err != nil {
				return err
			}
			c.say("endpoint added; try it: ledgerhook endpoint test %s", e.ID)
			return c.answer(raw, func(t *table) {
				t.field("endpoint", e.ID)
				t.field("url", e.URL)
				t.field("types", typesText(e.Types))
				if e.RateLimit > 0 {
					t.field("rate limit", fmt.Sprintf("%d a second", e.RateLimit))
				}
				if e.Ordered {
					t.field("order", "by subject")
				}
				if e.AckMode == "body" {
					t.field("success", "by the answer's body")
				}
				if e.Timeout > 0 {
					t.field("time limit", fmt.Sprintf("%d s", e.Timeout))
				}
				t.field("headers", strings.Join(e.Headers, ", "))
			})
		},
	}
	cmd.Flags().StringVar(&target, "url", "", "where to POST, https")
	cmd.Flags().StringSliceVar(&types, "types", nil, "the webhookTypes it takes, separated by commas; default: all")
	cmd.Flags().StringVar(&description, "description", "", "a note for people")
	cmd.Flags().IntVar(&inFlight, "max-in-flight", 0, "most requests at once; default: the server's")
	cmd.Flags().IntVar(&rate, "rate-limit", 0, "most notifications a second; default: no limit")
	cmd.Flags().IntVar(&timeout, "timeout", 0, "seconds that one attempt may take, 3 to 30; default: the server's")
	cmd.Flags().BoolVar(&ordered, "ordered", false, "keep the order of a card's, account's or order's notifications")
	cmd.Flags().StringVar(&ackMode, "ack-mode", "", `what a success is: "status" any 2xx, "body" a JSON answer without success: false`)
	cmd.Flags().StringArrayVar(&headers, "header", nil, `"Name: value" to send with every notification; may be repeated`)
	c.jsonFlag(cmd)
	_ = cmd.RegisterFlagCompletionFunc("ack-mode", cobra.FixedCompletions([]string{"status", "body"}, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagRequired("url")
	_ = cmd.RegisterFlagCompletionFunc("types", cobra.FixedCompletions(eventTypes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readHeaders reads "Name: value" lines. Its errors do not hold the value,
// which may be a credential.
func readHeaders(lines []string) (map[string]string, error) {
	headers := map[string]string{}
	for i, line := range lines {
		name, value, found := strings.Cut(line, ":")
		name = strings.TrimSpace(name)
		if _, twice := headers[name]; !found || name == "" || twice {
			return nil, usage(`--header must be like "Name: value", each name once; the one at place %d is not`, i+1)
		}
		headers[name] = strings.TrimSpace(value)
	}
	return headers, nil
}

func typesText(types []string) string {
	if len(types) == 0 {
		return "all"
	}
	return strings.Join(types, ",")
}

func (c *cli) endpointList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list CODE", Short: "List a partner's endpoints", Args: cobra.ExactArgs(1)},
		func(args []string) string { return partnerPath(args[0]) + "/endpoints" },
		[]string{"ENDPOINT", "STATE", "TYPES", "IN FLIGHT", "WAITING", "URL"},
		func(t *table, e endpointItem) {
			t.row(e.ID, e.stateCell(), typesText(e.Types), fmt.Sprintf("%d of %d", e.InFlight, e.MaxInFlight), strconv.Itoa(e.Waiting), e.URL)
		})
}

func (c *cli) endpointSwitch(verb, short string, done func(endpointItem) string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " ID", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			e, _, err := fetch[endpointItem](cmd.Context(), c, http.MethodPost, endpointPath(args[0])+"/"+verb, nil)
			if err != nil {
				return err
			}
			c.say("endpoint %s %s", args[0], plain(done(e)))
			return nil
		},
	}
}

func (c *cli) endpointRemove() *cobra.Command {
	return &cobra.Command{
		Use: "remove ID", Short: "Remove an endpoint and cancel its waiting deliveries", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tell(cmd.Context(), http.MethodDelete, endpointPath(args[0]), nil,
				"endpoint %s is removed; its waiting deliveries are cancelled", args[0])
		},
	}
}

// testPatience is how long an endpoint test waits for its first attempt.
const testPatience = 30 * time.Second

func (c *cli) endpointTest() *cobra.Command {
	cmd := &cobra.Command{
		Use: "test ID", Short: "Send a test notification and show the result", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			sent, _, err := fetch[struct {
				DeliveryID string `json:"deliveryId"`
			}](cmd.Context(), c, http.MethodPost, endpointPath(args[0])+"/test", nil)
			if err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(cmd.Context(), testPatience)
			defer cancel()
			d, raw, err := firstAttempt(ctx, c, sent.DeliveryID)
			if errors.Is(err, context.DeadlineExceeded) {
				return &exitError{exitTimedOut, fmt.Errorf("no attempt within %v%s; look again later: ledgerhook deliveries show %s",
					testPatience, d.waitingText(" because it is waiting for "), sent.DeliveryID)}
			}
			if err != nil {
				return err
			}
			if c.json {
				if err := c.raw(raw); err != nil {
					return err
				}
			}
			return c.tellTest(d, c.json)
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

// firstAttempt waits until the delivery has an attempt with an outcome or has
// ended without one. When ctx ends it returns what was known last.
func firstAttempt(ctx context.Context, c *cli, id string) (deliveryItem, []byte, error) {
	var last deliveryItem
	tick := time.NewTicker(150 * time.Millisecond)
	defer tick.Stop()
	for {
		d, raw, err := fetch[deliveryItem](ctx, c, http.MethodGet, deliveryPath(id), nil)
		if ctx.Err() != nil {
			return last, nil, ctx.Err()
		}
		if err != nil {
			return last, nil, err
		}
		if len(d.Attempts) > 0 || webhook.State(d.State).Final() {
			return d, raw, nil
		}
		last = d
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
	}
}

// tellTest says in words how the test ended, and what to do if it failed.
func (c *cli) tellTest(d deliveryItem, quiet bool) error {
	if len(d.Attempts) == 0 {
		return fmt.Errorf("the test ended %s without an attempt: ledgerhook deliveries show %s", d.State, d.ID)
	}
	a := d.Attempts[len(d.Attempts)-1]
	if a.Outcome != string(webhook.OutcomeDelivered) {
		return fmt.Errorf("the endpoint failed the test after %.0f ms: %s; the whole exchange: ledgerhook deliveries show %s",
			a.DurationMS, a.result().text, d.ID)
	}
	if quiet {
		return nil
	}
	mark := "✓"
	if c.coloured(c.out) {
		mark = green.paint(mark)
	}
	_, err := fmt.Fprintf(c.out, "%s the endpoint answered %d after %.0f ms\n", mark, a.StatusCode, a.DurationMS)
	return err
}
