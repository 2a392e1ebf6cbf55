package main

import (
	"cmp"
	"time"

	"ledgerhook/bench/stage"
)

// fault is one known way to lose or to double events.
type fault struct {
	name        string
	covered     bool // by tests of their own: the acceptance tests, or the ledger's and the queue's
	slow        bool // mostly by waiting
	alone       bool // one gateway is enough
	apart       bool // the first gateway serves the API, the second is the worker
	ownDatabase bool // that it may take away
	link        bool // a way to Redis that it may cut
	upgrades    bool // begins with the release that -from names
	env         map[string]string
	with        string        // the tests play it at the same time as others of this name, on the same gateways
	within      time.Duration // it has to be made good; 0: soon
	play        func(*scene, fault)

	// What its scene gives it.
	database *stage.Store
	cut      *link
}

// soon is how long it may take until all is made good once the stores are back.
const soon = 10 * time.Second

func (f fault) allowed() time.Duration { return cmp.Or(f.within, soon) }

// The times that other rules than the ten seconds give.
const (
	afterDeath   = 20 * time.Second // 5 s of silence, then everything that was in flight once more
	afterClaim   = 40 * time.Second // a claim whose commit nobody knows of is given up after 30 s
	afterBreaker = 4 * time.Minute  // its pause of 30 s doubles, and the receiver is slow
)

// What faults leave each other alone for.
const (
	peaceful  = "peaceful"  // they harm nothing but their own receivers
	ended     = "ended"     // the same, with deliveries that end after two attempts
	forgotten = "forgotten" // Redis forgets what it knew, which none of them minds
)

// twice has deliveries end after two attempts.
var twice = map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s,1s"}

// all are the faults of the delivery rules' list by their numbers there. The
// slowest come first in the tests. Those that need no process and no store to
// fail are held where the rule is: what a partner may see (21) and hostile
// bodies (22) by the interfaces' tests, group commits (23) by the ledger's.
var all = []fault{
	{name: "01 killed before the queue heard", covered: true, apart: true, play: unheard},
	{name: "02 FLUSHALL", covered: true, apart: true, play: strikeUnderLoad(flush)},
	{name: "02 Redis restarts empty", covered: true, apart: true, play: strikeUnderLoad(restartRedis)},
	{name: "02 lease keys deleted", apart: true, with: forgotten, play: strikeUnderLoad(deleteLeases)},
	{name: "03 kill -9 with many in flight", apart: true, within: afterDeath, env: map[string]string{"LEDGERHOOK_WORKER_CONCURRENCY": "4000"}, play: killWorker},
	{name: "03 rolling restarts", within: afterDeath, play: rollingRestarts},
	{name: "03 rolling restarts by request", covered: true, play: stoppedInTurn},
	{name: "03 upgrade under load", upgrades: true, ownDatabase: true, play: upgrade},
	{name: "04a killed after the POST", covered: true, alone: true, within: afterDeath, play: killedAfterPost},
	{name: "04b killed before the queue's ack", apart: true, link: true, play: killedBeforeAck},
	{name: "05 database away", covered: true, ownDatabase: true, play: databaseAway},
	{name: "database read-only", alone: true, ownDatabase: true, play: databaseReadOnly},
	{name: "Redis takes nothing", covered: true, alone: true, play: strikeUnderLoad(redisTakesNothing)},
	{name: "connections killed", covered: true, alone: true, ownDatabase: true, within: afterClaim, play: connectionsKilled},
	{name: "a process is frozen", covered: true, within: afterDeath, play: processFrozen},
	{name: "a clock 40 days ahead", covered: true, alone: true, ownDatabase: true, play: clockAhead},
	{name: "a clock set back by 400 s", covered: true, alone: true, ownDatabase: true, within: afterDeath, play: clockSetBack},
	{name: "06 one key 50 times", alone: true, with: peaceful, play: sameKey},
	{name: "07 retry against reconciler", with: forgotten, within: time.Minute, play: retryAgainstReconciler},
	{name: "08 queue holds the task's id", alone: true, with: peaceful, within: time.Minute, play: occupiedTaskID},
	{name: "09 black hole beside a healthy partner", alone: true, with: peaceful, play: blackHole},
	{name: "10 backlog behind an open breaker", slow: true, alone: true, within: afterBreaker, play: parkedBehindBreaker},
	{name: "11 receiver answers 503", alone: true, with: peaceful, within: afterBreaker, play: answers503},
	{name: "12 one bad event", alone: true, with: peaceful, within: time.Minute, play: oneBadEvent},
	{name: "13 strange answers", alone: true, with: ended, env: twice, play: strangeAnswers},
	{name: "14 redirect", alone: true, with: ended, env: twice, play: redirect},
	{name: "15 idle connections closed", alone: true, with: peaceful, play: idleClosed},
	{name: "16 pause and resume", alone: true, with: peaceful, play: pauseAndResume},
	{name: "17 amounts and texts", alone: true, with: peaceful, play: amountsAndTexts},
	{name: "18 order of a subject", alone: true, with: peaceful, within: time.Minute, play: orderByKey},
	{name: "19 bulk replay", alone: true, with: ended, env: twice, within: time.Minute, play: bulkReplay},
	{name: "19 killed amid a bulk replay", within: afterDeath, env: map[string]string{"LEDGERHOOK_DELIVERY_RETRY": "0s"}, play: killedAmidReplay},
	{name: "20 secret rotation", alone: true, with: peaceful, play: secretRotation},
}
