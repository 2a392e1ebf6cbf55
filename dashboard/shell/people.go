package shell

import (
	"cmp"
	"context"
	"net/http"
	"time"

	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// MaxPeople is how many people one page lists.
const MaxPeople = 100

// peopleView is the page about the people who may sign in: at /ops/admin the operators
// and everybody else, at /portal/people those of the partner.
type peopleView struct {
	Operators []partners.Person // at /ops/admin
	People    []partners.Person // of partners
	Next      string            // the cursor of more People
	Partner   string            // whom alone the page is about, at /ops/admin
	Invites   []partners.Invite
	Tokens    []partners.InternalToken // at /ops/admin
	Typed     partners.Invite          // what was refused, to be put right
	Roles     []partners.Role          // that an invitation can give
	OpsRoles  []partners.Role
	Form      string // one-time token of the invitation form
	Mails     bool   // invitations can be mailed
	Link      string // a new link, shown this once
	LinkFor   string
	Mailed    bool
	Done      string
	Problem   string
}

// peopleRows is one table of people.
type peopleRows struct {
	F       frame
	People  []partners.Person
	Caption string
}

// OfPartners reports whether the people are of partners, each of whom belongs
// to one.
func (p peopleRows) OfPartners() bool { return len(p.People) > 0 && p.People[0].PartnerCode != "" }

// NewFormToken is what a form carries that must be done once; see
// ledger.OnceForm.
func NewFormToken() string {
	token, _ := partners.NewPageToken()
	return token
}

// PeoplePath is where the surface's people are looked after.
func (q *Request) PeoplePath() string { return q.Surface.peoplePath() }

// peoplePath is where the surface's people are looked after.
func (s *Surface) peoplePath() string {
	if s.Name == Ops {
		return "/ops/admin"
	}
	return "/portal/people"
}

func (s *Surface) peoplePage(w http.ResponseWriter, r *http.Request, q *Request) error {
	done := map[string]string{
		"role": q.T("The role is changed."), "disabled": q.T("The account is disabled and signed out."), "enabled": q.T("The account is enabled."),
		"withdrawn": q.T("The invitation is withdrawn."),
	}[r.URL.Query().Get("done")]
	return s.showPeople(w, r, q, http.StatusOK, peopleView{Done: done})
}

func (s *Surface) showPeople(w http.ResponseWriter, r *http.Request, q *Request, status int, v peopleView) (err error) {
	f := partners.PeopleFilter{PartnerCode: q.User.PartnerCode, Cursor: r.URL.Query().Get("after"), Limit: MaxPeople}
	if s.Name == Ops {
		v.OpsRoles = partners.OperatorRoles
		if v.Operators, _, err = s.Accounts.People(r.Context(), partners.PeopleFilter{Limit: 2 * MaxPeople}); err != nil {
			return err
		}
		if v.Tokens, err = s.Accounts.InternalTokens(r.Context()); err != nil {
			return err
		}
		v.Partner = r.URL.Query().Get("partner")
		v.Typed.PartnerCode = cmp.Or(v.Typed.PartnerCode, v.Partner)
		f.PartnerCode, f.AnyPartner = v.Partner, true
	}
	v.Roles = partners.PartnerRoles
	if v.People, v.Next, err = s.Accounts.People(r.Context(), f); err != nil {
		return err
	}
	if v.Invites, err = s.Accounts.Invites(r.Context(), q.User.PartnerCode, s.Name == Ops, q.Now); err != nil {
		return err
	}
	v.Form = NewFormToken()
	v.Mails = s.SendMail != nil
	q.Once = v.Link != ""
	return q.RenderStatus(w, r, status, "people", v)
}

// afterPeople leads back to the page, or shows it with what is wrong.
func (s *Surface) afterPeople(w http.ResponseWriter, r *http.Request, q *Request, err error, done string) error {
	if err == nil {
		http.Redirect(w, r, s.peoplePath()+"?done="+done, http.StatusSeeOther)
		return nil
	}
	return s.refusePeople(w, r, q, err, partners.Invite{})
}

// refusePeople shows the page with why something was not done, and what was
// typed to do it.
func (s *Surface) refusePeople(w http.ResponseWriter, r *http.Request, q *Request, refused error, typed partners.Invite) error {
	problem, status, err := q.Problem(refused)
	if err != nil {
		return err
	}
	return s.showPeople(w, r, q, status, peopleView{Problem: problem, Typed: typed})
}

// personAt is the person of a path: anybody at /ops, at /portal one of the
// partner of the signed-in person. Any other id is NotFound.
func (s *Surface) personAt(r *http.Request, q *Request) (partners.Person, error) {
	if s.Name == Ops {
		return s.Accounts.Person(r.Context(), r.PathValue("id"))
	}
	return s.Accounts.PersonOf(r.Context(), q.User.PartnerCode, r.PathValue("id"))
}

func (s *Surface) changeRole(w http.ResponseWriter, r *http.Request, q *Request) error {
	p, err := s.personAt(r, q)
	if err != nil {
		return err
	}
	role := partners.Role(r.PostForm.Get("role"))
	err = partners.CheckRole(p.PartnerCode, role)
	if err == nil && p.Provided {
		err = webhook.Conflict("The groups of " + p.Username + " at the sign-in provider say the role: change them there.")
	}
	if err == nil {
		by := q.Audit("person.role")
		by.Detail = p.Username + ": " + string(p.Role) + " → " + string(role)
		_, err = s.Accounts.AlterPerson(r.Context(), p.PartnerCode, p.ID, by, func(p *partners.Person) error { p.Role = role; return nil })
	}
	return s.afterPeople(w, r, q, err, "role")
}

// switchPerson disables people or enables them. Nobody disables themselves: that
// is too easily done by mistake.
func (s *Surface) switchPerson(off bool) Page {
	action, done := "person.enable", "enabled"
	if off {
		action, done = "person.disable", "disabled"
	}
	return func(w http.ResponseWriter, r *http.Request, q *Request) error {
		p, err := s.personAt(r, q)
		if err != nil {
			return err
		}
		if off && p.ID == q.User.ID {
			return s.afterPeople(w, r, q, webhook.Conflict("you cannot disable yourself: ask another admin"), "")
		}
		by := q.Audit(action)
		by.Detail = p.Username
		_, err = s.Accounts.AlterPerson(r.Context(), p.PartnerCode, p.ID, by, func(p *partners.Person) error { p.Disabled = off; return nil })
		return s.afterPeople(w, r, q, err, done)
	}
}

// invite makes an invitation and shows its link, this once.
func (s *Surface) invite(w http.ResponseWriter, r *http.Request, q *Request) error {
	i := partners.Invite{
		Name: r.PostForm.Get("name"), Email: r.PostForm.Get("email"), PartnerCode: q.User.PartnerCode, Role: partners.Role(r.PostForm.Get("role")),
	}
	if s.Name == Ops {
		i.PartnerCode = r.PostForm.Get("partner")
	}
	by := q.Audit("person.invite")
	by.Detail = string(i.Role) + " " + clip(i.Name, 100) + " " + clip(i.Email, 100)
	return s.sendLink(w, r, q, i, by)
}

// passwordLink makes a link with which somebody chooses a new password.
func (s *Surface) passwordLink(w http.ResponseWriter, r *http.Request, q *Request) error {
	p, err := s.personAt(r, q)
	if err != nil {
		return err
	}
	if s.byProvider() && p.Provided {
		return s.afterPeople(w, r, q, s.noPassword(), "")
	}
	by := q.Audit("password.link")
	by.Detail = p.Username
	i := partners.Invite{PersonID: p.ID, Username: p.Username, Name: p.Name, Email: p.Email, PartnerCode: p.PartnerCode, Role: p.Role}
	return s.sendLink(w, r, q, i, by)
}

// sendLink stores an invitation and shows its link, once for each form.
func (s *Surface) sendLink(w http.ResponseWriter, r *http.Request, q *Request, i partners.Invite, by partners.AuditEntry) error {
	var link string
	err := i.Check()
	if err == nil && i.PartnerCode == "" && s.Name == Ops && !s.takesPassword(i.Username) {
		err = s.noPassword()
	}
	if err == nil && i.PartnerCode != "" && s.Name == Ops {
		_, err = s.Accounts.Partner(r.Context(), i.PartnerCode)
		if webhook.KindOf(err) == webhook.KindNotFound {
			err = webhook.Invalid("partner", "is not a partner's code")
		}
	}
	if err == nil {
		var again bool
		_, again, err = s.Accounts.OnceForm(r.Context(), r.PostForm.Get("form"), func() (string, error) {
			token, hash := partners.NewPageToken()
			i.ID, i.InvitedBy, i.CreatedAt, i.ExpiresAt = webhook.NewID(webhook.InvitePrefix), q.User.Actor(), q.Now, q.Now.Add(partners.InviteLife)
			link = s.inviteLink(r, i.PartnerCode, token)
			return i.ID, s.Accounts.CreateInvite(r.Context(), hash, i, by)
		})
		if again && err == nil {
			err = webhook.Conflict("this was done already: its link was shown once")
		}
	}
	if err != nil {
		if i.PersonID != "" {
			i = partners.Invite{} // nobody typed it
		}
		return s.refusePeople(w, r, q, err, i)
	}
	v := peopleView{Link: link, LinkFor: i.Name}
	if s.SendMail != nil && i.Email != "" {
		v.Mailed = s.mailLink(r.Context(), q, i, link)
	}
	return s.showPeople(w, r, q, http.StatusOK, v)
}

// inviteLink is where an invitation is accepted: a partner's on the public
// address, an operator's where this page was asked for.
func (s *Surface) inviteLink(r *http.Request, partnerCode, token string) string {
	if partnerCode != "" {
		return s.PublicURL + "/portal/invite/" + token
	}
	scheme := "http://"
	if s.secure(r) {
		scheme = "https://"
	}
	return scheme + r.Host + "/ops/invite/" + token
}

// mailLink reports whether the mail server took the invitation. It is shown
// on the page in any case. It speaks the language of who invites.
func (s *Surface) mailLink(ctx context.Context, q *Request, i partners.Invite, link string) bool {
	subject, text := q.T("Your invitation to Ledgerhook"), q.T("You are invited to sign in to Ledgerhook.")
	if i.PersonID != "" {
		subject, text = q.T("Your new password for Ledgerhook"), q.T("You can choose a new password for Ledgerhook.")
	}
	text += "\n\n" + link + "\n\n" + q.T("The link works once, until %s.", q.Minute(i.ExpiresAt)+" "+q.Offset(i.ExpiresAt)) + "\n"
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	if err := s.SendMail(ctx, i.Email, subject, text); err != nil {
		s.Log.WarnContext(ctx, "an invitation could not be mailed", "invitation", i.ID, "error", err)
		return false
	}
	return true
}

func (s *Surface) withdrawInvite(w http.ResponseWriter, r *http.Request, q *Request) error {
	partnerCode := q.User.PartnerCode
	if s.Name == Ops {
		if err := r.ParseForm(); err != nil {
			return webhook.Invalid("form", "cannot be read")
		}
		partnerCode = r.PostForm.Get("partner")
	}
	if err := s.Accounts.WithdrawInvite(r.Context(), partnerCode, r.PathValue("id"), q.Audit("invite.withdraw")); err != nil {
		return err
	}
	return s.afterPeople(w, r, q, nil, "withdrawn")
}
