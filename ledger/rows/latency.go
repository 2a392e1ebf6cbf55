package rows

import (
	"slices"
	"strconv"
	"time"
)

// LatencySteps are the times by which rollups tell how long something took, the
// shortest first: each counts what took at most so long and more than the one
// before. They are whole milliseconds.
var LatencySteps = [...]time.Duration{
	5 * time.Millisecond, 10 * time.Millisecond, 25 * time.Millisecond, 50 * time.Millisecond, 100 * time.Millisecond, 250 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2500 * time.Millisecond, 5 * time.Second, 10 * time.Second, 15 * time.Second, 30 * time.Second,
	time.Minute, 5 * time.Minute, 30 * time.Minute, 2 * time.Hour,
}

// Latency is something whose times rollups count: each of its facts is of a step.
type Latency struct{ facts []string }

// What rollups tell the times of.
var (
	// Answers took from the beginning of an attempt until its answer was read, or
	// as long as the attempt had if it was given up while it waited for one.
	Answers = latencyOf("answer_")
	// FirstAttempts began so long after their delivery was made.
	FirstAttempts = latencyOf("first_")
)

func latencyOf(name string) (l Latency) {
	for _, step := range LatencySteps {
		l.facts = append(l.facts, name+strconv.FormatInt(step.Milliseconds(), 10))
	}
	return Latency{append(l.facts, name+"more")}
}

// Fact is the fact that something took so long.
func (l Latency) Fact(took time.Duration) string {
	step, _ := slices.BinarySearch(LatencySteps[:], took)
	return l.facts[step]
}

// Facts are the facts of all steps, and of what took more than the longest.
func (l Latency) Facts() []string { return l.facts }

// Step is where a fact's step stands in LatencySteps, the number of these if it
// took more than the longest, and -1 if it is no fact of this one.
func (l Latency) Step(fact string) int { return slices.Index(l.facts, fact) }
