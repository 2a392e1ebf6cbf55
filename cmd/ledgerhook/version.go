package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version is the release, set by the build: -ldflags "-X main.version=1.2.3".
var version = "dev"

func (c *cli) version() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version and the build's origin", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			t := c.table()
			t.field("ledgerhook", version)
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						t.field("commit", s.Value)
					case "vcs.time":
						t.field("of", s.Value)
					}
				}
			}
			t.field("go", runtime.Version())
			t.field("platform", runtime.GOOS+"/"+runtime.GOARCH)
			return t.flush()
		},
	}
}
