// Package dashboard serves the pages that people look at: the operators' at
// /ops, the partners' at /portal.
//
// It puts the two surfaces together. Each page is a function that reads the
// ledger, fills a small view struct and renders one template; it is in the
// package of those who see it:
//
//	ops         the operators' own pages
//	portal      the partners' own pages
//	proof       the pack that proves what was sent
//	deliveries  the pages about deliveries and replays, which both have
//	shell       the frame of every page: its reader, templates, memory, live updates, people
//	oidc        the provider that operators sign in at
//	chart       drawings
//	locale      texts and figures in the reader's language
package dashboard

import (
	"net/http"

	"ledgerhook/dashboard/ops"
	"ledgerhook/dashboard/portal"
	"ledgerhook/dashboard/shell"
)

// Options are what the pages stand on.
type Options = shell.Options

// Setting is one value of the effective configuration as it is shown.
type Setting = shell.Setting

// SignIn is the provider that operators sign in at.
type SignIn = shell.SignIn

// CallbackPath is where the provider sends operators back to.
const CallbackPath = shell.CallbackPath

// Dashboard holds both surfaces. It is safe for concurrent use.
type Dashboard struct {
	*shell.Shell
}

// New prepares every asset; an error means that one of them is wrong or an
// option is missing.
func New(o Options) (*Dashboard, error) {
	s, err := shell.New(o)
	if err != nil {
		return nil, err
	}
	return &Dashboard{s}, nil
}

// Ops serves /ops and what lies below it. It belongs on the internal listener
// alone.
func (d *Dashboard) Ops() http.Handler { return ops.New(d.Shell).Handler() }

// Portal serves /portal and what lies below it.
func (d *Dashboard) Portal() http.Handler { return portal.New(d.Shell).Handler() }

// Patterns lists every route of both surfaces as a pattern of http.ServeMux,
// for tests that hold something of each.
func Patterns() []string {
	none := &shell.Shell{}
	return append(ops.New(none).Patterns(), portal.New(none).Patterns()...)
}
