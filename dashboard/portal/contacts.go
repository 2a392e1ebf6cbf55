package portal

import (
	"net/http"

	"ledgerhook/dashboard/deliveries"
	"ledgerhook/dashboard/shell"
	"ledgerhook/incidents"
	"ledgerhook/webhook"
)

// contactsView are the people who are told when an endpoint is in trouble, with the form
// that adds somebody.
type contactsView struct {
	Contacts shell.Reading[[]incidents.Contact]
	Email    string // as it was typed
	Options  []shell.Option
	Problem  string
}

// languageNames are the languages that letters are written in, each in itself.
var languageNames = map[string]string{"en": "English", "vi": "Tiếng Việt", "zh": "中文"}

// Language is the name of a language that letters are written in.
func (v contactsView) Language(lang string) string { return languageNames[lang] }

// Full reports whether the endpoint has all contacts that it may.
func (v contactsView) Full() bool { return len(v.Contacts.Value) >= incidents.MaxContacts }

// readLanguages offers the languages of letters, one of them chosen.
func (v *contactsView) readLanguages(chosen string) {
	for _, lang := range incidents.Languages {
		v.Options = append(v.Options, shell.Option{Value: lang, Label: languageNames[lang], Chosen: lang == chosen})
	}
}

// addContact has somebody told of an endpoint's incidents.
func (s pages) addContact(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.changeContact(w, r, q, "contact-added", func(endpointID, email string) error {
		return s.Incidents.AddContact(r.Context(), q.Scope(), endpointID, email, r.PostForm.Get("lang"), q.Audit("endpoint.contact.add"))
	})
}

// removeContact tells somebody no more.
func (s pages) removeContact(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	return s.changeContact(w, r, q, "contact-removed", func(endpointID, email string) error {
		return s.Incidents.RemoveContact(r.Context(), q.Scope(), endpointID, email, q.Audit("endpoint.contact.remove"))
	})
}

// changeContact leads back to the endpoint's page, or shows it with what is
// wrong.
func (s pages) changeContact(w http.ResponseWriter, r *http.Request, q *shell.Request, done string, do func(endpointID, email string) error) error {
	e, err := s.endpointAt(r.Context(), r, q)
	if err == nil && r.ParseForm() != nil {
		err = webhook.Invalid("form", "cannot be read")
	}
	if err != nil {
		return err
	}
	email := r.PostForm.Get("email")
	if err := do(e.ID, email); err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		v := contactsView{Email: email, Problem: problem}
		v.readLanguages(r.PostForm.Get("lang"))
		return s.showEndpoint(w, r, q, status, endpointView{Told: v})
	}
	http.Redirect(w, r, deliveries.EndpointPath(e.ID)+"?done="+done, http.StatusSeeOther)
	return nil
}
