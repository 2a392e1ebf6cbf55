package rows

// The facts that rollups count beside the states in which deliveries end.
const (
	// FactCreated counts deliveries.
	FactCreated = "created"
	// FactAttempt begins the names of the facts that count attempts.
	FactAttempt = "attempt_"
	// FactSettled counts deliveries that ended exhausted in the hour, and whose
	// event another delivery has brought to the endpoint.
	FactSettled = "settled"
	// FactOrder begins the names of the facts that count orders by the final
	// status that they reached.
	FactOrder = "order_"
)
