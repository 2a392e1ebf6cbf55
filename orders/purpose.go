package orders

import (
	"strings"
	"unicode"
)

// MaxPurpose is how many characters of transfer content banks take.
const MaxPurpose = 25

// vietnameseLetters lists, behind each plain letter, its marked forms.
var vietnameseLetters = []string{
	"aàáảãạăằắẳẵặâầấẩẫậ",
	"dđ",
	"eèéẻẽẹêềếểễệ",
	"iìíỉĩị",
	"oòóỏõọôồốổỗộơờớởỡợ",
	"uùúủũụưừứửữự",
	"yỳýỷỹỵ",
}

var unmarked = func() map[rune]rune {
	m := make(map[rune]rune)
	for _, letters := range vietnameseLetters {
		plain := rune(letters[0])
		for _, marked := range letters {
			m[marked] = plain
			m[unicode.ToUpper(marked)] = unicode.ToUpper(plain)
		}
	}
	for r := '0'; r <= '9'; r++ {
		m[r] = r
	}
	for r := 'a'; r <= 'z'; r++ {
		m[r] = r
		m[unicode.ToUpper(r)] = unicode.ToUpper(r)
	}
	return m
}()

// Purpose brings transfer content to what banks take: letters without their
// Vietnamese marks, digits, and single blanks for everything between. The
// error has the key CONTENT_INVALID if the result is longer than MaxPurpose
// or empty ("VietQR" of the interface decisions).
func Purpose(content string) (string, error) {
	var b strings.Builder
	blank := false // one is due before the next character
	for _, r := range content {
		if unicode.Is(unicode.Mn, r) {
			continue // a mark that stands behind its letter as a character of its own
		}
		plain, ok := unmarked[r]
		if !ok {
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(plain)
	}
	if b.Len() == 0 || b.Len() > MaxPurpose {
		return "", &Error{Key: KeyContentInvalid}
	}
	return b.String(), nil
}
