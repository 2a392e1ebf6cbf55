package rows

// The facts that rollups count beside the states in which deliveries end.
const (
	// FactCreated counts deliveries.
	FactCreated = "created"
	// FactAttempt begins the names of the facts that count attempts.
	FactAttempt = "attempt_"
	// FactOrder begins the names of the facts that count orders by the final
	// status that they reached.
	FactOrder = "order_"
)
