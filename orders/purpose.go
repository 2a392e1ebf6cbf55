package orders

import (
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// MaxPurpose is how many characters of transfer content banks take.
const MaxPurpose = 25

// unstroked are the letters that Unicode does not take apart: Đ and đ, and
// those that look like them and are typed instead.
var unstroked = map[rune]rune{'Đ': 'D', 'đ': 'd', 'Ð': 'D', 'ð': 'd', 'Ɖ': 'D', 'ɖ': 'd'}

// Purpose brings transfer content to what banks take: letters without their
// marks, digits, and single blanks for everything between. Equal texts have
// equal purposes, whatever normal form they came in. The error has the key
// CONTENT_INVALID and names a letter that has no plain form, for whoever reads
// the transfer would miss it; it also says if the result is longer than
// MaxPurpose or empty ("VietQR" of the interface decisions).
func Purpose(content string) (string, error) {
	var b strings.Builder
	blank := false // one is due before the next character
	for _, r := range norm.NFKD.String(content) {
		if plain, ok := unstroked[r]; ok {
			r = plain
		}
		switch {
		case unicode.In(r, unicode.M, unicode.Cf, unicode.Other_Default_Ignorable_Code_Point):
			continue // a mark, or nothing that anybody sees
		case r > unicode.MaxASCII && unicode.IsLetter(r):
			return "", contentError(texts{
				EN: fmt.Sprintf("The letter “%c” has no plain form.", r),
				VI: fmt.Sprintf("Chữ “%c” không có dạng không dấu.", r),
				CN: fmt.Sprintf("字符“%c”没有对应的基本拉丁字母。", r),
			})
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			blank = b.Len() > 0
			continue
		}
		if blank {
			b.WriteByte(' ')
			blank = false
		}
		b.WriteRune(r)
	}
	switch n := b.Len(); {
	case n == 0:
		return "", contentError(texts{EN: "Nothing is left of it without signs.", VI: "Không còn ký tự nào sau khi bỏ các ký hiệu.", CN: "去除符号后没有剩下任何字符。"})
	case n > MaxPurpose:
		return "", contentError(texts{
			EN: fmt.Sprintf("“%s” has %d characters of at most %d.", b.String(), n, MaxPurpose),
			VI: fmt.Sprintf("“%s” có %d ký tự, nhiều nhất là %d.", b.String(), n, MaxPurpose),
			CN: fmt.Sprintf("“%s”有 %d 个字符，最多 %d 个。", b.String(), n, MaxPurpose),
		})
	}
	return b.String(), nil
}

func contentError(detail texts) error { return &Error{Key: KeyContentInvalid, detail: detail} }
