package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"ledgerhook/app"
	"ledgerhook/config"
)

func (c *cli) doctor() *cobra.Command {
	var file string
	var health bool
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check settings, stores, keys, clock and egress",
		Long: `Checks what a server needs, with the settings it would have, and says what to do
about what is wrong. Exits 9 when something is.

With --health it asks the server of these settings whether it lives, for the
health check of a container, and exits 0 or 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(file)
			if health {
				if err != nil {
					return err
				}
				return c.health(cmd.Context(), cfg)
			}
			if err == nil {
				err = app.CheckSettings(cfg)
			}
			t := c.table()
			if err != nil {
				t.row(cell{"✗", red}, "settings", errorLine(err))
				_ = t.flush()
				return silent(exitDegraded)
			}
			degraded := false
			t.row(cell{"✓", green}, "settings", "valid")
			for _, check := range app.Diagnose(cmd.Context(), cfg) {
				mark := cell{"✓", green}
				if !check.OK {
					mark, degraded = cell{"✗", red}, true
				}
				t.row(mark, check.Name, check.Detail)
			}
			if err := t.flush(); err != nil {
				return err
			}
			if degraded {
				return silent(exitDegraded)
			}
			return nil
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&health, "health", false, "ask the running server's /healthz, exit 0 or 1")
	return cmd
}

// health asks the internal listener: at LEDGERHOOK_URL if that is set, else
// where the settings put it on this machine.
func (c *cli) health(ctx context.Context, cfg config.Config) error {
	base, client := strings.TrimRight(c.env("LEDGERHOOK_URL"), "/"), &http.Client{}
	if base == "" {
		certificate, err := app.InternalCertificate(cfg)
		if err != nil {
			return err
		}
		base = "http://" + loopback(cfg.InternalListen)
		if certificate != nil {
			base = "https://" + loopback(cfg.InternalListen)
			client.Transport = &http.Transport{TLSClientConfig: certificate.ClientConfig()}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/healthz", nil)
	if err != nil {
		return fmt.Errorf("ask %s: %w", base, err)
	}
	res, err := client.Do(req)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("not healthy: %w", err)}
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("not healthy: %s answered %s", base, res.Status)
	}
	c.say("healthy")
	return nil
}
