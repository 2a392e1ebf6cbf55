package shell

import (
	"context"
	"net/http"
	"strings"

	"ledgerhook/dashboard/locale"
	"ledgerhook/webhook"
)

// errorView is a page that could not be shown, in plain words.
type errorView struct {
	Status int
	Title  string
	Detail string // what the error says itself, in English
	Advice string
	Fields []webhook.FieldError
	Retry  string // where to try again; empty: that would not help
}

// failures says of each status what has happened and what helps.
var failures = map[int][2]string{
	http.StatusBadRequest:            {locale.Text("This request cannot be carried out"), locale.Text("Go back, change what is named below and send it again.")},
	http.StatusUnauthorized:          {locale.Text("Your session has ended"), locale.Text("Sign in and try again.")},
	http.StatusForbidden:             {locale.Text("You may not do this"), locale.Text("Nothing was changed.")},
	http.StatusNotFound:              {locale.Text("There is no such page"), locale.Text("The link may be old, or its target is past its retention.")},
	http.StatusMethodNotAllowed:      {locale.Text("This address does not accept that kind of request"), locale.Text("Go back and use the button or the form on the page.")},
	http.StatusConflict:              {locale.Text("It has changed in the meantime"), locale.Text("Nothing was changed. Look at the current state and decide again.")},
	http.StatusRequestEntityTooLarge: {locale.Text("Too much was sent at once"), locale.Text("Send less and try again.")},
	http.StatusTooManyRequests:       {locale.Text("Too many tries"), locale.Text("Wait a little and try again.")},
	http.StatusServiceUnavailable:    {locale.Text("This is not known just now"), locale.Text("A store does not answer. Notifications are not lost; this page comes back by itself.")},
	http.StatusInternalServerError:   {locale.Text("Something is broken on our side"), locale.Text("It has been noted. Tell us the request's id if it goes on.")},
}

// renderError is web.Surface.Render: every error of the surface, as a page.
func (s *Surface) renderError(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error) {
	q := requestOf(r.Context())
	if q == nil {
		q = s.newRequest(r)
	}
	if !q.asked && !q.short { // not even a route was found
		_, ok := s.spare(r.Context(), q)
		q.short = !ok
	}
	secureHeaders(w.Header())
	if q.short {
		s.refuse(w, r, q, status)
		return
	}
	if !q.asked { // no page was asked for, so nobody looked
		ctx, cancel := context.WithTimeout(r.Context(), readLimit/4)
		defer cancel()
		_ = s.identify(ctx, r, q, mayAnyone)
	}
	known, ok := failures[status]
	if !ok {
		known = failures[http.StatusInternalServerError]
	}
	v := errorView{Status: status, Title: q.T(known[0]), Advice: q.T(known[1]), Detail: q.Say(e.Message)}
	for _, f := range e.Fields {
		v.Fields = append(v.Fields, webhook.FieldError{Field: f.Field, Detail: q.Say(f.Detail)})
	}
	if status == http.StatusNotFound && !strings.Contains(r.Pattern, " ") || status == http.StatusMethodNotAllowed {
		v.Detail = "" // nothing was matched: the title says it all
	}
	if status >= http.StatusInternalServerError && r.Method == http.MethodGet {
		v.Retry = r.URL.RequestURI()
	}
	if err := q.RenderStatus(w, r, status, "error", v); err != nil {
		s.Log.ErrorContext(r.Context(), "the error page failed", "error", err)
		http.Error(w, known[0], status)
	}
}
