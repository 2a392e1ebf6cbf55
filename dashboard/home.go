package dashboard

import (
	"context"
	"net/http"
)

func (s *surface) opsHome(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "home", nil)
}

func (s *surface) portalHome(w http.ResponseWriter, r *http.Request, q *request) error {
	return q.render(w, r, "home", nil)
}

// version changes whenever something that a page shows has.
func (s *surface) version(ctx context.Context, partner string) (string, error) { return "", nil }
