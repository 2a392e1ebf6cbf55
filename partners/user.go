package partners

// User is an end-user of a partner. The same e-mail at two partners is two
// users.
type User struct {
	PartnerCode string
	Email       string // A-Z in lower case
}

// NewUser returns the user that an e-mail stands for, in whatever case it was
// sent. Only A-Z have a case here: beyond them two letters of two mailboxes can
// share a lower case (the Kelvin sign's is k), and a code sent to one of them
// would prove the other.
func NewUser(partnerCode, email string) User {
	lower := []byte(email)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	return User{partnerCode, string(lower)}
}
