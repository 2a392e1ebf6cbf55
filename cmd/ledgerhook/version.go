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
			t.fact("ledgerhook", version)
			if info, ok := debug.ReadBuildInfo(); ok {
				for _, s := range info.Settings {
					switch s.Key {
					case "vcs.revision":
						t.fact("commit", s.Value)
					case "vcs.time":
						t.fact("of", s.Value)
					}
				}
			}
			t.fact("go", runtime.Version())
			t.fact("platform", runtime.GOOS+"/"+runtime.GOARCH)
			return t.flush()
		},
	}
}
