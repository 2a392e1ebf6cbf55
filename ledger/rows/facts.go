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
	// FactHeldBack and FactLetGo count the breakers that opened and closed by
	// themselves; a probe that fails opens none again.
	FactHeldBack = "breaker_opened"
	FactLetGo    = "breaker_closed"
	// FactOrder begins the names of the facts that count orders by the final
	// status that they reached.
	FactOrder = "order_"
)
