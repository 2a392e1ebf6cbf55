package partners

import "strings"

// User is an end-user of a partner. The same e-mail at two partners is two
// users.
type User struct {
	PartnerCode string
	Email       string // lower case
}

// NewUser returns the user that an e-mail stands for, in whatever case it was
// sent.
func NewUser(partnerCode, email string) User {
	return User{partnerCode, strings.ToLower(email)}
}
