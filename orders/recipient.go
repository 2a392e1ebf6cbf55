package orders

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The values of recipientType; an empty one means RecipientAccount.
const (
	RecipientAccount = "ACCOUNT"
	RecipientCard    = "CARD"
)

// ExtendInfo says whom an order pays. All of it is optional, but a bank needs
// an account number and the other way round.
type ExtendInfo struct {
	TransferContent   string
	RecipientName     string
	RecipientNumber   string
	RecipientBankCode string
	RecipientType     string
}

// maxRecipientName is how many characters a recipientName has at most.
const maxRecipientName = 100

var accountFormat = regexp.MustCompile(`^[A-Za-z0-9]{1,19}$`)

// transfer checks e and returns the bank transfer it asks for, which is empty
// without a recipient. Absent content becomes fallback.
func (e ExtendInfo) transfer(banks *Banks, fallback string) (BankTransfer, error) {
	if t := e.RecipientType; t != "" && t != RecipientAccount && t != RecipientCard {
		return BankTransfer{}, &Error{Key: KeyInvalidField, Field: "extendInfo.recipientType", Detail: "must be ACCOUNT, CARD or empty"}
	}
	invisible := func(r rune) bool { return r == utf8.RuneError || !unicode.IsGraphic(r) }
	if name := e.RecipientName; utf8.RuneCountInString(name) > maxRecipientName || strings.ContainsFunc(name, invisible) {
		return BankTransfer{}, &Error{Key: KeyInvalidField, Field: "extendInfo.recipientName", Detail: "must be at most 100 visible characters"}
	}
	content := fallback
	if e.TransferContent != "" {
		var err error
		if content, err = Purpose(e.TransferContent); err != nil {
			return BankTransfer{}, err
		}
	}
	if e.RecipientNumber == "" && e.RecipientBankCode == "" {
		return BankTransfer{}, nil
	}
	if e.RecipientBankCode == "" {
		return BankTransfer{}, &Error{Key: KeyMissingField, Field: "extendInfo.recipientBankCode"}
	}
	if e.RecipientNumber == "" {
		return BankTransfer{}, &Error{Key: KeyMissingField, Field: "extendInfo.recipientNumber"}
	}
	bank, err := banks.Find(e.RecipientBankCode)
	if err != nil {
		return BankTransfer{}, err
	}
	if !accountFormat.MatchString(e.RecipientNumber) {
		return BankTransfer{}, &Error{Key: KeyAccountInvalid}
	}
	return BankTransfer{
		BankBIN:       bank.BIN,
		BankName:      bank.ShortName,
		AccountName:   e.RecipientName,
		AccountNumber: e.RecipientNumber,
		Card:          e.RecipientType == RecipientCard,
		Content:       content,
	}, nil
}
