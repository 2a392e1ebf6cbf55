package shell

import "ledgerhook/dashboard/locale"

// problems are the sentences for what partners and ledger refuse, by the words
// they say it in.
var problems = map[string]string{
	"username must be 3 to 64 letters a-z, digits or . _ - + @":                                                locale.Text("The username must have 3 to 64 letters a–z, digits or . _ - + @."),
	"name must be 1 to 100 characters":                                                                         locale.Text("The name must have 1 to 100 characters."),
	"name must be 1 to 60 characters":                                                                          locale.Text("The name must have 1 to 60 characters."),
	"name must hold printable characters alone":                                                                locale.Text("The name must hold printable characters alone."),
	"name is that of another of your views of this list":                                                       locale.Text("Another of your views of this list has that name."),
	"query must be at most 2000 bytes":                                                                         locale.Text("The filter is too long to be saved."),
	"a list has at most 30 saved views: remove one first":                                                      locale.Text("A list has at most 30 saved views. Remove one first."),
	"email must be an address like name@example.com":                                                           locale.Text("The e-mail must be an address like name@example.com."),
	"password must be 8 to 200 characters":                                                                     locale.Text("The password must have 8 to 200 characters."),
	"password must not be one that everybody tries first, such as 12345678: choose a few words":                locale.Text("This password is among the first that anybody tries. Choose a few words."),
	"password must be more than the username":                                                                  locale.Text("The password must be more than the username."),
	"again must be the same password":                                                                          locale.Text("The two passwords differ."),
	"current is not your password":                                                                             locale.Text("That is not your current password."),
	"code is not what the app shows now":                                                                       locale.Text("That is not what the app shows now. Wait for the next code."),
	"role must be one of [viewer developer admin]":                                                             locale.Text("Choose one of the roles."),
	"reason must be at most 200 characters":                                                                    locale.Text("The reason must have at most 200 characters."),
	"reason must not hold control characters":                                                                  locale.Text("The reason must not hold control characters."),
	"/filter must match at least one finished delivery":                                                        locale.Text("No delivery that has ended matches."),
	"/filter must match at most 100000 finished deliveries: narrow it, by time for example":                    locale.Text("That is more than one replay takes. Narrow it, by time for example."),
	"too many failed tries":                                                                                    locale.Text("Too many failed tries. Wait a quarter of an hour."),
	"this is the last admin: make somebody else an admin first":                                                locale.Text("This is the last administrator. Make somebody else one first."),
	"you cannot disable yourself: ask another admin":                                                           locale.Text("You cannot disable yourself. Ask another administrator."),
	"this account is disabled: ask your administrator":                                                         locale.Text("This account is disabled. Ask your administrator."),
	"this link was used already or has expired: ask for a new one":                                             locale.Text("This link was used already or has expired. Ask for a new one."),
	"this was done already: its link was shown once":                                                           locale.Text("This has already been done, and its link was shown once."),
	"this form was sent a moment ago and is being worked on: look at what came of it before you send it again": locale.Text("This form was sent a moment ago and is being processed. Check its result before you send it again."),
}

// Say is what was refused, in the reader's language. What has no sentence of
// its own is said in English, as the APIs say it.
func (q *Request) Say(refusal string) string {
	if sentence, ok := problems[refusal]; ok {
		return q.T(sentence)
	}
	said, _ := q.translated(sayings, refusal)
	return said
}
