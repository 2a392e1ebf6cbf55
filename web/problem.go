package web

import (
	"net/http"
	"strings"

	"ledgerhook/webhook"
)

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type      string         `json:"type"` // "about:blank": Title says it
	Title     string         `json:"title"`
	Status    int            `json:"status"`
	Detail    string         `json:"detail,omitempty"`
	Errors    []ProblemField `json:"errors,omitempty"`
	RequestID string         `json:"requestId,omitempty"` // where the fault is ours: what to ask about
}

// ProblemField says what is wrong with one field: a JSON pointer into the
// body or the name of a query parameter.
type ProblemField struct {
	Pointer   string `json:"pointer,omitempty"`
	Parameter string `json:"parameter,omitempty"`
	Detail    string `json:"detail"`
}

// NewProblem describes e. An internal error is described by its status alone.
func NewProblem(status int, e *webhook.Error) Problem {
	p := Problem{Type: "about:blank", Title: http.StatusText(status), Status: status}
	if e.Kind == webhook.KindInternal {
		return p
	}
	shown := *e
	shown.Err = nil
	p.Detail = shown.Error()
	for _, f := range e.Fields {
		if strings.HasPrefix(f.Field, "/") {
			p.Errors = append(p.Errors, ProblemField{Pointer: f.Field, Detail: f.Detail})
		} else {
			p.Errors = append(p.Errors, ProblemField{Parameter: f.Field, Detail: f.Detail})
		}
	}
	return p
}

// WriteProblem answers with a problem document. It is the renderer of a
// Surface that has none of its own.
func WriteProblem(w http.ResponseWriter, r *http.Request, status int, e *webhook.Error) {
	p := NewProblem(status, e)
	if status >= http.StatusInternalServerError {
		p.RequestID = RequestID(r.Context())
	}
	w.Header().Set("Content-Type", "application/problem+json")
	// Strings and numbers always encode; a client that is gone hears nothing.
	_ = WriteJSON(w, status, p)
}
