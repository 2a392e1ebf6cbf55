package seals

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"ledgerhook/ledger/database"
)

// holdTime is how long after its last word a process counts as running, by the
// database's clock.
const holdTime = 15 * time.Second

// Hold says that a process runs and which master keys it knows, the one that it
// seals with first.
func (s *Seals) Hold(ctx context.Context, process, host string, keys []string) error {
	_, err := s.db.Write.ExecContext(ctx, "INSERT INTO master_key_holders (id, host, keys, seen_at) VALUES ($1, $2, $3, "+s.db.Clock+
		") ON CONFLICT (id) DO UPDATE SET keys = excluded.keys, seen_at = excluded.seen_at", process, host, strings.Join(keys, " "))
	return err
}

// Release says that a process no longer runs.
func (s *Seals) Release(ctx context.Context, process string) error {
	_, err := s.db.Write.ExecContext(ctx, "DELETE FROM master_key_holders WHERE id = $1", process)
	return err
}

// Forget forgets the processes that have broken off, or all of them: an embedded
// ledger has no other process than the one that opens it.
func (s *Seals) Forget(ctx context.Context, all bool) error {
	query := "DELETE FROM master_key_holders"
	if !all {
		query += " WHERE NOT " + s.runs()
	}
	_, err := s.db.Write.ExecContext(ctx, query)
	return err
}

// runs says in SQL that a process has said so, by a clock that was not ahead.
func (s *Seals) runs() string {
	hold := strconv.FormatInt(holdTime.Microseconds(), 10)
	return "(seen_at > " + s.db.Clock + " - " + hold + " AND seen_at <= " + s.db.Clock + " + " + hold + ")"
}

// holders are where the processes run that do not know a master key, and those
// that know it and seal with another.
func (s *Seals) holders(ctx context.Context, key string) (unaware, unturned []string, err error) {
	t := new(database.Statement).Add("SELECT host, keys FROM master_key_holders WHERE " + s.runs() + " ORDER BY host, id")
	err = t.Query(ctx, s.db.Read, func(row database.Row) error {
		var host, keys string
		err := row.Scan(&host, &keys)
		switch known := strings.Fields(keys); slices.Index(known, key) {
		case -1:
			unaware = append(unaware, host)
		case 0:
		default:
			unturned = append(unturned, host)
		}
		return err
	})
	return unaware, unturned, err
}
