package partners

import (
	"fmt"
	"time"
)

// Letter is a one-time code on its way. It is never logged.
type Letter struct {
	To   Addressee
	Code string
}

// Mailer sends letters after the request they belong to: Send never waits and
// reports nothing, so that neither an answer nor its time depends on the mail.
type Mailer interface {
	Send(Letter)
}

// wording is a letter in one language: the body takes the code, then the
// minutes it is valid for.
type wording struct{ subject, body string }

// wordings are keyed as the lang of the interface.
var wordings = map[string]wording{
	"en": {"Your verification code", `Your verification code is %s

It is valid for %d minutes and can be used once. Do not share it with anyone.
If you did not ask for it, you can ignore this message.
`},
	"cn": {"您的验证码", `您的验证码是 %s

验证码在 %d 分钟内有效，仅可使用一次。请勿向任何人透露。
如果这不是您本人的操作，请忽略此邮件。
`},
	"vi": {"Mã xác minh của bạn", `Mã xác minh của bạn là %s

Mã có hiệu lực trong %d phút và chỉ dùng được một lần. Không chia sẻ mã này với bất kỳ ai.
Nếu bạn không yêu cầu mã, hãy bỏ qua thư này.
`},
}

// Text is the letter in its addressee's language.
func (l Letter) Text() (subject, body string) {
	w, known := wordings[l.To.Lang]
	if !known {
		w = wordings["en"]
	}
	return w.subject, fmt.Sprintf(w.body, l.Code, int(CodeLife/time.Minute))
}
