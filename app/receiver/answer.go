package receiver

// Always answers every request with a.
func Always(a Answer) func(Received) Answer {
	return func(Received) Answer { return a }
}

// FailFirst answers the first n requests of every id with failure and the
// others with then.
func FailFirst(n int, failure, then Answer) func(Received) Answer {
	return func(got Received) Answer {
		if got.Times <= n {
			return failure
		}
		return then
	}
}

// FailEvery answers the first request of every nth id with failure and all
// others with then. n is at least 1.
func FailEvery(n int, failure, then Answer) func(Received) Answer {
	return func(got Received) Answer {
		if got.FirstTime && got.Nth%n == 0 {
			return failure
		}
		return then
	}
}
