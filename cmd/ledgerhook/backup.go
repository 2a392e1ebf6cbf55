package main

import (
	"github.com/spf13/cobra"

	"ledgerhook/app"
)

func (c *cli) backup() *cobra.Command {
	var file string
	var force bool
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Copy the embedded ledger to a file, also while a server runs",
		Long: `Copies the embedded ledger, as it is at one moment, to FILE. A server may run and
goes on. FILE is there whole or not at all, and readable by its owner alone.

It has everything but the master key, without which its secrets cannot be read:
keep a copy of the file master-key, or of LEDGERHOOK_MASTER_KEY, somewhere else.

A ledger in PostgreSQL is backed up with PostgreSQL's own tools, see
docs/operations.md.`,
		Example: `  ledgerhook backup /var/backups/ledgerhook-$(date +%F).db`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := load(file)
			if err != nil {
				return err
			}
			line, err := app.Backup(cmd.Context(), cfg, args[0], force)
			if err != nil {
				return err
			}
			c.say("%s", line)
			return nil
		},
	}
	configFlag(cmd, &file)
	cmd.Flags().BoolVar(&force, "force", false, "replace FILE if it exists")
	return cmd
}

func (c *cli) restore() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use:   "restore FILE",
		Short: "Make a backup the embedded ledger of a stopped server",
		Long: `Makes FILE, which "ledgerhook backup" wrote, the ledger of the data directory. The
server must be stopped, and its master key at hand: as the file master-key in the
data directory or in LEDGERHOOK_MASTER_KEY.

Before anything is replaced, FILE is read through, and its schema and its master
key are checked. The ledger that was there is kept in the data directory under
another name.`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := load(file)
			if err != nil {
				return err
			}
			lines, err := app.Restore(cmd.Context(), cfg, args[0])
			for _, line := range lines {
				c.say("%s", line)
			}
			return err
		},
	}
	configFlag(cmd, &file)
	return cmd
}
