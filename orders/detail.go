package orders

import "strings"

// details are the sentences on what a field must be, by the English words of
// who refused it. The catalogue's message of INVALID_FIELD stands before them.
var details = map[string]texts{
	"must be 1 to 32 of A-Z a-z 0-9 _ -":        {VI: "Phải gồm 1 đến 32 ký tự A-Z a-z 0-9 _ -.", CN: "应为 1 至 32 个 A-Z a-z 0-9 _ - 字符。"},
	"must be 1 to 64 of A-Z a-z 0-9 . _ : -":    {VI: "Phải gồm 1 đến 64 ký tự A-Z a-z 0-9 . _ : -.", CN: "应为 1 至 64 个 A-Z a-z 0-9 . _ : - 字符。"},
	"must be 2 to 10 of A-Z 0-9":                {VI: "Phải gồm 2 đến 10 ký tự A-Z 0-9.", CN: "应为 2 至 10 个 A-Z 0-9 字符。"},
	"must be at most 254 bytes long":            {VI: "Dài tối đa 254 byte.", CN: "最长 254 字节。"},
	"must be an address like name@example.com":  {VI: "Phải là địa chỉ như name@example.com.", CN: "应为 name@example.com 这样的地址。"},
	"must be an object":                         {VI: "Phải là một đối tượng JSON.", CN: "应为 JSON 对象。"},
	"must be a string":                          {VI: "Phải là chuỗi, trong dấu ngoặc kép.", CN: "应为字符串，放在引号中。"},
	"must be a JSON number":                     {VI: "Phải là số JSON, không có dấu ngoặc kép.", CN: "应为 JSON 数字，不带引号。"},
	"must be a number of at most 40 characters": {VI: "Phải là số dài tối đa 40 ký tự.", CN: "应为最长 40 个字符的数字。"},
	"must have an exponent from -30 to 30":      {VI: "Số mũ phải từ -30 đến 30.", CN: "指数应在 -30 至 30 之间。"},
	"must be ACCOUNT, CARD or empty":            {VI: "Phải là ACCOUNT, CARD hoặc để trống.", CN: "应为 ACCOUNT、CARD 或留空。"},
	"must be at most 100 characters long":       {VI: "Dài tối đa 100 ký tự.", CN: "最多 100 个字符。"},
	"must be at most 100 visible characters":    {VI: "Dài tối đa 100 ký tự nhìn thấy được.", CN: "最多 100 个可见字符。"},
	mustEqual:                                   {VI: "Phải giống trường ", CN: "应与此字段相同："},
}

// mustEqual begins the detail of a field that was sent under two names.
const mustEqual = "must equal "

// rightIn is the sentence on what would be right, with the blank before it;
// empty if nobody said so.
func rightIn(detail, lang string) string {
	if detail == "" {
		return ""
	}
	known, other := detail, ""
	if rest, found := strings.CutPrefix(detail, mustEqual); found {
		known, other = mustEqual, rest
	}
	said := details[known].in(lang)
	switch {
	case said == "":
		return " It " + detail + "."
	case other == "":
		return " " + said
	}
	return " " + said + other + "."
}
