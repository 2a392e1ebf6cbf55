package ledger

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"ledgerhook/ledger/audit"
	"ledgerhook/ledger/database"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

// fact is something that became true for a partner and never changes again.
type fact struct {
	hour, minute  int64 // the minute as the first of its slots, 0: not told
	partner, name string
}

// count counts facts of this batch, by the minute.
func (b *batch) count(partner, name string, n int) {
	b.add(fact{database.Micros(b.now) / database.HourMicros, database.MinuteSlot(b.now), partner, name}, n)
}

// countAt counts facts of the hour of at, in which something may have been
// folded already.
func (b *batch) countAt(at time.Time, partner, name string, n int) {
	b.add(fact{database.Micros(at) / database.HourMicros, 0, partner, name}, n)
}

func (b *batch) add(f fact, n int) {
	if b.facts == nil {
		b.facts = map[fact]int{}
	}
	b.facts[f] += n
}

// ended counts a delivery that has ended and lets the next of its group go.
// Tests are outside all counts.
func (b *batch) ended(trigger webhook.Trigger, partner string, state webhook.State, endpointID, orderingKey string) {
	if trigger == webhook.TriggerTest {
		return
	}
	b.count(partner, string(state), 1)
	if orderingKey != "" {
		b.freed = append(b.freed, orderedGroup{endpointID, orderingKey})
	}
}

// inOrder returns facts in the order in which every batch locks their rows.
func inOrder(facts map[fact]int) []fact {
	return slices.SortedFunc(maps.Keys(facts), func(x, y fact) int {
		return cmp.Or(cmp.Compare(x.hour, y.hour), cmp.Compare(x.partner, y.partner), cmp.Compare(x.name, y.name), cmp.Compare(x.minute, y.minute))
	})
}

// storeFacts adds the batch's facts to the rollups, of each partner and of all.
func (b *batch) storeFacts(ctx context.Context) error {
	if len(b.facts) == 0 {
		return nil
	}
	sorted := inOrder(b.facts)
	t := b.statement().Add("INSERT INTO rollups (hour, partner_code, fact, slot, n) ")
	t.Values(len(sorted), func(i int) []any {
		return []any{sorted[i].hour, sorted[i].partner, sorted[i].name, sorted[i].minute + int64(b.stripe%rollupStripes), b.facts[sorted[i]]}
	})
	if err := b.later(ctx, t.Add(" ON CONFLICT (hour, partner_code, fact, slot) DO UPDATE SET n = rollups.n + excluded.n")); err != nil {
		return err
	}
	all := map[fact]int{} // of no partner
	for f, n := range b.facts {
		all[fact{f.hour, f.minute, "", f.name}] += n
	}
	sorted = inOrder(all)
	t = b.statement().Add("INSERT INTO rollups_all (hour, fact, slot, n) ")
	t.Values(len(sorted), func(i int) []any {
		return []any{sorted[i].hour, sorted[i].name, sorted[i].minute + int64(b.stripe), all[sorted[i]]}
	})
	return b.later(ctx, t.Add(" ON CONFLICT (hour, fact, slot) DO UPDATE SET n = rollups_all.n + excluded.n"))
}

// note writes an act of the gateway itself into the audit log with the batch.
func (b *batch) note(action, target, detail string) {
	b.notes = append(b.notes, partners.AuditEntry{Actor: "ledgerhook", Action: action, Target: target, Detail: detail})
}

// acted writes the entries of an act upon target with the batch. It comes last
// in an alteration, since one that is refused has written nothing.
func (b *batch) acted(by []partners.AuditEntry, target, detail string) {
	b.notes = append(b.notes, audit.About(by, target, detail)...)
}

func (b *batch) storeNotes(ctx context.Context) error {
	if len(b.notes) == 0 {
		return nil
	}
	return audit.Append(ctx, b.tx, b.notes, b.now)
}
