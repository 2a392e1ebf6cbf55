package orders

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"regexp"
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
	byCode map[string]Bank // in capitals
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
	var names [][]string
	for _, row := range rows[1:] {
		sources, err := strconv.Atoi(row[colSources])
		if err != nil {
			return nil, fmt.Errorf("read the list of banks: sources of %s: %w", row[colBIN], err)
		}
		if sources >= minSources {
			b.add(row)
			names = append(names, row)
		}
	}
	for _, row := range names { // behind all codes, which they give way to
		b.enter(row[colShortName], b.byCode[row[colBIN]])
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
		b.enter(code, bank)
	}
}

func (b *Banks) enter(code string, bank Bank) {
	code = strings.ToUpper(code)
	if _, taken := b.byCode[code]; !taken && code != "" {
		b.byCode[code] = bank
	}
}

// branchBIC is a BIC with its branch, which is a matter of the bank's own.
var branchBIC = regexp.MustCompile(`^([A-Z]{4}VN[A-Z0-9]{2})[A-Z0-9]{3}$`)

// Find returns the bank of a BIN, short code, BIC with or without its branch,
// alias or short name in any case. The error has the key BANK_NOT_SUPPORTED if there is none or it takes no
// transfers ("Bank codes" of the interface decisions).
func (b *Banks) Find(code string) (Bank, error) {
	code = strings.ToUpper(code)
	bank, ok := b.byCode[code]
	if bic := branchBIC.FindStringSubmatch(code); !ok && bic != nil {
		bank, ok = b.byCode[bic[1]]
	}
	if !ok || !bank.Transfers {
		return Bank{}, &Error{Key: KeyBankNotSupported}
	}
	return bank, nil
}

// spellings are the texts that are taken for a bank, as they are listed and in
// small letters.
func (b *Banks) spellings(bank Bank) (codes []string) {
	for code, each := range b.byCode {
		if each.BIN == bank.BIN {
			codes = append(codes, code, strings.ToLower(code))
		}
	}
	return append(codes, bank.ShortName)
}
