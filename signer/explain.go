package signer

import (
	"bytes"
	"crypto/rsa"
	"crypto/sha256"
	"fmt"
	"math/big"
	"slices"
	"strings"
)

// Explain says why a request's signature does not verify, as far as that can
// be told: an RSA signature discloses the digest of the text it was made over,
// and what partners commonly sign instead is tried against it. It is for the
// partner's developer.
func (r Request) Explain(secretKey string, public *rsa.PublicKey) Finding {
	digest, fault := signedDigest(public, r.Signature)
	if !fault.None() {
		return fault
	}
	slots := requestSlots[r.Operation]
	for _, text := range r.Candidates(secretKey) {
		values := strings.Split(text, "|")[:len(slots)] // no value holds a bar
		if said := explainText(slots, values, secretKey, digest); !said.None() {
			return said
		}
	}
	for _, op := range Operations {
		if text, ok := r.textOf(op, secretKey); ok && sha256.Sum256([]byte(text)) == digest {
			return found(foundOtherText, string(op))
		}
	}
	return found(foundOtherSecret)
}

// textOf is the text of another operation with the values of the request.
func (r Request) textOf(op Operation, secretKey string) (string, bool) {
	values := map[string]string{
		"partnerCode": r.PartnerCode, "userEmail": r.Email, "email": r.Email, "refreshToken": r.RefreshToken,
		"externalOrderId": r.ExternalOrderID, "fiatCurrency": r.FiatCurrency, "fiatAmount": r.FiatAmount.Canonical,
		"cryptoCurrency": r.CryptoCurrency, "currency": r.CryptoCurrency,
		"bankCode": r.BankCode, "bankAccountNumber": r.BankAccountNumber, "content": r.Content,
	}
	return join(requestSlots[op], values, secretKey), op != r.Operation
}

// explainText tries texts that differ in one thing from the right one.
func explainText(slots, values []string, secretKey string, digest [sha256.Size]byte) Finding {
	parts := append(slices.Clone(values), secretKey)
	signed := func(parts []string) bool { return sha256.Sum256([]byte(strings.Join(parts, "|"))) == digest }
	text := strings.Join(parts, "|")
	for end, said := range map[string]string{"\n": foundLineEnd, "\r\n": foundLineEnd, " ": foundBlank, "|": foundBar} {
		if sha256.Sum256([]byte(text+end)) == digest {
			return found(said)
		}
	}
	if signed(values) || signed(append(slices.Clone(values), "")) {
		return found(foundNoSecret)
	}
	for i, slot := range slots {
		for _, v := range variations(slot, values[i]) {
			if signed(slices.Concat(parts[:i], []string{v}, parts[i+1:])) {
				return found(foundOtherValue, slot, v, values[i])
			}
		}
		if signed(slices.Delete(slices.Clone(parts), i, i+1)) {
			return found(foundLeftOut, slot)
		}
		for j := i + 1; j < len(parts); j++ {
			swapped := slices.Clone(parts)
			if swapped[i], swapped[j] = swapped[j], swapped[i]; signed(swapped) {
				return found(foundSwapped, append(slices.Clone(slots), "secretKey")[j], slot)
			}
		}
	}
	return Finding{}
}

// variations are what is commonly signed in place of a value.
func variations(slot, value string) []string {
	all := []string{"", "null", "undefined", "None", "nil", strings.TrimSpace(value), " " + value, value + " ", value + "\n",
		strings.ToLower(value), strings.ToUpper(value), strings.Join(strings.Fields(value), " "), `"` + value + `"`}
	switch {
	case slot == "fiatAmount":
		whole, _, _ := strings.Cut(value, ".")
		all = append(all, value+".0", value+".00", value+".000000", whole, grouped(whole, ","), grouped(whole, "."))
		if d, ok := parseDecimal(value); ok && d.digits != "" {
			mantissa := strings.TrimSuffix(d.digits[:1]+"."+d.digits[1:], ".")
			for _, form := range []string{"%se%d", "%sE%d", "%se+%02d", "%sE+%02d"} {
				all = append(all, fmt.Sprintf(form, mantissa, d.point-1))
			}
		}
	case slot == "fiatCurrency" || slot == "currency" || slot == "cryptoCurrency":
		all = append(all, "VND", "USDT")
	}
	return all
}

// grouped writes a whole number in groups of three digits.
func grouped(digits, separator string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + separator + digits[i:]
	}
	return digits
}

// sha256Info precedes the digest inside a PKCS#1 v1.5 signature (RFC 8017, 9.2).
var sha256Info = []byte{0x30, 0x31, 0x30, 0x0d, 0x06, 0x09, 0x60, 0x86, 0x48, 0x01, 0x65, 0x03, 0x04, 0x02, 0x01, 0x05, 0x00, 0x04, 0x20}

// signedDigest is the digest that a signature was made over, or what is wrong
// with the signature itself.
func signedDigest(public *rsa.PublicKey, signatureBase64 string) (digest [sha256.Size]byte, fault Finding) {
	signature, err := decodeBase64(signatureBase64)
	switch {
	case err != nil:
		return digest, found(foundNoBase64)
	case len(signature) != public.Size():
		return digest, found(foundSize, len(signature), public.Size())
	}
	number := new(big.Int).SetBytes(signature)
	if number.Cmp(public.N) >= 0 {
		return digest, found(foundOtherKey)
	}
	padded := number.Exp(number, big.NewInt(int64(public.E)), public.N).FillBytes(make([]byte, public.Size()))
	filling := bytes.Repeat([]byte{0xff}, len(padded)-3-len(sha256Info)-len(digest))
	begin := slices.Concat([]byte{0, 1}, filling, []byte{0}, sha256Info)
	switch {
	case bytes.HasPrefix(padded, begin):
		copy(digest[:], padded[len(begin):])
		return digest, Finding{}
	case padded[0] == 0 && padded[1] == 1:
		return digest, found(foundOtherDigest)
	case padded[len(padded)-1] == 0xbc:
		return digest, found(foundOtherPadding)
	}
	return digest, found(foundOtherKey)
}
