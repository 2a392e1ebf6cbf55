package ops

import (
	"net/http"

	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
)

// mailboxView is the development mailbox: codes that were not sent because
// there is no mail server.
type mailboxView struct {
	Letters []partners.OpenLetter
	Pager   shell.Pager
}

const mailboxPageSize = 50

// mailboxPage shows codes, which sign end-users in: only operators who may act see it,
// and only if that can be noted. It does not refresh itself, or each time
// would be noted.
func (s pages) mailboxPage(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	found, next, err := s.Mailbox.List(r.Context(), r.URL.Query().Get("cursor"), mailboxPageSize)
	if err != nil {
		return err
	}
	by := q.Audit("mailbox.read")
	by.Target = "mailbox"
	if err := s.Record(r.Context(), by); err != nil {
		return err
	}
	return q.Render(w, r, "mailbox", mailboxView{Letters: found, Pager: shell.PagerOf(r.URL, next)})
}
