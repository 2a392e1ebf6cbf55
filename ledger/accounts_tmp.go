package ledger

// atDoor is l for what anybody can ask for without having signed in.
func (l *Ledger) atDoor() *Ledger { return l.over(l.db.AtDoor()) }
