package orders

import (
	"errors"
	"net/http"
	"strings"
	"testing"
)

var allKeys = []Key{KeyInvalidJSON, KeyMissingField, KeyInvalidField, KeyForbiddenCharacter, KeyNotFound,
	KeyMethodNotAllowed, KeyBodyTooLarge, KeyUnsupportedMediaType, KeyAuthFailed, KeyAccessTokenInvalid,
	KeyRefreshTokenInvalid, KeyCodeInvalid, KeyVerificationRequired, KeyFiatNotSupported, KeyCryptoNotSupported,
	KeyAmountNotWhole, KeyAmountBelowMinimum, KeyAmountAboveMaximum, KeyWebhookSecretInvalid, KeyBankNotSupported,
	KeyAccountInvalid, KeyContentInvalid, KeyDuplicateOrder, KeyOrderNotFound, KeyPriceUnavailable, KeyRateLimited,
	KeyMaintenance, KeyInternalError}

func TestEveryKeyHasACodeAndAMessageInEachLanguage(t *testing.T) {
	codes := make(map[int]Key)
	for _, k := range allKeys {
		if _, ok := catalogue().byKey[k]; !ok {
			t.Errorf("%s is not in the catalogue", k)
			continue
		}
		if twin, taken := codes[k.Code()]; taken || k.Code() == 0 {
			t.Errorf("%s has the code %d of %q", k, k.Code(), twin)
		}
		codes[k.Code()] = k
		if http.StatusText(k.Status()) == "" || k.Status() < 400 {
			t.Errorf("%s has the status %d", k, k.Status())
		}
		e := &Error{Key: k, Field: "f", Value: "v", Min: 1, Max: 2, Seconds: 3}
		seen := make(map[string]bool)
		for _, lang := range []string{"en", "cn", "vi"} {
			text := e.Message(lang)
			if text == "" || seen[text] || strings.ContainsAny(text, "{}") {
				t.Errorf("%s in %s: %q", k, lang, text)
			}
			seen[text] = true
		}
	}
	if len(catalogue().byKey) != len(allKeys) {
		t.Errorf("the catalogue has %d keys, the program %d", len(catalogue().byKey), len(allKeys))
	}
}

func TestBadSignatureIsError32(t *testing.T) {
	if KeyAuthFailed.Code() != 32 || KeyAuthFailed.Status() != http.StatusBadRequest {
		t.Errorf("code %d, status %d", KeyAuthFailed.Code(), KeyAuthFailed.Status())
	}
	if KeyAccessTokenInvalid.Status() != http.StatusUnauthorized {
		t.Errorf("a bad bearer token has the status %d", KeyAccessTokenInvalid.Status())
	}
}

func TestMessagesSpeakTheLanguageAskedFor(t *testing.T) {
	e := &Error{Key: KeyAmountBelowMinimum, Min: 10_000}
	for lang, want := range map[string]string{
		"":      "The amount must be at least 10,000 VND.",
		"en":    "The amount must be at least 10,000 VND.",
		"fr":    "The amount must be at least 10,000 VND.",
		"vi":    "Số tiền tối thiểu là 10.000 VND.",
		" VI\t": "Số tiền tối thiểu là 10.000 VND.",
		"Cn":    "金额不得低于 10,000 越南盾。",
	} {
		if got := e.Message(lang); got != want {
			t.Errorf("in %q: %s, want %s", lang, got, want)
		}
	}
	if got := (&Error{Key: KeyAmountAboveMaximum, Max: MaxVND}).Message("vi"); got != "Số tiền tối đa là 499.999.999 VND." {
		t.Errorf("maximum: %s", got)
	}
	if got := SuccessMessage("cn"); got != "请求成功。" {
		t.Errorf("success: %s", got)
	}
}

// What a partner sends is shown as it is, never read as a placeholder.
func TestValuesAreNotFilledInAgain(t *testing.T) {
	e := &Error{Key: KeyCryptoNotSupported, Value: "{min}"}
	if got := e.Message("en"); got != "The cryptocurrency {min} is not supported." {
		t.Errorf("message %q", got)
	}
}

func TestUnknownKeyReadsAsInternalError(t *testing.T) {
	e := &Error{Key: "NO_SUCH_KEY"}
	if e.Key.Status() != http.StatusInternalServerError || e.Message("en") != (&Error{Key: KeyInternalError}).Message("en") {
		t.Errorf("status %d, message %q", e.Key.Status(), e.Message("en"))
	}
}

func TestCauseIsForTheLogOnly(t *testing.T) {
	cause := errors.New("the rate is an hour old")
	e := &Error{Key: KeyPriceUnavailable, Err: cause}
	if !errors.Is(e, cause) || !strings.Contains(e.Error(), cause.Error()) || strings.Contains(e.Message("en"), cause.Error()) {
		t.Errorf("error %q, message %q", e, e.Message("en"))
	}
}
