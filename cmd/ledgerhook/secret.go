package main

import (
	"net/http"
	"net/url"
	"time"

	"github.com/spf13/cobra"
)

type secretItem struct {
	ID          string    `json:"secretId"`
	State       string    `json:"state"`
	Key         string    `json:"webhookSecretKey"` // only in the answer that creates it
	CreatedAt   time.Time `json:"createdAt"`
	ActivatedAt time.Time `json:"activatedAt"`
	RetiresAt   time.Time `json:"retiresAt"`
	RevokedAt   time.Time `json:"revokedAt"`
}

func (c *cli) secret() *cobra.Command {
	return group("secret", "Create and change a partner's webhook secrets",
		c.secretCreate(), c.secretList(),
		c.secretSwitch("activate", "Sign with a pending secret; the previous one signs for 24 h more", "signs from now on; the previous secret signs for 24 h more"),
		c.secretSwitch("revoke", "End a secret at once", "is revoked"))
}

func (c *cli) secretCreate() *cobra.Command {
	cmd := &cobra.Command{
		Use: "create CODE", Short: "Create a pending secret and print it, once", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			s, raw, err := fetch[secretItem](cmd.Context(), c, http.MethodPost, partnerPath(args[0])+"/secrets", struct{}{})
			if err != nil {
				return err
			}
			c.say("keep the secret now, it is not shown again; when the partner has it: ledgerhook secret activate %s %s", args[0], s.ID)
			return c.answer(raw, func(t *table) {
				t.field("secret id", s.ID)
				t.field("webhook secret", s.Key)
				t.field("state", stateColour(s.State))
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) secretList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list CODE", Short: "List a partner's secrets, without their values", Args: cobra.ExactArgs(1)},
		func(args []string) string { return partnerPath(args[0]) + "/secrets" },
		[]string{"SECRET", "STATE", "CREATED", "ACTIVATED", "RETIRES", "REVOKED"},
		func(t *table, s secretItem) {
			t.row(s.ID, stateColour(s.State), clock(s.CreatedAt), clock(s.ActivatedAt), clock(s.RetiresAt), clock(s.RevokedAt))
		})
}

func (c *cli) secretSwitch(verb, short, done string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " CODE ID", Short: short, Args: cobra.ExactArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tell(cmd.Context(), http.MethodPost, partnerPath(args[0])+"/secrets/"+url.PathEscape(args[1])+"/"+verb, nil,
				"secret %s %s", args[1], done)
		},
	}
}
