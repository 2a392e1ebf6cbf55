package webhook

import "testing"

func TestACardNumberInATextIsMasked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"4111111111111111":                       "************1111",
		"paid with 4111 1111 1111 1111, thanks":  "paid with **** **** **** 1111, thanks",
		"4111-1111-1111-1111":                    "****-****-****-1111",
		`{"description":"378282246310005"}`:      `{"description":"***********0005"}`,
		"4222222222222":                          "*********2222",
		"4111111111111111 and 5555555555554444.": "************1111 and ************4444.",
		"4111111111111112":                       "4111111111111112", // fails Luhn
		"411111111111":                           "411111111111",     // too short
		"41111111111111111111":                   "41111111111111111111",
		"4111  1111  1111  1111":                 "4111  1111  1111  1111",
		"tx4111111111111111":                     "tx4111111111111111", // an id
		"4111111111111111x":                      "4111111111111111x",
		"0000000000000000":                       "0000000000000000",
		"411111******1111":                       "411111******1111",
		"Nguyễn 4111111111111111 đã trả":         "Nguyễn ************1111 đã trả",
		"":                                       "",
	} {
		if got := MaskCards(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzMaskCards(f *testing.F) {
	f.Add("paid with 4111 1111 1111 1111")
	f.Fuzz(func(t *testing.T, text string) {
		masked := MaskCards(text)
		if len(masked) != len(text) || MaskCards(masked) != masked {
			t.Errorf("%q: %q, then %q", text, masked, MaskCards(masked))
		}
	})
}
