package main

import (
	"fmt"
	"strconv"

	"github.com/spf13/cobra"

	"ledgerhook/app"
)

func (c *cli) migrate() *cobra.Command {
	var file string
	var status bool
	cmd := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database up to this version",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			cfg, err := load(file)
			if err != nil {
				return err
			}
			if !status {
				line, err := app.Migrate(cmd.Context(), cfg, c.logger(cfg))
				if err != nil {
					return err
				}
				c.say("%s", line)
				return nil
			}
			migrations, err := app.MigrateStatus(cmd.Context(), cfg)
			if err != nil {
				return err
			}
			newer := 0
			t := c.table("VERSION", "NAME", "APPLIED")
			for _, m := range migrations {
				applied := cell{clock(m.AppliedAt), green}
				if m.AppliedAt.IsZero() {
					applied = cell{"not yet", yellow}
				}
				if m.Name == "" {
					newer++
					m.Name = "not known to this program"
				}
				t.row(strconv.FormatInt(m.Version, 10), m.Name, applied)
			}
			if err := t.flush(); err != nil || newer == 0 {
				return err
			}
			return fmt.Errorf("the database is %d steps ahead of this program: run the newer ledgerhook that migrated it", newer)
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&status, "status", false, "list the migrations and change nothing")
	return cmd
}
