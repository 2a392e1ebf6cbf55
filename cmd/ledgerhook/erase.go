package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

const erasuresPath = "/internal/v1/erasures"

// eraseFor is how long erase start goes on while deliveries are being sent:
// longer than an attempt takes.
const eraseFor = 3 * time.Minute

// eraseRequest says whose content is erased.
type eraseRequest struct {
	Partner   string `json:"partnerCode"`
	Email     string `json:"email,omitempty"`
	CardID    string `json:"cardId,omitempty"`
	AccountID string `json:"accountId,omitempty"`
	OrderID   string `json:"orderId,omitempty"`
	Reason    string `json:"reason,omitempty"`
	DryRun    bool   `json:"dryRun,omitempty"`
}

// eraseCounts is what was erased, or would be.
type eraseCounts struct {
	Events     int  `json:"events"`
	Attempts   int  `json:"attempts"`
	Deliveries int  `json:"cancelledDeliveries"`
	Orders     int  `json:"orders"`
	Quotes     int  `json:"quotes"`
	Letters    int  `json:"letters"`
	Users      int  `json:"users"`
	Sessions   int  `json:"sessions"`
	Unfinished int  `json:"unfinishedOrders"`
	Sending    int  `json:"beingSent"`
	Done       bool `json:"done"`
}

func (e *eraseCounts) add(more eraseCounts) {
	e.Events += more.Events
	e.Attempts += more.Attempts
	e.Deliveries += more.Deliveries
	e.Orders += more.Orders
	e.Quotes += more.Quotes
	e.Letters += more.Letters
	e.Users += more.Users
	e.Sessions += more.Sessions
	e.Unfinished, e.Sending, e.Done = more.Unfinished, more.Sending, more.Done
}

func (c *cli) erase() *cobra.Command {
	return group("erase", "Erase what is held of one person, card, account or order", c.erasePreview(), c.eraseStart())
}

func (q *eraseRequest) register(cmd *cobra.Command) {
	cmd.Flags().StringVar(&q.Email, "email", "", "the person with this e-mail address")
	cmd.Flags().StringVar(&q.CardID, "card", "", "the card with this id")
	cmd.Flags().StringVar(&q.AccountID, "account", "", "the account with this id")
	cmd.Flags().StringVar(&q.OrderID, "order", "", "the order with this id, the gateway's or the partner's")
	cmd.MarkFlagsOneRequired("email", "card", "account", "order")
	cmd.MarkFlagsMutuallyExclusive("email", "card", "account", "order")
}

func (c *cli) erasePreview() *cobra.Command {
	q := eraseRequest{DryRun: true}
	cmd := &cobra.Command{
		Use: "preview CODE", Short: "Count what would be erased, and change nothing", Args: cobra.ExactArgs(1),
		Example: `  ledgerhook erase preview acme --email an@example.com`,
		RunE: func(cmd *cobra.Command, args []string) error {
			q.Partner = args[0]
			counts, raw, err := fetch[eraseCounts](cmd.Context(), c, http.MethodPost, erasuresPath, q)
			if err != nil {
				return err
			}
			if c.json {
				return c.raw(raw)
			}
			if err := c.showErased(counts); err != nil {
				return err
			}
			if counts.Unfinished > 0 {
				c.say("orders that have not ended yet: %d; nothing can be erased before that", counts.Unfinished)
				return nil
			}
			c.say("erase it for good: ledgerhook erase start with the same flags and --reason")
			return nil
		},
	}
	q.register(cmd)
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) eraseStart() *cobra.Command {
	var q eraseRequest
	cmd := &cobra.Command{
		Use: "start CODE --reason TEXT", Short: "Erase for good", Args: cobra.ExactArgs(1),
		Long: `Erases the data of events, the headers and bodies of attempts, letters, and what
orders say of the customer. Ids, statuses, amounts, times, hashes and counts
stay, and so does the audit log. Deliveries that still wait are cancelled. What
was interrupted is finished by the same command again.`,
		Example: `  ledgerhook erase start acme --email an@example.com --reason 'request 4711'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(q.Reason) == "" {
				return usage("--reason must say why, for the audit log")
			}
			q.Partner = args[0]
			erased, err := c.eraseAll(cmd, q)
			if err != nil {
				return err
			}
			if !c.json {
				return c.showErased(erased)
			}
			raw, err := json.Marshal(erased)
			if err != nil {
				return err
			}
			return c.raw(raw)
		},
	}
	q.register(cmd)
	cmd.Flags().StringVar(&q.Reason, "reason", "", "why, for the audit log; not the e-mail address")
	c.jsonFlag(cmd)
	return cmd
}

// eraseAll asks until everything is erased.
func (c *cli) eraseAll(cmd *cobra.Command, q eraseRequest) (erased eraseCounts, err error) {
	for began := time.Now(); ; {
		step, _, err := fetch[eraseCounts](cmd.Context(), c, http.MethodPost, erasuresPath, q)
		if err != nil {
			return erased, err
		}
		erased.add(step)
		if erased.Done {
			c.say("erased")
			return erased, nil
		}
		if time.Since(began) > eraseFor {
			return erased, &exitError{exitTimedOut, errors.New("not all is erased yet: run the same command again")}
		}
		c.say("not all is erased yet, deliveries being sent: %d; going on", erased.Sending)
		select {
		case <-time.After(time.Second):
		case <-cmd.Context().Done():
			return erased, cmd.Context().Err()
		}
	}
}

// showErased prints the counts.
func (c *cli) showErased(e eraseCounts) error {
	t := c.table("WHAT", "COUNT")
	for _, row := range []struct {
		what string
		n    int
	}{
		{"data of events", e.Events}, {"contents of attempts", e.Attempts}, {"deliveries cancelled", e.Deliveries}, {"orders", e.Orders},
		{"quotes", e.Quotes}, {"letters", e.Letters}, {"users", e.Users}, {"sessions of users", e.Sessions},
	} {
		t.row(row.what, strconv.Itoa(row.n))
	}
	return t.flush()
}
