package dashboard

import (
	"net/http"
	"time"

	"ledgerhook/partners"
)

// mailboxView is the development mailbox: codes that were not sent because
// there is no mail server.
type mailboxView struct {
	Letters []partners.OpenLetter
	Pager   pager
	AsOf    time.Time
}

const mailboxPageSize = 50

// mailboxPage shows codes, which sign end-users in: only who may act sees it,
// and only if that can be noted. It does not refresh itself, or each time
// would be noted.
func (s *surface) mailboxPage(w http.ResponseWriter, r *http.Request, q *request) error {
	found, next, err := s.Mailbox.List(r.Context(), r.URL.Query().Get("cursor"), mailboxPageSize)
	if err != nil {
		return err
	}
	by := q.audit("mailbox.read")
	by.Target = "mailbox"
	if err := s.record(r.Context(), by); err != nil {
		return err
	}
	return q.render(w, r, "mailbox", mailboxView{Letters: found, Pager: pagerOf(r.URL, next), AsOf: q.Now})
}
