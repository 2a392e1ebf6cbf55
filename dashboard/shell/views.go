package shell

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// viewRoutes are the pages of the views that people save: filters of lists under
// a name, which nobody else sees.
func (s *Surface) viewRoutes() []Route {
	return []Route{
		Read("GET "+s.Base+"/views", s.viewsPage),
		Read("POST "+s.Base+"/views/save", Form(s.saveView)),
		Read("POST "+s.Base+"/views/rename", Form(s.renameView)),
		Read("POST "+s.Base+"/views/remove", Form(s.removeView)),
	}
}

// Views are what a list shows of its saved views.
type Views struct {
	Base, List string
	Query      string // of the list as it is; empty: it is not filtered, or the filter was refused
	Saved      []ViewLink
}

// MaxName is how many characters the name of a view may have.
func (v Views) MaxName() int { return partners.MaxViewName }

// ViewLink leads to a saved view.
type ViewLink struct {
	partners.SavedView
	Current bool
}

// Href is the address of the view.
func (v ViewLink) Href() string {
	if v.Query == "" {
		return v.List
	}
	return v.List + "?" + v.Query
}

// Shown is the filter as it is read, without the escapes of an address.
func (v ViewLink) Shown() string {
	shown, err := url.QueryUnescape(v.Query)
	if err != nil {
		return v.Query
	}
	return shown
}

// IsSaved reports whether the list is one of its saved views.
func (v Views) IsSaved() bool {
	return slices.ContainsFunc(v.Saved, func(each ViewLink) bool { return each.Current })
}

// viewsLimit is how long a list waits for its saved views.
const viewsLimit = PanelLimit / 4

// ViewsOf are the reader's saved views of the list that r asks for.
func (s *Surface) ViewsOf(r *http.Request, q *Request) Views {
	v := Views{Base: s.Base, List: r.URL.Path}
	v.Query, _ = viewQuery(r.URL.RawQuery) // a wrong one is none of a view
	ctx, cancel := context.WithTimeout(r.Context(), viewsLimit)
	defer cancel()
	saved := Cached(ctx, s.Memory, "views/"+q.User.ID, func(ctx context.Context) ([]partners.SavedView, error) {
		return s.Accounts.Views(ctx, q.User.ID)
	})
	for _, each := range saved.Value {
		if each.List == v.List {
			v.Saved = append(v.Saved, ViewLink{each, each.Query == v.Query})
		}
	}
	return v
}

// viewQuery is the part of an address that a view keeps: not where in a list it
// is, nor what was just done there.
func viewQuery(raw string) (string, error) {
	query, err := url.ParseQuery(raw)
	if err != nil {
		return "", webhook.Invalid("query", "must be that of an address")
	}
	for _, passing := range []string{"cursor", "after", "done"} {
		query.Del(passing)
	}
	for name, values := range query { // an empty field of a filter
		if strings.TrimSpace(strings.Join(values, "")) == "" {
			delete(query, name)
		}
	}
	return query.Encode(), nil
}

// lists are the pages whose filters the reader can save.
func (s *Surface) lists(q *Request) (found []NavItem) {
	for _, group := range q.navigation("") {
		for _, item := range group.Items {
			if item.Filtered {
				found = append(found, item)
			}
		}
	}
	return found
}

// viewsView is the page of the reader's saved views, list by list.
type viewsView struct {
	Lists   []viewsOfList
	Save    *partners.SavedView // that was refused
	Name    Field               // of Save
	Done    string
	Problem string
}

// viewsOfList are the saved views of one list.
type viewsOfList struct {
	Title string
	Views []ViewLink
}

// MaxName is how many characters the name of a view may have.
func (v viewsView) MaxName() int { return partners.MaxViewName }

func (s *Surface) viewsPage(w http.ResponseWriter, r *http.Request, q *Request) error {
	done := map[string]string{"rename": q.T("The view is renamed."), "remove": q.T("The view is removed.")}[r.URL.Query().Get("done")]
	return s.showViews(w, r, q, http.StatusOK, viewsView{Done: done})
}

