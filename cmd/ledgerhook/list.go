package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/spf13/cobra"
)

// page is the shape of every list of the internal API.
type page[T any] struct {
	Items      []T    `json:"items"`
	NextCursor string `json:"nextCursor"`
}

// listFlags are the flags of every list, beside --json.
type listFlags struct {
	limit  int
	cursor string
}

func (f *listFlags) register(c *cli, cmd *cobra.Command) {
	c.jsonFlag(cmd)
	cmd.Flags().IntVar(&f.limit, "limit", 50, "how many to show, at most 500")
	cmd.Flags().StringVar(&f.cursor, "cursor", "", "continue where an earlier list ended")
}

func (c *cli) jsonFlag(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&c.json, "json", false, "print the server's JSON unchanged")
}

// listOf makes cmd print one page of what the path for its arguments holds, as
// list does.
func listOf[T any](c *cli, cmd *cobra.Command, path func(args []string) string, header []string, row func(*table, T)) *cobra.Command {
	var f listFlags
	f.register(c, cmd)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		return list(cmd.Context(), c, path(args), url.Values{}, f, header, row)
	}
	return cmd
}

// list prints one page of what path holds, a table row per item.
func list[T any](ctx context.Context, c *cli, path string, query url.Values, f listFlags, header []string, row func(*table, T)) error {
	if f.limit < 1 || f.limit > 500 {
		return usage("--limit must be 1 to 500")
	}
	query.Set("limit", strconv.Itoa(f.limit))
	if f.cursor != "" {
		query.Set("cursor", f.cursor)
	}
	got, raw, err := fetch[page[T]](ctx, c, http.MethodGet, path+"?"+query.Encode(), nil)
	if err != nil {
		return err
	}
	if c.json {
		return c.raw(raw)
	}
	if len(got.Items) == 0 {
		c.say("none found")
		return nil
	}
	t := c.table(header...)
	for _, item := range got.Items {
		row(t, item)
	}
	if err := t.flush(); err != nil {
		return fmt.Errorf("print the list: %w", err)
	}
	if got.NextCursor != "" {
		c.say("there are more: --cursor %s", got.NextCursor)
	}
	return nil
}
