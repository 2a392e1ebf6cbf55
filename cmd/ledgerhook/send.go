package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/spf13/cobra"
)

type acceptedEvent struct {
	EventID     string   `json:"eventId"`
	DeliveryIDs []string `json:"deliveryIds"`
	Duplicate   bool     `json:"duplicate"`
}

func (c *cli) send() *cobra.Command {
	var kind, file, key string
	cmd := &cobra.Command{
		Use:   "send CODE --type T --data FILE|-",
		Short: "Send one event to a partner",
		Example: `  ledgerhook send acme --type TopupCard --data topup.json
  echo '{"id":"tp_1",…}' | ledgerhook send acme --type TopupCard --data -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			data, err := c.readFile(cmd.Context(), file)
			if err != nil {
				return fmt.Errorf("read --data: %w", err)
			}
			name := file
			if file == "-" {
				name = "standard input"
			}
			if len(bytes.TrimSpace(data)) == 0 {
				return fmt.Errorf("%s is empty: want a JSON object", name)
			}
			if !json.Valid(data) {
				return fmt.Errorf("%s is not JSON", name)
			}
			body := struct {
				Code string          `json:"partnerCode"`
				Type string          `json:"webhookType"`
				Data json.RawMessage `json:"data"`
				Key  string          `json:"idempotencyKey,omitempty"`
			}{args[0], kind, data, key}
			got, raw, err := fetch[acceptedEvent](cmd.Context(), c, http.MethodPost, "/internal/v1/events", body)
			if err != nil {
				return err
			}
			if got.Duplicate {
				c.say("already known: nothing is sent again")
			} else {
				c.say("accepted: it is stored and will be delivered")
			}
			return c.answer(raw, func(t *table) {
				t.field("event", got.EventID)
				for _, id := range got.DeliveryIDs {
					t.field("delivery", id)
				}
			})
		},
	}
	cmd.Flags().StringVar(&kind, "type", "", "the webhookType")
	cmd.Flags().StringVar(&file, "data", "", "a file that holds the event's data as JSON, - for standard input")
	cmd.Flags().StringVar(&key, "key", "", "an idempotency key; default: made from the event's fields")
	c.jsonFlag(cmd)
	_ = cmd.MarkFlagRequired("type")
	_ = cmd.MarkFlagRequired("data")
	_ = cmd.RegisterFlagCompletionFunc("type", cobra.FixedCompletions(eventTypes(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// readFile reads a file, or standard input where its name is "-", without the
// byte order mark that some editors put before it. It does not
// wait for one that never ends once ctx has.
func (c *cli) readFile(ctx context.Context, name string) ([]byte, error) {
	var content []byte
	read := make(chan error, 1)
	go func() {
		var err error
		if name == "-" {
			content, err = io.ReadAll(c.in)
		} else {
			content, err = os.ReadFile(name)
		}
		read <- err
	}()
	select {
	case err := <-read:
		return bytes.TrimPrefix(content, []byte("\uFEFF")), err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