func (s *Surface) showViews(w http.ResponseWriter, r *http.Request, q *Request, status int, v viewsView) error {
	all, err := s.Accounts.Views(r.Context(), q.User.ID)
	if err != nil {
		return err
	}
	for _, list := range s.lists(q) {
		of := viewsOfList{Title: list.Title}
		for _, each := range all {
			if each.List == list.Path {
				of.Views = append(of.Views, ViewLink{SavedView: each})
			}
		}
		if len(of.Views) > 0 {
			v.Lists = append(v.Lists, of)
		}
	}
	return q.RenderStatus(w, r, status, "views", v)
}

// saveView saves the filter of a list under a name and leads back to it.
func (s *Surface) saveView(w http.ResponseWriter, r *http.Request, q *Request) error {
	view := partners.SavedView{List: r.PostForm.Get("list"), Name: strings.TrimSpace(r.PostForm.Get("name")), CreatedAt: q.Now}
	err := s.checkList(q, view.List)
	if err == nil {
		view.Query, err = viewQuery(r.PostForm.Get("query"))
	}
	if err == nil {
		err = view.Check()
	}
	if err == nil {
		err = s.Accounts.SaveView(r.Context(), q.User.ID, view, q.Audit("view.save"))
	}
	if err == nil {
		http.Redirect(w, r, ViewLink{SavedView: view}.Href(), http.StatusSeeOther)
		return nil
	}
	wrong := fieldOf(err)
	problem, status, err := q.Problem(err)
	if err != nil {
		return err
	}
	v := viewsView{Problem: problem}
	if wrong == "name" || status == http.StatusConflict { // else another name would help nothing
		v.Save, v.Name = &view, Field{Name: "name", Label: q.T("Name of the view"), Value: view.Name, Required: true}
	}
	if wrong == "name" {
		v.Problem, v.Name.Error = "", problem
	}
	return s.showViews(w, r, q, status, v)
}

// fieldOf is the field that an error is about; empty: it is about none.
func fieldOf(err error) string {
	if e, ok := errors.AsType[*webhook.Error](err); ok {
		for _, f := range e.Fields {
			return f.Field
		}
	}
	return ""
}

// checkList checks the path of a list: only those of the menu have views.
func (s *Surface) checkList(q *Request, path string) error {
	if slices.ContainsFunc(s.lists(q), func(list NavItem) bool { return list.Path == path }) {
		return nil
	}
	return webhook.Invalid("list", "must be a list whose filters can be saved")
}

func (s *Surface) renameView(w http.ResponseWriter, r *http.Request, q *Request) error {
	list, name, to := r.PostForm.Get("list"), r.PostForm.Get("view"), strings.TrimSpace(r.PostForm.Get("name"))
	err := partners.CheckViewName(to)
	if err == nil && to != name {
		err = s.Accounts.RenameView(r.Context(), q.User.ID, list, name, to, q.Audit("view.rename"))
	}
	return s.afterView(w, r, q, err, "rename")
}

func (s *Surface) removeView(w http.ResponseWriter, r *http.Request, q *Request) error {
	err := s.Accounts.RemoveView(r.Context(), q.User.ID, r.PostForm.Get("list"), r.PostForm.Get("view"), q.Audit("view.remove"))
	return s.afterView(w, r, q, err, "remove")
}

// afterView leads back to the saved views, or shows them with what is wrong.
func (s *Surface) afterView(w http.ResponseWriter, r *http.Request, q *Request, err error, done string) error {
	if err == nil {
		http.Redirect(w, r, s.Base+"/views?done="+done, http.StatusSeeOther)
		return nil
	}
	problem, status, err := q.Problem(err)
	if err != nil {
		return err
	}
	return s.showViews(w, r, q, status, viewsView{Problem: problem})
}
