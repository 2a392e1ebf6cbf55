package dashboard

import (
	"context"
	"net/http"

	"ledgerhook/partners"
)

// mailboxView is the development mailbox: codes that were not sent because
// there is no mail server.
type mailboxView struct {
	Letters fact[letters]
	Pager   pager
}

type letters struct {
	found []partners.OpenLetter
	next  string
}

// Found are the letters, newest first.
func (l letters) Found() []partners.OpenLetter { return l.found }

// Empty reports whether the list was read and holds nothing.
func (v mailboxView) Empty() bool { return v.Letters.Fresh && len(v.Letters.Value.found) == 0 }

const mailboxPageSize = 50

// mailboxPage shows codes, which sign end-users in: only who may act sees it.
func (s *surface) mailboxPage(w http.ResponseWriter, r *http.Request, q *request) error {
	cursor := r.URL.Query().Get("cursor")
	list := recall(r.Context(), s.memory, "mailbox/"+cursor, func(ctx context.Context) (l letters, err error) {
		l.found, l.next, err = s.mailbox.List(ctx, cursor, mailboxPageSize)
		return l, err
	})
	return q.render(w, r, "mailbox", mailboxView{Letters: list, Pager: pagerOf(r.URL, list.Value.next)})
}
