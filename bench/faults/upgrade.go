package main

import (
	"strings"
	"time"

	"ledgerhook/bench/program"
	"ledgerhook/bench/stage"
)

// nextSteps are what the next release could add to the schema: a table, and a
// column that every row of the delivery path gets.
func nextSteps() map[string]string {
	steps := map[string]string{}
	for _, database := range []string{"postgres", "sqlite"} {
		steps["ledger/database/migrations/"+database+"/90000_next.sql"] = `-- +goose Up
CREATE TABLE of_tomorrow (id TEXT PRIMARY KEY);
ALTER TABLE events ADD COLUMN of_tomorrow TEXT NOT NULL DEFAULT '';
ALTER TABLE deliveries ADD COLUMN of_tomorrow BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE deliveries DROP COLUMN of_tomorrow;
ALTER TABLE events DROP COLUMN of_tomorrow;
DROP TABLE of_tomorrow;
`
	}
	return steps
}

// upgradeLasts is for how many seconds events come: longer than it takes to
// start a process four times.
const upgradeLasts = 12

// upgrade migrates the database to the next release's schema while this one
// accepts and delivers, has a process of this one start on that schema, then
// replaces one process after the other. With -from this release is the next
// one, of that which is named.
func upgrade(s *scene, _ fault) {
	next := ""
	if s.from == "" {
		path, remove, err := program.BuildNext(nextSteps())
		if err != nil {
			s.Fatal(err)
		}
		s.Cleanup(remove)
		next = path
	}
	events := upgradeLasts * s.rate
	s.load(events, stage.TakeAll)
	s.reach(events / 5)
	s.strike()
	migrator := stage.Served(s, s.gateways[0].Env["LEDGERHOOK_DATABASE_URL"], s.cache)
	migrator.Program = next
	if said := migrator.Run(time.Minute, "migrate"); s.from == "" && !strings.Contains(said, "1 schema steps applied") {
		s.Errorf("migrate says %s", said)
	}
	s.reach(2 * events / 5)
	for i, g := range []*stage.Gateway{s.gateways[1], s.gateways[1], s.gateways[0]} {
		s.strike()
		if code := g.Terminate(40 * time.Second); code != 0 {
			s.Errorf("a gateway that was asked to stop ended with %d", code)
		}
		if i > 0 { // at first it starts once more as it was
			g.Program = next
		}
		g.Start()
		s.reach((3 + i) * events / 5)
	}
	s.settle(limit)
}
