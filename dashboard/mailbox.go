package dashboard

import (
	"context"
	"net/http"

	"ledgerhook/partners"
)

// mailboxView is the development mailbox: codes that were not sent because
// there is no mail server.
type mailboxView struct {
	Letters fact[listed[partners.OpenLetter]]
	Pager   pager
}

const mailboxPageSize = 50

// mailboxPage shows codes, which sign end-users in: only who may act sees it.
func (s *surface) mailboxPage(w http.ResponseWriter, r *http.Request, q *request) error {
	cursor := r.URL.Query().Get("cursor")
	list := recallList(r.Context(), s.memory, "mailbox/"+cursor, func(ctx context.Context) ([]partners.OpenLetter, string, error) {
		return s.mailbox.List(ctx, cursor, mailboxPageSize)
	})
	return q.render(w, r, "mailbox", mailboxView{Letters: list, Pager: pagerOf(r.URL, list.Value.next)})
}
