package main

import (
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

type tokenItem struct {
	ID         string    `json:"tokenId"`
	Name       string    `json:"name"`
	Prefix     string    `json:"prefix"`
	Token      string    `json:"token"` // only in the answer that creates it
	Scopes     []string  `json:"scopes"`
	State      string    `json:"state"`
	ExpiresAt  time.Time `json:"expiresAt"`
	LastUsedAt time.Time `json:"lastUsedAt"`
	RevokedAt  time.Time `json:"revokedAt"`
}

func (c *cli) tokens() *cobra.Command {
	return group("token", "Create and revoke tokens of the internal API", c.tokenCreate(), c.tokenList(), c.tokenRevoke())
}

func (c *cli) tokenCreate() *cobra.Command {
	var scopes []string
	var days int
	cmd := &cobra.Command{
		Use: "create NAME --scopes S[,S…]", Short: "Create a token and print it, once",
		Long: `Creates a token of the internal API for one system or person. The scopes are
ingest (events and what became of orders), read (see everything that is no
secret) and administer (everything else); none includes another. The audit log
names the token as token:NAME, and a name is given once.`,
		Example: "  ledgerhook token create card-system --scopes ingest --days 365",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if days < 1 || days > 365 {
				return usage("--days must be 1 to 365")
			}
			body := struct {
				Name      string    `json:"name"`
				Scopes    []string  `json:"scopes"`
				ExpiresAt time.Time `json:"expiresAt"`
			}{args[0], scopes, time.Now().AddDate(0, 0, days).UTC().Truncate(time.Second)}
			made, raw, err := fetch[tokenItem](cmd.Context(), c, http.MethodPost, "/internal/v1/tokens", body)
			if err != nil {
				return err
			}
			c.say("keep the token now, it is not shown again")
			return c.answer(raw, func(t *table) {
				t.field("token id", made.ID)
				t.field("token", made.Token)
				t.field("scopes", strings.Join(made.Scopes, ","))
				t.field("expires", clock(made.ExpiresAt))
			})
		},
	}
	cmd.Flags().StringSliceVar(&scopes, "scopes", nil, "what it may do: ingest, read, administer")
	cmd.Flags().IntVar(&days, "days", 90, "after how many days it ends, at most 365")
	c.jsonFlag(cmd)
	_ = cmd.MarkFlagRequired("scopes")
	return cmd
}

func (c *cli) tokenList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list", Short: "List the tokens, without their values", Args: cobra.NoArgs},
		func([]string) string { return "/internal/v1/tokens" },
		[]string{"TOKEN", "NAME", "BEGINS", "SCOPES", "STATE", "EXPIRES", "LAST USED"},
		func(t *table, k tokenItem) {
			t.row(k.ID, k.Name, k.Prefix, strings.Join(k.Scopes, ","), stateColour(k.State), clock(k.ExpiresAt), clock(k.LastUsedAt))
		})
}

func (c *cli) tokenRevoke() *cobra.Command {
	return &cobra.Command{
		Use: "revoke ID", Short: "End a token; every process refuses it within 5 s", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tell(cmd.Context(), http.MethodPost, "/internal/v1/tokens/"+url.PathEscape(args[0])+"/revoke", nil,
				"token %s is revoked", args[0])
		},
	}
}
