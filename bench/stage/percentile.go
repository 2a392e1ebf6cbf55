package stage

import (
	"slices"
	"time"
)

// Percentile sorts times and returns the one that so many of a hundred do not
// exceed; 0 if there are none.
func Percentile(times []time.Duration, of int) time.Duration {
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return times[(len(times)*of+99)/100-1]
}
