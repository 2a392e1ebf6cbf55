package orders

import (
	"bytes"
	"errors"
	"fmt"
	"image/png"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

type qrCase struct {
	Name   string
	Inputs struct {
		BankBin     string
		Account     string
		ServiceCode string
		Amount      int64
		BillNumber  string
		Purpose     string
		Initiation  string
	}
	Payload     string
	ComputedCRC string `json:"computed_crc"`
}

type qrFile struct {
	CRC       map[string]string `json:"crc_check"`
	Valid     []qrCase
	Generated []qrCase                   `json:"generated_here"`
	Invalid   []qrCase                   `json:"invalid_or_nonconforming"`
	Purposes  []struct{ In, Out string } `json:"purpose_normalisation"`
}

func (c qrCase) code() VietQR {
	in := c.Inputs
	return VietQR{BIN: in.BankBin, Account: in.Account, Card: in.ServiceCode == "QRIBFTTC",
		Amount: in.Amount, BillNumber: in.BillNumber, Purpose: in.Purpose}
}

func TestPayloadsAreByteForByteThoseOfNAPAS(t *testing.T) {
	file := vectors[qrFile](t, "vietqr_payloads.json")
	for _, c := range append(file.Valid, file.Generated...) {
		if got := c.code().Payload(); got != c.Payload {
			t.Errorf("%s:\n got %s\nwant %s", c.Name, got, c.Payload)
		}
		if err := readPayload(c.Payload); err != nil {
			t.Errorf("%s: %v", c.Name, err)
		}
	}
}

func TestChecksums(t *testing.T) {
	file := vectors[qrFile](t, "vietqr_payloads.json")
	for text, want := range file.CRC {
		if got := fmt.Sprintf("%04X", crc16(text)); got != want {
			t.Errorf("crc16(%q) = %s, want %s", text, got, want)
		}
	}
	for _, c := range file.Invalid {
		if got := fmt.Sprintf("%04X", crc16(c.Payload[:len(c.Payload)-4])); got != c.ComputedCRC {
			t.Errorf("%s: %s, want %s", c.Name, got, c.ComputedCRC)
		}
	}
}

// readPayload is what we promise of every payload, read from its text alone.
// None of the known bad ones keeps it.
func readPayload(payload string) error {
	body, sum := payload[:len(payload)-4], payload[len(payload)-4:]
	if want := fmt.Sprintf("%04X", crc16(body)); sum != want {
		return fmt.Errorf("checksum %s, want %s", sum, want)
	}
	top, err := readFields(payload)
	if err != nil {
		return err
	}
	if top["00"] != "01" {
		return fmt.Errorf("format %q", top["00"])
	}
	merchant, err := readFields(top["38"])
	if err != nil {
		return err
	}
	if merchant["00"] != "A000000727" || !strings.HasPrefix(merchant["02"], "QRIBFTT") {
		return fmt.Errorf("merchant account %q", top["38"])
	}
	beneficiary, err := readFields(merchant["01"])
	if err != nil {
		return err
	}
	if len(beneficiary) != 2 || len(beneficiary["00"]) != 6 || beneficiary["01"] == "" {
		return fmt.Errorf("beneficiary %q", merchant["01"])
	}
	return nil
}

// readFields reads fields that must be complete and in ascending order.
func readFields(text string) (map[string]string, error) {
	fields, last := make(map[string]string), ""
	for text != "" {
		if len(text) < 4 {
			return nil, fmt.Errorf("short field %q", text)
		}
		tag := text[:2]
		size, err := strconv.Atoi(text[2:4])
		if err != nil || tag <= last || len(text) < 4+size {
			return nil, fmt.Errorf("bad field at %q", text)
		}
		fields[tag], last, text = text[4:4+size], tag, text[4+size:]
	}
	return fields, nil
}

func TestPayloadsNeverLookLikeTheKnownBadOnes(t *testing.T) {
	for _, c := range vectors[qrFile](t, "vietqr_payloads.json").Invalid {
		if readPayload(c.Payload) == nil {
			t.Errorf("%s is taken for a payload of ours", c.Name)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		q := VietQR{
			BIN:     rapid.StringMatching(`[0-9]{6}`).Draw(t, "bin"),
			Account: rapid.StringMatching(`[A-Za-z0-9]{1,19}`).Draw(t, "account"),
			Card:    rapid.Bool().Draw(t, "card"),
			Amount:  rapid.Int64Range(0, 9_999_999_999_999).Draw(t, "amount"),
			Purpose: rapid.StringMatching(`([A-Za-z0-9]{1,25})?`).Draw(t, "purpose"),
		}
		if err := readPayload(q.Payload()); err != nil {
			t.Fatalf("%+v: %v", q, err)
		}
	})
}

func TestPurposeIsWhatBanksTake(t *testing.T) {
	for _, c := range vectors[qrFile](t, "vietqr_payloads.json").Purposes {
		got, err := Purpose(c.In)
		if got != c.Out || (c.Out == "") != (keyOf(err) == KeyContentInvalid) {
			t.Errorf("Purpose(%q) = %q, %v; want %q", c.In, got, err, c.Out)
		}
	}
	limit := vectors[limitsFile](t, "limits.json").VietQR.PurposeMax
	for _, test := range []struct{ in, want string }{
		{strings.Repeat("ậ", limit), strings.Repeat("a", limit)},
		{strings.Repeat("a", limit) + " \t", strings.Repeat("a", limit)},
		{strings.Repeat("a", limit+1), ""},
		{"", ""},
		{" | ", ""},
		{"chuye\u0302\u0309n khoa\u0309n", "chuyen khoan"}, // marks of their own
		{"R\u00daT-TI\u1ec0N/0001", "RUT TIEN 0001"},
		{"\xff\xfea", "a"},
		{"TIỀN \u00d0IỆN \u00f0\u0189\u0256", "TIEN DIEN dDd"},
		{"Nu\u00f1ez", "Nunez"}, {"Nun\u0303ez", "Nunez"}, {"Müller", "Muller"}, {"Mu\u0308ller", "Muller"},
		{"RU\u200bT\u00ad TI\ufeffEN\u2060\u034f\u3164\ufe0f", "RUT TIEN"},
		{"ＡＢ１ ﬁ Ⅷ", "AB1 fi VIII"}, {"a\r\nb·c😀d", "a b c d"},
		{"Łódź", ""}, {"Straße", ""}, {"Đơn Ж", ""}, {"\u200b", ""},
	} {
		got, err := Purpose(test.in)
		if got != test.want || (test.want == "") != (keyOf(err) == KeyContentInvalid) {
			t.Errorf("Purpose(%q) = %q, %v; want %q", test.in, got, err, test.want)
		}
	}
}

func TestContentThatIsRefusedIsNamed(t *testing.T) {
	for content, want := range map[string]string{
		"Đơn Ж": "“Ж”", "Łódź": "“Ł”", "越南": "“越”", "...": "Nothing is left", strings.Repeat("ab", 13): "26 characters of at most 25",
	} {
		_, err := Purpose(content)
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(e.Message("en"), want) {
			t.Errorf("Purpose(%q): %v", content, err)
			continue
		}
		for _, lang := range []string{"vi", "cn"} {
			if e.Message(lang) == (&Error{Key: e.Key}).Message(lang) {
				t.Errorf("Purpose(%q) says nothing of it in %s", content, lang)
			}
		}
	}
}

func TestEqualTextsHaveEqualPurposes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		content := rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Mn, unicode.Cf, unicode.Zs), 0, 20, -1).Draw(t, "content")
		want, err := Purpose(content)
		for _, form := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
			if got, failed := Purpose(form.String(content)); got != want || (err == nil) != (failed == nil) {
				t.Fatalf("%q is %q, %v; in another form %q, %v", content, want, err, got, failed)
			}
		}
	})
}

