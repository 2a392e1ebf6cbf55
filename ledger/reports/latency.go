package reports

import (
	"context"
	"slices"
	"time"

	"ledgerhook/ledger/rows"
	"ledgerhook/partners"
)

// Latency is how many took how long: by LatencySteps, and last those that took
// more than the longest.
type Latency [len(rows.LatencySteps) + 1]int64

// LatencySteps are the times that a Latency tells apart, the shortest first.
func LatencySteps() []time.Duration { return rows.LatencySteps[:] }

// Count is how many there are.
func (l Latency) Count() (n int64) {
	for _, of := range l {
		n += of
	}
	return n
}

// Within is the place in LatencySteps of a step within which at least a share of
// them, from 0 to 1, took: the first that holds one more than the share, or all of
// them. It is the number of steps if that took more than the longest, -1 if there
// are none.
func (l Latency) Within(share float64) int {
	n := l.Count()
	rank := min(n, int64(share*float64(n))+1)
	for step, of := range l {
		if rank -= of; rank <= 0 && n > 0 {
			return step
		}
	}
	return -1
}

// PeriodLatency is how long things took in an hour or another time, in whose
// course their attempts were recorded. Tests are outside.
type PeriodLatency struct {
	Since         time.Time // its beginning, UTC
	Answers       Latency   // from the beginning of an attempt to its answer, or as long as it had if none came in time
	FirstAttempts Latency   // from a delivery's creation to the beginning of its first attempt; those of replays are not in it
}

// Latencies tells how long things took from each of the edges until the next, as
// Periods counts: of one partner, or of all that the scope holds (empty code).
// An older version of the program has told nothing of this.
func (l *Reports) Latencies(ctx context.Context, s partners.Scope, partnerCode string, edges []time.Time) ([]PeriodLatency, error) {
	if len(edges) < 2 {
		return nil, nil
	}
	periods := make([]PeriodLatency, len(edges)-1)
	for i := range periods {
		periods[i].Since = edges[i]
	}
	facts := slices.Concat(rows.Answers.Facts(), rows.FirstAttempts.Facts())
	err := l.eachFact(ctx, s, partnerCode, edges, facts, func(i int, fact string, n int64) {
		if step := rows.Answers.Step(fact); step >= 0 {
			periods[i].Answers[step] += n
		} else {
			periods[i].FirstAttempts[rows.FirstAttempts.Step(fact)] += n
		}
	})
	return periods, err
}
