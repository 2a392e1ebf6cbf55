package stage

import (
	"context"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
)

// Row is what came of a row of a table.
type Row struct {
	Cells string // separated by tabs
	Count any    // for stderr
	Sound bool   // whether every promise was kept
}

// Rows plays each row whose name contains only in a trial of its own, and
// prints the table of them under head. Its error names those that were not
// sound, or says that there were none, as "no ROW's name".
func Rows[R any](ctx context.Context, head, row, only string, rows []R, name func(R) string, play func(*Trial, R) Row) error {
	var broken []string
	ran := 0
	table := tabwriter.NewWriter(os.Stdout, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, head)
	for _, r := range rows {
		if !strings.Contains(name(r), only) {
			continue
		}
		ran++
		t := NewTrial(ctx, name(r))
		var came Row
		ok := t.Run(func() { came = play(t, r) })
		t.End()
		if ctx.Err() != nil {
			break // which is no fault of this one's
		}
		verdict := ""
		if !ok || t.Failed() || !came.Sound {
			broken = append(broken, name(r))
			verdict = "BROKEN"
		}
		fmt.Fprintf(table, "%s\t%s\t%s\n", name(r), came.Cells, verdict)
		fmt.Fprintf(os.Stderr, "%s: %+v %s\n", name(r), came.Count, verdict)
	}
	if err := table.Flush(); err != nil {
		return err
	}
	switch {
	case ran == 0:
		return fmt.Errorf("no %s's name contains %q", row, only)
	case len(broken) > 0:
		return fmt.Errorf("broken promises: %s", strings.Join(broken, ", "))
	}
	return nil
}
