package config

import (
	"maps"
	"slices"
)

// nearest returns the known name that is fewest edits away from name.
func nearest(name string, known map[string]bool) string {
	best, least := "", -1
	for _, candidate := range slices.Sorted(maps.Keys(known)) {
		if d := edits(name, candidate); least < 0 || d < least {
			best, least = candidate, d
		}
	}
	return best
}

// edits is the Levenshtein distance of a and b, in bytes.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
