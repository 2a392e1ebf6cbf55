package portal

import (
	"context"
	"crypto/rsa"
	"errors"
	"net/http"
	"slices"
	"strings"

	"ledgerhook/dashboard/locale"
	"ledgerhook/dashboard/shell"
	"ledgerhook/partners"
	"ledgerhook/signer"
)

// signingView is what a request of the partner's signs.
type signingView struct {
	Operation signer.Operation
	Problem   string
	English   bool   // Problem names a field in English
	Text      string // what is signed, with a word in place of the secretKey
	Checks    []verifyCheck
}

// secretPlace stands where a secretKey belongs in a text that is shown.
const secretPlace = "{secretKey}"

// verifyRequest shows what a request signs and checks its signature.
func (s pages) verifyRequest(w http.ResponseWriter, r *http.Request, q *shell.Request) error {
	if err := s.readChecker(r, q); err != nil {
		return err
	}
	var v verifyView
	g := &v.Signing
	if g.Operation = signer.Operation(r.PostForm.Get("operation")); !slices.Contains(signer.Operations, g.Operation) {
		g.Operation, g.Problem = signer.OpAccessToken, q.T("Choose one of the operations.")
	} else if v.Body, g.Problem = pasted(q, r, "body", maxPastedHeaders*2); g.Problem == "" {
		s.explainRequest(r.Context(), q, v.Body, g)
	}
	status := http.StatusOK
	if g.Problem != "" {
		status = http.StatusBadRequest
	}
	return s.showVerify(w, r, q, status, v)
}

func (s pages) explainRequest(ctx context.Context, q *shell.Request, body string, g *signingView) {
	request, err := signer.ReadUnsigned(g.Operation, []byte(body))
	if err != nil {
		g.Problem, g.English = err.Error(), q.Locale != locale.English
		return
	}
	g.Text = request.Candidates(secretPlace)[0]
	if request.PartnerCode != q.User.PartnerCode {
		g.Checks = append(g.Checks, verifyCheck{"partnerCode", shell.Bad(locale.Text("wrong")), q.T("Yours is %s.", q.User.PartnerCode)})
	}
	row := verifyCheck{Name: q.T("RSA signature"), Result: shell.Idle(locale.Text("not signed yet")), Says: q.T("Sign the text with your private key: PKCS#1 v1.5 and SHA-256, in base64.")}
	if request.Signature != "" {
		row = s.checkRequest(ctx, q, request)
	}
	g.Checks = append(g.Checks, row)
}

// checkRequest checks a request's signature with the partner's own keys.
func (s pages) checkRequest(ctx context.Context, q *shell.Request, request signer.Request) verifyCheck {
	row := verifyCheck{Name: q.T("RSA signature"), Result: shell.Warn(locale.Text("not known just now")), Says: q.T("Your keys cannot be read just now.")}
	account, err := shell.WithDeadline(ctx, func(ctx context.Context) (partners.Partner, error) {
		return s.Accounts.Partner(ctx, q.User.PartnerCode)
	})
	if err != nil {
		return row
	}
	secret, err := s.Box.Open(account.SealPurpose(), account.SealedSecret)
	if err != nil {
		return row
	}
	keys, err := publicKeys(account, q)
	if err != nil {
		return row
	}
	if request.Verify(string(secret), keys...) != nil {
		found := request.Explain(string(secret), keys[0])
		row.Result, row.Says = shell.Bad(locale.Text("wrong")), q.T(found.Text, found.Values...)
		return row
	}
	row.Result, row.Says = shell.Good(locale.Text("right")), q.T("Signed with your key %s.", signer.KeyID(keys[0]))
	for i, old := range account.ValidOldKeys(q.Now) {
		if request.Verify(string(secret), keys[i+1]) == nil {
			row.Says = q.T("Signed with your previous key, which verifies until %s.", q.Time(old.Until))
		}
	}
	return row
}

// publicKeys are the keys that verify the partner's requests, the present one
// first.
func publicKeys(account partners.Partner, q *shell.Request) (keys []*rsa.PublicKey, err error) {
	texts := [][]byte{account.PublicKey}
	for _, old := range account.ValidOldKeys(q.Now) {
		texts = append(texts, old.PEM)
	}
	for _, text := range texts {
		key, err := signer.ParsePublicKey(text)
		if err != nil {
			return nil, errors.New("the partner's public key cannot be read: " + strings.TrimSpace(err.Error()))
		}
		keys = append(keys, key)
	}
	return keys, nil
}
