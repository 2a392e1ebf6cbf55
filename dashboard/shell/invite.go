package shell

import (
	"net/http"

	"ledgerhook/partners"
	"ledgerhook/web"
	"ledgerhook/webhook"
)

// inviteView is the page that an invitation's link opens.
type inviteView struct {
	Closed       bool // used, expired, withdrawn or never made
	Reset        bool // a new password for somebody who is there already
	UsernameOpen bool // to be chosen
	Username     string
	Name         string
	Role         partners.Role
	Partner      string
	Problem      string
}

// invitesOpened is how many links may be opened from one address; the ledger is
// not asked for more.
var invitesOpened = web.PerMinute(120)

// openInvite finds the invitation of the path; ok is false when its link does
// not work, which the page says without saying why.
func (s *Surface) openInvite(r *http.Request, q *Request) (i partners.Invite, ok bool, err error) {
	if ok, wait := s.invited.Allow(r.Context(), network(web.ClientAddress(r)), invitesOpened); !ok {
		return i, false, &webhook.Error{Kind: webhook.KindRateLimited, RetryAfter: wait}
	}
	i, err = s.Accounts.Invite(r.Context(), partners.HashPageToken(r.PathValue("token")))
	if webhook.KindOf(err) == webhook.KindNotFound && err != nil {
		return i, false, nil
	}
	belongs := (i.PartnerCode == "") == (s.Name == Ops)
	return i, err == nil && belongs && i.Open(q.Now), err
}

func (s *Surface) invitePage(w http.ResponseWriter, r *http.Request, q *Request) error {
	i, ok, err := s.openInvite(r, q)
	if err != nil {
		return err
	}
	if !ok {
		return s.closedInvite(w, r, q)
	}
	return q.Render(w, r, "invite", showInvite(i))
}

func (s *Surface) closedInvite(w http.ResponseWriter, r *http.Request, q *Request) error {
	return q.RenderStatus(w, r, http.StatusGone, "invite", inviteView{Closed: true})
}

func showInvite(i partners.Invite) inviteView {
	return inviteView{Reset: i.PersonID != "", UsernameOpen: i.Username == "", Username: i.Username, Name: i.Name, Role: i.Role, Partner: i.PartnerCode}
}

// acceptInvite makes the person, or gives them their new password, and signs
// them in.
func (s *Surface) acceptInvite(w http.ResponseWriter, r *http.Request, q *Request) error {
	i, ok, err := s.openInvite(r, q)
	if err != nil {
		return err
	}
	if !ok {
		return s.closedInvite(w, r, q)
	}
	v := showInvite(i)
	p := partners.Person{ID: webhook.NewID(webhook.PersonPrefix), Username: i.Username, Name: i.Name, Email: i.Email, PartnerCode: i.PartnerCode, Role: i.Role, CreatedAt: q.Now}
	if v.UsernameOpen {
		v.Username = r.PostForm.Get("username")
		p.Username, err = partners.NewUsername(v.Username)
	}
	if err == nil && !v.Reset {
		v.Name = r.PostForm.Get("name")
		p.Name = v.Name
		err = partners.CheckName(p.Name)
	}
	if err == nil && !s.takesPassword(p.Username) {
		err = s.noPassword()
	}
	var hash string
	if err == nil {
		hash, err = s.newPassword(r, p.Username)
	}
	if err == nil {
		by := partners.AuditEntry{Actor: p.Actor(), Action: "invite.accept", Detail: "from " + web.ClientAddress(r)}
		p, err = s.Accounts.AcceptInvite(r.Context(), partners.HashPageToken(r.PathValue("token")), p, hash, q.Now, by)
	}
	if err != nil {
		problem, status, err := q.Problem(err)
		if err != nil {
			return err
		}
		v.Problem = problem
		return q.RenderStatus(w, r, status, "invite", v)
	}
	return s.startSession(w, r, q, p, s.Base, s.loggedIn(r, p))
}
