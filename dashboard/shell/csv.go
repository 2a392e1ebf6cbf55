package shell

import (
	"encoding/csv"
	"io"
	"strings"
)

// NewCSV begins a file with the mark by which Excel knows UTF-8, without which
// it shows Vietnamese as something else. Its errors come with the flush.
func NewCSV(w io.Writer) *csv.Writer {
	_, _ = io.WriteString(w, "\ufeff")
	return csv.NewWriter(w)
}

// Cell keeps a spreadsheet from taking a text for a formula.
func Cell(text string) string {
	if text != "" && strings.ContainsRune("=+-@\t\r", rune(text[0])) {
		return "'" + text
	}
	return text
}
