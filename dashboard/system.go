package dashboard

import "net/http"

func (s *surface) systemPage(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "system", nil)
}
