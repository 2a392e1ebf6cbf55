package orders

import (
	"encoding/csv"
	"slices"
	"strings"
	"testing"
)

func loadBanks(t testing.TB, minSources int) *Banks {
	t.Helper()
	b, err := LoadBanks(minSources)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBanksAreFoundByAnyOfTheirCodes(t *testing.T) {
	banks := loadBanks(t, DefaultBankSources)
	for code, bin := range map[string]string{
		"970436": "970436", "VCB": "970436", "vcb": "970436", "BFTVVNVX": "970436", "bftvvnvx": "970436",
		"ICB": "970415", "CTG": "970415", "vtb": "970415",
		"546035": "546035", "ubank": "546035",
		"Vietcombank": "970436", "VIETINBANK": "970415", "BFTVVNVXXXX": "970436", "ICBVVNVX123": "970415",
		"MBV": "970414", // an alias of a bank without a BIC
	} {
		if bank, err := banks.Find(code); err != nil || bank.BIN != bin {
			t.Errorf("Find(%q) = %s, %v; want %s", code, bank.BIN, err, bin)
		}
	}
}

func TestBanksThatCannotBePaidAreRefused(t *testing.T) {
	banks := loadBanks(t, DefaultBankSources)
	for _, code := range []string{
		"", " ", "NOPE", "VCB ", "000000",
		"970458", "UOB", // takes no transfers
		"963369",                  // one source only
		"VTLMONEY",                // two
		"CZNBVN2X", "CZNBVN2XXXX", // a BIC without transfers
		"BFTVVNVXX", "BFTVVNVXXXXX", "AAAAVNVXXXX", "VCBXXX",
		"970436\x00",
	} {
		if bank, err := banks.Find(code); keyOf(err) != KeyBankNotSupported {
			t.Errorf("Find(%q) = %s, %v; want %s", code, bank.BIN, err, KeyBankNotSupported)
		}
	}
}

func TestEveryRowOfTheListIsKept(t *testing.T) {
	rows, err := csv.NewReader(strings.NewReader(banksCSV)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	strict, all := loadBanks(t, DefaultBankSources), loadBanks(t, 0)
	for _, row := range rows[1:] {
		if got := all.byCode[row[colBIN]]; got.BIN != row[colBIN] || got.Code != row[colCode] || got.Name == "" {
			t.Errorf("%s reads as %+v", row[colBIN], got)
		}
		payable := row[colTransfers] == "1" && row[colSources] >= "3"
		for _, code := range slices.Concat(row[:colAliases], row[colBIC:colKind], strings.Split(row[colAliases], "|")) {
			bank, err := strict.Find(code)
			if payable && code != "" && (err != nil || bank.BIN != row[colBIN]) {
				t.Errorf("Find(%q) = %s, %v; want %s", code, bank.BIN, err, row[colBIN])
			}
		}
		if _, err := strict.Find(row[colBIN]); (err == nil) != payable {
			t.Errorf("%s: %v, payable %t", row[colBIN], err, payable)
		}
	}
}
