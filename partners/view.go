package partners

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"ledgerhook/webhook"
)

// The bounds of saved views.
const (
	MaxViewName  = 60   // characters
	MaxViewQuery = 2000 // bytes
	MaxViews     = 30   // that one person has of one list
)

// SavedView is a filter of a list that a person has given a name.
type SavedView struct {
	List      string // the path of the list, such as /ops/deliveries
	Name      string // 1 to MaxViewName characters
	Query     string // of the list's address, at most MaxViewQuery bytes
	CreatedAt time.Time
}

// CheckViewName checks the name of a view, which must not begin or end with a
// blank, nor hold what nobody sees. The error is Invalid and names the field.
func CheckViewName(name string) error {
	if n := utf8.RuneCountInString(name); n < 1 || n > MaxViewName || strings.TrimSpace(name) != name {
		return webhook.Invalid("name", fmt.Sprintf("must be 1 to %d characters", MaxViewName))
	}
	if !printable(name) {
		return webhook.Invalid("name", "must hold printable characters alone")
	}
	return nil
}

// Check returns an Invalid error that names the first wrong field.
func (v SavedView) Check() error {
	if len(v.Query) > MaxViewQuery {
		return webhook.Invalid("query", fmt.Sprintf("must be at most %d bytes", MaxViewQuery))
	}
	return CheckViewName(v.Name)
}