func TestEveryVietnameseLetterLosesItsMarks(t *testing.T) {
	letters := 0
	for _, group := range []string{"aàáảãạăằắẳẵặâầấẩẫậ", "dđ", "eèéẻẽẹêềếểễệ", "iìíỉĩị", "oòóỏõọôồốổỗộơờớởỡợ", "uùúủũụưừứửữự", "yỳýỷỹỵ"} {
		for _, r := range group[1:] {
			letters++
			got, err := Purpose(string(r) + string(unicode.ToUpper(r)))
			want := group[:1] + strings.ToUpper(group[:1])
			if err != nil || got != want {
				t.Errorf("%c becomes %q, %v; want %q", r, got, err, want)
			}
		}
	}
	if letters != 67 {
		t.Errorf("%d marked letters, Vietnamese has 67", letters)
	}
}

func FuzzPurpose(f *testing.F) {
	for _, seed := range []string{"chuyển khoản", "  a   b  ", "a|b", "越南", "\xff"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, content string) {
		got, err := Purpose(content)
		if err != nil {
			return
		}
		again, err := Purpose(got)
		if err != nil || again != got {
			t.Fatalf("Purpose(%q) = %q, and of that %q, %v", content, got, again, err)
		}
		if len(got) > MaxPurpose || strings.Contains(got, "  ") || strings.TrimSpace(got) != got {
			t.Fatalf("Purpose(%q) = %q", content, got)
		}
	})
}

func TestPNGAndSVGShowTheSameCode(t *testing.T) {
	q := VietQR{BIN: "970422", Account: "1234567890123456789", Amount: MaxVND, Purpose: strings.Repeat("A", MaxPurpose)}
	raw, err := q.PNG()
	if err != nil {
		t.Fatal(err)
	}
	picture, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	svg, err := q.SVG()
	if err != nil {
		t.Fatal(err)
	}
	dark, side := svgModules(t, string(svg))
	const scale = 8
	if got := picture.Bounds().Dx(); got != side*scale {
		t.Fatalf("the PNG is %d pixels wide, the SVG %d modules", got, side)
	}
	for y := range side {
		for x := range side {
			red, _, _, _ := picture.At(x*scale+scale/2, y*scale+scale/2).RGBA()
			if dark[[2]int{x, y}] != (red == 0) {
				t.Fatalf("module %d,%d differs", x, y)
			}
		}
	}
}

// svgModules returns the dark modules that the runs of an SVG's path cover.
func svgModules(t *testing.T, svg string) (dark map[[2]int]bool, side int) {
	t.Helper()
	if _, err := fmt.Sscanf(svg[strings.Index(svg, "viewBox"):], `viewBox="0 0 %d`, &side); err != nil {
		t.Fatal(err)
	}
	_, path, _ := strings.Cut(svg, ` d="`)
	path, rest, _ := strings.Cut(path, `"`)
	if rest != "/></svg>" {
		t.Fatalf("the SVG ends with %q", rest)
	}
	dark = make(map[[2]int]bool)
	for run := range strings.SplitSeq(strings.TrimSuffix(path, "z"), "z") {
		var x, y, forth, back int
		if _, err := fmt.Sscanf(run, "M%d %dh%dv1h-%d", &x, &y, &forth, &back); err != nil || forth != back {
			t.Fatalf("run %q: %v", run, err)
		}
		for i := range forth {
			dark[[2]int{x + i, y}] = true
		}
	}
	return dark, side
}
