package ledger

// The facts that rollups count beside the states in which deliveries end.
const (
	// factCreated counts deliveries.
	factCreated = "created"
	// factAttempt begins the names of the facts that count attempts.
	factAttempt = "attempt_"
	// factOrder begins the names of the facts that count orders by the final
	// status that they reached.
	factOrder = "order_"
)
