package partners

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"ledgerhook/webhook"
)

// Role says what a person may do on the pages.
type Role string

const (
	RoleViewer    Role = "viewer"    // reads
	RoleOperator  Role = "operator"  // the company's: acts on deliveries, endpoints and orders
	RoleDeveloper Role = "developer" // a partner's: acts on its endpoints, secrets and deliveries
	RoleAdmin     Role = "admin"     // acts, and decides who may do what
	RoleAuditor   Role = "auditor"   // the company's: reads, and reads the audit log
)

// OperatorRoles are the roles of the company's own people.
var OperatorRoles = []Role{RoleViewer, RoleOperator, RoleAdmin, RoleAuditor}

// PartnerRoles are the roles of a partner's people.
var PartnerRoles = []Role{RoleViewer, RoleDeveloper, RoleAdmin}

// RolesOf are the roles that a person of partnerCode can have; an empty code
// stands for the company itself.
func RolesOf(partnerCode string) []Role {
	if partnerCode == "" {
		return OperatorRoles
	}
	return PartnerRoles
}

// CheckRole returns an Invalid error unless role is one that a person of
// partnerCode can have.
func CheckRole(partnerCode string, role Role) error {
	roles := RolesOf(partnerCode)
	if slices.Contains(roles, role) {
		return nil
	}
	return webhook.Invalid("role", fmt.Sprintf("must be one of %v", roles))
}

// Person is somebody who signs in to the pages: an operator of the company or
// somebody of a partner. (A User is an end-user, who never sees them.)
type Person struct {
	ID          string // usr_…
	Username    string // lower case; nobody else has it
	Name        string // as shown
	Email       string // empty: none
	PartnerCode string // empty: an operator
	Role        Role
	Disabled    bool
	TOTP        bool // a code is asked for after the password
	Provided    bool // signs in at the OpenID Connect provider, which says the role, and has no password
	CreatedAt   time.Time
	LastLoginAt time.Time // zero: never
}

// Credentials are what a person signs in with.
type Credentials struct {
	Person
	PasswordHash    string
	SealedTOTP      []byte // empty: none
	TOTPStep        int64  // the newest step that was accepted
	PartnerDisabled bool   // their partner's account is
}

// PeopleFilter narrows a list of people.
type PeopleFilter struct {
	PartnerCode string // of one partner; empty: see AnyPartner
	AnyPartner  bool   // everybody who is no operator; else the operators
	Cursor      string
	Limit       int
}

// IsOperator reports whether the person belongs to the company itself, so
// signs in at /ops and not at /portal.
func (p Person) IsOperator() bool { return p.PartnerCode == "" }

// CanAct reports whether the person may change something: replay, retry,
// cancel, pause, move an order; at a partner its endpoints and secrets.
func (p Person) CanAct() bool {
	return p.CanAdminister() || p.Role == RoleOperator && p.IsOperator() || p.Role == RoleDeveloper && !p.IsOperator()
}

// CanAdminister reports whether the person may invite, disable and give roles
// to the people beside them.
func (p Person) CanAdminister() bool { return p.Role == RoleAdmin }

// CanAudit reports whether the person may read the audit log: auditors and
// admins the whole one, everybody at a partner what concerns the partner.
func (p Person) CanAudit() bool {
	return !p.IsOperator() || p.Role == RoleAuditor || p.Role == RoleAdmin
}

// Actor is how the audit log names the person.
func (p Person) Actor() string {
	if p.IsOperator() {
		return p.Username
	}
	return p.PartnerCode + "/" + p.Username
}

const (
	minUsername = 3
	maxUsername = 64
	maxName     = 100
)

// NewUsername returns a username in the form it is kept in, lower case, or an
// Invalid error: 3 to 64 of a-z 0-9 . _ - + @, so that an e-mail can be one.
func NewUsername(typed string) (string, error) {
	name := NewUser("", strings.TrimSpace(typed)).Email // the same A-Z only
	wrong := strings.ContainsFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+@", r))
	})
	if wrong || len(name) < minUsername || len(name) > maxUsername {
		return "", webhook.Invalid("username", fmt.Sprintf("must be %d to %d letters a-z, digits or . _ - + @", minUsername, maxUsername))
	}
	return name, nil
}

// CheckName returns an Invalid error unless name can be shown as a person's:
// 1 to 100 characters, none of them invisible.
func CheckName(name string) error {
	n := utf8.RuneCountInString(name)
	if n == 0 || n > maxName || strings.TrimSpace(name) == "" || !printable(name) {
		return webhook.Invalid("name", fmt.Sprintf("must be 1 to %d characters", maxName))
	}
	return nil
}

// printable reports whether a text is UTF-8 and holds what is seen alone: no
// control characters, nor those that turn the direction of what follows.
func printable(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// CheckEmail returns an Invalid error unless email is empty or one that ReadEmail takes.
func CheckEmail(email string) error {
	if email == "" {
		return nil
	}
	_, err := ReadEmail(email)
	return err
}

// InviteLife is how long the link of an invitation opens the page.
const InviteLife = 72 * time.Hour

// Invite is a link that lets somebody become a person, or a person choose a
// new password. It is used once.
type Invite struct {
	ID          string // inv_…
	PersonID    string // who gets a new password; empty: a new person
	Username    string // empty: the one invited chooses it
	Name        string
	Email       string
	PartnerCode string // empty: an operator
	Role        Role
	InvitedBy   string // as the audit log names them
	CreatedAt   time.Time
	ExpiresAt   time.Time
	UsedAt      time.Time // zero: not yet
}

// Check returns an Invalid error that names what cannot be so.
func (i Invite) Check() error {
	if err := CheckRole(i.PartnerCode, i.Role); err != nil {
		return err
	}
	if i.Name != "" {
		if err := CheckName(i.Name); err != nil {
			return err
		}
	}
	return CheckEmail(i.Email)
}

// Open reports whether the link still works at now.
func (i Invite) Open(now time.Time) bool { return i.UsedAt.IsZero() && now.Before(i.ExpiresAt) }
