package main

import (
	"fmt"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

type signingKeyItem struct {
	ID          string    `json:"keyId"`
	State       string    `json:"state"`
	PublicKey   string    `json:"publicKey"`
	CreatedAt   time.Time `json:"createdAt"`
	ActivatesAt time.Time `json:"activatesAt"`
	RetiresAt   time.Time `json:"retiresAt"`
}

func (c *cli) keys() *cobra.Command {
	return group("keys", "Rotate and list the gateway's signing keys", c.keysRotate(), c.keysList())
}

func (c *cli) keysRotate() *cobra.Command {
	var after time.Duration
	cmd := &cobra.Command{
		Use:   "rotate",
		Short: "Make a signing key that follows the present one",
		Long: `Makes an RSA key that is published at once, in /.well-known/jwks.json, and signs
from a while later on. So partners have it before they need it. What was accepted
before is still signed with the former key, which stays published until none of
it is kept any more.`,
		Example: "  ledgerhook keys rotate --activate-after 168h",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if after < 0 || after%time.Second != 0 {
				return usage("--activate-after must be whole seconds, like 0s or 24h")
			}
			body := map[string]int64{"activateAfterSeconds": int64(after / time.Second)}
			made, raw, err := fetch[signingKeyItem](cmd.Context(), c, http.MethodPost, "/internal/v1/keys/rotate", body)
			if err != nil {
				return err
			}
			c.say("the new key is published; partners that do not read /.well-known/jwks.json need it before it signs")
			if c.json {
				return c.raw(raw)
			}
			t := c.table()
			t.field("key id", made.ID)
			t.field("state", stateColour(made.State))
			t.field("signs from", clock(made.ActivatesAt))
			if err := t.flush(); err != nil {
				return err
			}
			_, err = fmt.Fprint(c.out, "\n"+made.PublicKey)
			return err
		},
	}
	cmd.Flags().DurationVar(&after, "activate-after", 24*time.Hour, "how long the key is published before it signs, 720h at most")
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) keysList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list", Short: "List the gateway's signing keys", Args: cobra.NoArgs},
		func([]string) string { return "/internal/v1/keys" },
		[]string{"KEY", "STATE", "CREATED", "SIGNS FROM", "PUBLISHED UNTIL"},
		func(t *table, k signingKeyItem) {
			t.row(k.ID, stateColour(k.State), clock(k.CreatedAt), clock(k.ActivatesAt), clock(k.RetiresAt))
		})
}
