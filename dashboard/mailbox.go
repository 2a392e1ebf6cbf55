package dashboard

import "net/http"

func (s *surface) mailboxPage(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "mailbox", nil)
}
