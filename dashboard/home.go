package dashboard

import "net/http"

func (s *surface) opsHome(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "home", nil)
}

func (s *surface) portalHome(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "home", nil)
}
