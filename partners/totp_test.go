package partners_test

import (
	"strings"
	"testing"
	"time"

	"ledgerhook/partners"
)

// rfcSecret is that of the examples of RFC 6238, appendix B, of which the last
// six digits are ours.
var rfcSecret = partners.TOTPSecret("12345678901234567890")

func TestCodesAreThoseOfRFC6238(t *testing.T) {
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := rfcSecret.Code(time.Unix(at, 0)); got != want {
			t.Errorf("code at %d: %s, want %s", at, got, want)
		}
	}
}

func TestACodeIsGoodOneStepAroundNowAndOnce(t *testing.T) {
	now := time.Unix(1234567890, 0)
	for _, c := range []struct {
		off  time.Duration
		want bool
	}{{0, true}, {-30 * time.Second, true}, {30 * time.Second, true}, {-time.Minute, false}, {time.Minute, false}} {
		if _, ok := rfcSecret.Check(rfcSecret.Code(now.Add(c.off)), now, 0); ok != c.want {
			t.Errorf("a code of %v is good: %v", c.off, ok)
		}
	}
	step, ok := rfcSecret.Check("005 924", now, 0)
	if !ok {
		t.Fatal("a code with a blank is not good")
	}
	for what, used := range map[string]int64{"again": step, "after a later one": step + 1} {
		if _, ok := rfcSecret.Check("005924", now, used); ok {
			t.Errorf("the code is good %s", what)
		}
	}
	if _, ok := rfcSecret.Check(rfcSecret.Code(now.Add(30*time.Second)), now, step); !ok {
		t.Error("the next code is not good")
	}
	for _, guess := range []string{"", "5924", "0059240", "00592x", "-05924"} {
		if _, ok := rfcSecret.Check(guess, now, 0); ok {
			t.Errorf("%q is good", guess)
		}
	}
}

func TestASecretGoesIntoAnApp(t *testing.T) {
	if got, want := rfcSecret.URL("Ledgerhook", "ann@example.com"),
		"otpauth://totp/Ledgerhook:ann@example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Ledgerhook"; got != want {
		t.Errorf("url %s, want %s", got, want)
	}
	s := partners.NewTOTPSecret()
	if back, ok := partners.ParseTOTPSecret(s.String()); !ok || string(back) != string(s) {
		t.Errorf("%s does not come back", s)
	}
	for _, text := range []string{"", "GEZDGNBV", "!", s.String() + "A"} {
		if _, ok := partners.ParseTOTPSecret(text); ok {
			t.Errorf("%q is a secret", text)
		}
	}
}

func TestRecoveryCodesAreKnownHoweverTheyAreTyped(t *testing.T) {
	codes, hashes := partners.NewRecoveryCodes()
	seen := map[string]bool{}
	for i, code := range codes {
		seen[code] = true
		for _, typed := range []string{code, strings.ToUpper(code), strings.ReplaceAll(code, "-", ""), " " + strings.ReplaceAll(code, "-", " ")} {
			if string(partners.HashRecoveryCode(typed)) != string(hashes[i]) {
				t.Errorf("%q is not known", typed)
			}
		}
	}
	if len(seen) != 10 {
		t.Errorf("%d codes differ", len(seen))
	}
}
