package orders

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
)

//go:embed vn_banks.csv
var banksCSV string

// DefaultBankSources is how many independent lists must name a bank before
// money is sent by it.
const DefaultBankSources = 3

// Bank is a bank of Vietnam.
type Bank struct {
	BIN       string // six digits, the canonical code
	Code      string // short code, like VCB
	ShortName string
	Name      string // the full Vietnamese name
	BIC       string // may be empty
	Transfers bool   // takes VietQR transfers
}

// Banks finds banks by any of their codes.
type Banks struct {
	byCode map[string]Bank
}

// The columns of vn_banks.csv.
const (
	colBIN = iota
	colCode
	colAliases // separated by bars
	colShortName
	colName
	colBIC
	colKind
	colTransfers
	colSources
	bankColumns
)

// LoadBanks reads the built-in list, leaving out banks that fewer than
// minSources lists name. It fails only if the list itself is broken.
func LoadBanks(minSources int) (*Banks, error) {
	r := csv.NewReader(strings.NewReader(banksCSV))
	r.FieldsPerRecord = bankColumns
	rows, err := r.ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the list of banks: %w", err)
	}
	b := &Banks{byCode: make(map[string]Bank)}
	for _, row := range rows[1:] {
		sources, err := strconv.Atoi(row[colSources])
		if err != nil {
			return nil, fmt.Errorf("read the list of banks: sources of %s: %w", row[colBIN], err)
		}
		if sources >= minSources {
			b.add(row)
		}
	}
	return b, nil
}

// add enters a bank under all its codes. Where two rows share a code, the
// first keeps it: the second is a further BIN or branch of the same bank.
func (b *Banks) add(row []string) {
	bank := Bank{
		BIN:       row[colBIN],
		Code:      row[colCode],
		ShortName: row[colShortName],
		Name:      row[colName],
		BIC:       row[colBIC],
		Transfers: row[colTransfers] == "1",
	}
	codes := append([]string{bank.BIN, bank.Code, bank.BIC}, strings.Split(row[colAliases], "|")...)
	for _, code := range codes {
		code = strings.ToUpper(code)
		if _, taken := b.byCode[code]; !taken && code != "" {
			b.byCode[code] = bank
		}
	}
}

// Find returns the bank of a BIN, short code, BIC or alias in any case. The
// error has the key BANK_NOT_SUPPORTED if there is none or it takes no
// transfers ("Bank codes" of the interface decisions).
func (b *Banks) Find(code string) (Bank, error) {
	bank, ok := b.byCode[strings.ToUpper(code)]
	if !ok || !bank.Transfers {
		return Bank{}, &Error{Key: KeyBankNotSupported}
	}
	return bank, nil
}
