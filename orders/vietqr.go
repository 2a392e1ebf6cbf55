package orders

import (
	"fmt"
	"strconv"
	"strings"

	"rsc.io/qr"
)

// VietQR is what a payer's banking application needs for one transfer. Its
// fields must be clean already: see Banks.Find, Purpose and NewOrder.
type VietQR struct {
	BIN        string // the bank, six digits
	Account    string // account or card number, 1 to 19 characters of A-Z a-z 0-9
	Card       bool   // Account is a card number
	Amount     int64  // dong, at most 13 digits; 0: the payer types it (a static code)
	BillNumber string // at most 25 characters, may be empty
	Purpose    string // as Purpose returns it, or empty
}

// Payload is the EMVCo text of the code, as NAPAS lays it out.
func (q VietQR) Payload() string {
	initiation := "11"
	if q.Amount > 0 {
		initiation = "12"
	}
	service := "QRIBFTTA"
	if q.Card {
		service = "QRIBFTTC"
	}
	beneficiary := field("00", q.BIN) + field("01", q.Account)
	var b strings.Builder
	b.WriteString(field("00", "01"))
	b.WriteString(field("01", initiation))
	b.WriteString(field("38", field("00", "A000000727")+field("01", beneficiary)+field("02", service)))
	b.WriteString(field("53", "704"))
	if q.Amount > 0 {
		b.WriteString(field("54", strconv.FormatInt(q.Amount, 10)))
	}
	b.WriteString(field("58", "VN"))
	b.WriteString(field("62", field("01", q.BillNumber)+field("08", q.Purpose)))
	b.WriteString("6304")
	return b.String() + fmt.Sprintf("%04X", crc16(b.String()))
}

// field writes one tag with its length and value; an empty value is left out.
func field(tag, value string) string {
	if value == "" {
		return ""
	}
	return fmt.Sprintf("%s%02d%s", tag, len(value), value)
}

// crc16 is CRC-16/CCITT-FALSE: polynomial 0x1021, start 0xFFFF, not reflected.
func crc16(s string) uint16 {
	crc := uint16(0xFFFF)
	for i := range len(s) {
		crc ^= uint16(s[i]) << 8
		for range 8 {
			carry := crc&0x8000 != 0
			crc <<= 1
			if carry {
				crc ^= 0x1021
			}
		}
	}
	return crc
}

// quietZone is how many light modules a code needs around it.
const quietZone = 4

// PNG draws the code, eight pixels to the module, with its quiet zone.
func (q VietQR) PNG() ([]byte, error) {
	code, err := q.encode()
	if err != nil {
		return nil, err
	}
	return code.PNG(), nil
}

// SVG draws the code, one unit to the module, with its quiet zone. It scales
// to whatever size the page gives it.
func (q VietQR) SVG() ([]byte, error) {
	code, err := q.encode()
	if err != nil {
		return nil, err
	}
	side := code.Size + 2*quietZone
	var b strings.Builder
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %[1]d" shape-rendering="crispEdges">`, side)
	b.WriteString(`<rect width="100%" height="100%" fill="#fff"/><path fill="#000" d="`)
	for y := range code.Size {
		for x := 0; x < code.Size; x++ {
			start := x
			for code.Black(x, y) {
				x++
			}
			if run := x - start; run > 0 {
				fmt.Fprintf(&b, "M%d %dh%dv1h-%[3]dz", start+quietZone, y+quietZone, run)
			}
		}
	}
	b.WriteString(`"/></svg>`)
	return []byte(b.String()), nil
}

func (q VietQR) encode() (*qr.Code, error) {
	code, err := qr.Encode(q.Payload(), qr.M)
	if err != nil {
		return nil, fmt.Errorf("draw a VietQR code: %w", err)
	}
	return code, nil
}
