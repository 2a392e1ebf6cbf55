package dashboard

import (
	"encoding/csv"
	"io"
	"strings"
)

// newCSV begins a file with the mark by which Excel knows UTF-8, without which
// it shows Vietnamese as something else. Its errors come with the flush.
func newCSV(w io.Writer) *csv.Writer {
	_, _ = io.WriteString(w, "\ufeff")
	return csv.NewWriter(w)
}

// cell keeps a spreadsheet from taking a text for a formula.
func cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
