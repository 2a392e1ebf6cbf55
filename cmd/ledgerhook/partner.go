package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/spf13/cobra"
)

type partnerItem struct {
	Code      string          `json:"partnerCode"`
	Name      string          `json:"name"`
	State     string          `json:"state"`
	CreatedAt time.Time       `json:"createdAt"`
	Settings  json.RawMessage `json:"settings"`
}

// created is what is told once, when a partner is made.
type createdPartner struct {
	Code          string `json:"partnerCode"`
	SecretKey     string `json:"secretKey"`
	WebhookSecret string `json:"webhookSecretKey"`
	PublicKey     string `json:"publicKey"`
}

func partnerPath(code string) string { return "/internal/v1/partners/" + url.PathEscape(code) }

func (c *cli) partner() *cobra.Command {
	return group("partner", "Create and administer partners",
		c.partnerCreate(), c.partnerList(), c.partnerShow(), c.partnerSwitch("disable", "Stop serving a partner; its deliveries are held"),
		c.partnerSwitch("enable", "Serve a partner again and release its held deliveries"), c.partnerRotateKey())
}

func (c *cli) partnerCreate() *cobra.Command {
	var keyFile, name string
	cmd := &cobra.Command{
		Use:   "create CODE --public-key FILE",
		Short: "Create a partner and print its secrets, once",
		Args:  cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := os.ReadFile(keyFile)
			if err != nil {
				return fmt.Errorf("read --public-key: %w", err)
			}
			body := struct {
				Code      string `json:"partnerCode"`
				Name      string `json:"name"`
				PublicKey string `json:"publicKey"`
			}{args[0], cmp.Or(name, args[0]), string(key)}
			made, raw, err := fetch[createdPartner](cmd.Context(), c, http.MethodPost, "/internal/v1/partners", body)
			if err != nil {
				return err
			}
			c.say("partner %s is created; keep both secrets now, they are not shown again", plain(made.Code))
			if c.json {
				return c.raw(raw)
			}
			t := c.table()
			t.field("partner code", made.Code)
			t.field("secret key", made.SecretKey)
			t.field("webhook secret", made.WebhookSecret)
			if err := t.flush(); err != nil {
				return err
			}
			_, err = fmt.Fprint(c.out, "\n"+made.PublicKey)
			return err
		},
	}
	cmd.Flags().StringVar(&keyFile, "public-key", "", "the partner's public key, a PEM file")
	cmd.Flags().StringVar(&name, "name", "", "a display name; default: CODE")
	c.jsonFlag(cmd)
	_ = cmd.MarkFlagRequired("public-key")
	_ = cmd.MarkFlagFilename("public-key", "pem")
	return cmd
}

func (c *cli) partnerList() *cobra.Command {
	return listOf(c, &cobra.Command{Use: "list", Short: "List the partners", Args: cobra.NoArgs},
		func([]string) string { return "/internal/v1/partners" },
		[]string{"PARTNER", "NAME", "STATE", "CREATED"},
		func(t *table, p partnerItem) { t.row(p.Code, p.Name, stateColour(p.State), clock(p.CreatedAt)) })
}

func (c *cli) partnerShow() *cobra.Command {
	cmd := &cobra.Command{
		Use: "show CODE", Short: "Show a partner and its settings", Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, raw, err := fetch[partnerItem](cmd.Context(), c, http.MethodGet, partnerPath(args[0]), nil)
			if err != nil {
				return err
			}
			return c.answer(raw, func(t *table) {
				t.field("partner code", p.Code)
				t.field("name", p.Name)
				t.field("state", stateColour(p.State))
				t.field("created", clock(p.CreatedAt))
				t.field("settings", string(p.Settings))
			})
		},
	}
	c.jsonFlag(cmd)
	return cmd
}

func (c *cli) partnerSwitch(verb, short string) *cobra.Command {
	return &cobra.Command{
		Use: verb + " CODE", Short: short, Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return c.tell(cmd.Context(), http.MethodPost, partnerPath(args[0])+"/"+verb, nil, "partner %s is %sd", args[0], verb)
		},
	}
}

func (c *cli) partnerRotateKey() *cobra.Command {
	var keyFile string
	cmd := &cobra.Command{
		Use: "rotate-key CODE --public-key FILE", Short: "Replace a partner's public key; the old one verifies for 24 h more",
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			key, err := os.ReadFile(keyFile)
			if err != nil {
				return fmt.Errorf("read --public-key: %w", err)
			}
			body := struct {
				PublicKey string `json:"publicKey"`
			}{string(key)}
			return c.tell(cmd.Context(), http.MethodPost, partnerPath(args[0])+"/rotate-key", body,
				"partner %s has the new key; the old one verifies for 24 h more", args[0])
		},
	}
	cmd.Flags().StringVar(&keyFile, "public-key", "", "the partner's new public key, a PEM file")
	_ = cmd.MarkFlagRequired("public-key")
	_ = cmd.MarkFlagFilename("public-key", "pem")
	return cmd
}
