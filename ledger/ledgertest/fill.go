package ledgertest

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"ledgerhook/ledger"
	"ledgerhook/ledger/database"
	"ledgerhook/ledger/rows"
	"ledgerhook/orders"
	"ledgerhook/partners"
	"ledgerhook/webhook"
)

const (
	fillPartners = 50
	fillDays     = 29 // within the retention
	fillChunk    = 5000
	fillMany     = 50_000 // from here on, to make the indexes at the end takes less time than to keep them
	fillToday    = 20_000 // of so many, the least that are of today
	fillAttempts = 14     // of an exhausted delivery
	fillOrders   = 8      // of a partner
)

// Fill puts n deliveries of the last 29 days into a migrated ledger that no
// process has open, and that has had nothing yet: of 50 partners, some with
// two endpoints, one of them failing and one paused; of every type and state
// but those that are just under way; with their events, attempts, rollups,
// idempotency keys and objects; and some orders of every status with theirs.
// What the ledger promises of its own counts holds. The same n gives the same
// mixture.
func Fill(ctx context.Context, o database.Options, n int) error {
	f := &filling{random: rand.New(rand.NewPCG(7, uint64(n))), now: time.Now().UTC(), facts: map[fillFact]int64{}}
	if err := f.register(ctx, o); err != nil {
		return fmt.Errorf("register partners: %w", err)
	}
	sink, err := openSink(ctx, o)
	if err != nil {
		return err
	}
	var indexes []string
	if n >= fillMany {
		if indexes, err = sink.dropIndexes(ctx); err != nil {
			return errors.Join(err, sink.close(ctx))
		}
	}
	for i := range n {
		f.deliver(f.when(i, n), i)
		if len(f.deliveries) == fillChunk || i == n-1 {
			if err := f.flush(ctx, sink); err != nil {
				return errors.Join(err, sink.close(ctx))
			}
		}
	}
	if err := f.moveOrders(ctx, sink); err != nil {
		return errors.Join(err, sink.close(ctx))
	}
	for _, index := range indexes {
		if err := sink.exec(ctx, index); err != nil {
			return errors.Join(fmt.Errorf("%s: %w", index, err), sink.close(ctx))
		}
	}
	return errors.Join(f.finish(ctx, sink), sink.close(ctx))
}

// FillApart migrates an empty place for a ledger and fills it, in a process
// without the race detector: there it takes ten times as long.
func FillApart(t *testing.T, o database.Options, n int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "run", "ledgerhook/bench/fill", "-n", strconv.Itoa(n), "-database", o.DatabaseURL, "-data", o.DataDir)
	command.Env = append(os.Environ(), "CGO_ENABLED=0") // as programs are built
	said, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("fill in %d deliveries: %v\n%s", n, err, said)
	}
	t.Logf("%s", said)
}

// when is the time of the i-th of n deliveries. They come evenly, but of very
// many at least fillToday since midnight: whether PostgreSQL looks rows up in
// the day that has begun, or reads it as it lies, must not depend on the hour.
func (f *filling) when(i, n int) time.Time {
	start, midnight := f.now.AddDate(0, 0, -fillDays), f.now.Truncate(24*time.Hour)
	today := int(float64(n) * f.now.Sub(midnight).Seconds() / f.now.Sub(start).Seconds())
	if n >= fillMany {
		today = max(today, fillToday)
	}
	before := n - today
	if i < before {
		return start.Add(time.Duration(i+1) * (midnight.Sub(start) / time.Duration(before+1)))
	}
	return midnight.Add(time.Duration(i-before+1) * (f.now.Sub(midnight) / time.Duration(today+1)))
}

// fillEndpoint is an endpoint and what its window counts.
type fillEndpoint struct {
	id, partner                          string
	sequence, waitingFirst, waitingAgain int
	failing, paused                      bool
	lastSuccess                          int64
}

type fillFact struct {
	hour          int64
	partner, name string
}

// filling is what one Fill has made and not yet written.
type filling struct {
	random    *rand.Rand
	now       time.Time
	endpoints []*fillEndpoint
	orders    []orders.Order
	facts     map[fillFact]int64

	events, keys, objects, deliveries, attempts, changes [][]any
}

// register makes the partners and their endpoints in the ledger's own way.
func (f *filling) register(ctx context.Context, o database.Options) (err error) {
	l, err := Open(ctx, o, ledger.Options{})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	for day := fillDays + 1; day >= 0; day -= 7 {
		if err := l.DB.EnsurePartitions(ctx, f.now.AddDate(0, 0, -day)); err != nil {
			return err
		}
	}
	for i := range fillPartners {
		code := fmt.Sprintf("partner-%02d", i)
		p := partners.Partner{Code: code, Name: "Partner " + code[8:], PublicKey: []byte("none"), SealedSecret: []byte("none"),
			Settings: partners.DefaultSettings(), CreatedAt: f.now.AddDate(0, 0, -fillDays)}
		secret := partners.Secret{ID: webhook.NewID(webhook.SecretPrefix), PartnerCode: code, State: partners.SecretActive,
			Sealed: []byte("none"), CreatedAt: p.CreatedAt, ActivatedAt: p.CreatedAt}
		if err := l.CreatePartner(ctx, p, secret); err != nil {
			return err
		}
		for j := range 1 + i%3/2 {
			e, err := l.CreateEndpoint(ctx, webhook.Endpoint{PartnerCode: code,
				URL: fmt.Sprintf("https://hooks%d.%s.example.com/v%d", i%7, code, j+1), CreatedAt: p.CreatedAt,
				Window: webhook.Window{MaxInFlight: webhook.DefaultMaxInFlight}}, nil)
			if err != nil {
				return err
			}
			f.endpoints = append(f.endpoints, &fillEndpoint{id: e.ID, partner: code, failing: i == 3, paused: i == 5})
		}
		for j := range fillOrders {
			if err := f.order(ctx, l.Ledger, code, j); err != nil {
				return err
			}
		}
	}
	return nil
}

// order makes an order that awaits its payment.
func (f *filling) order(ctx context.Context, l *ledger.Ledger, code string, i int) error {
	price, err := orders.ParseAmount("25345.5")
	if err != nil {
		return err
	}
	amount := int64(500_000 + 10_000*f.random.IntN(200))
	c := orders.Create{PartnerCode: code, Email: "user@example.com", ExternalOrderID: fmt.Sprintf("shop-%s-%d", code[8:], i), Crypto: "USDT",
		FiatCurrency: orders.VND, FiatAmount: orders.Dong(amount), ExtendInfo: orders.ExtendInfo{TransferContent: fmt.Sprintf("ORDER %d", i),
			RecipientName: "NGUYEN VAN AN", RecipientNumber: "0011001932418", RecipientBankCode: "VCB"}}
	fiat, err := orders.ProductionLimits.Check(c.FiatAmount)
	if err != nil {
		return err
	}
	q, err := orders.NewQuote(code, c.Email, fiat, orders.Rate{Crypto: c.Crypto, Network: "TRC20", Price: price, WalletAddress: "TWallet1", UpdatedAt: f.now},
		orders.FeeRules{Processing: orders.FeeRule{Fixed: 1_000}}, orders.DefaultQuoteValidity)
	if err != nil {
		return err
	}
	banks, err := orders.LoadBanks(orders.DefaultBankSources)
	if err != nil {
		return err
	}
	o, err := orders.NewOrder(c, q, banks, 24*time.Hour)
	if err == nil {
		o, _, err = l.CreateOrder(ctx, o)
	}
	f.orders = append(f.orders, o)
	return err
}

// fillMoves are what the orders of a partner become, one after the other.
var fillMoves = [fillOrders][]orders.Status{
	{}, {orders.StatusFail}, {orders.StatusPaymentCompleted}, {orders.StatusError},
	{orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer},
	{orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusError},
	{orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess},
	{orders.StatusPaymentCompleted, orders.StatusProcessingTokenTransfer, orders.StatusSuccess},
}

// moveOrders lets orders become what they are, and notifies of it.
func (f *filling) moveOrders(ctx context.Context, sink fillSink) error {
	for i, o := range f.orders {
		moves := fillMoves[i%fillOrders]
		for _, to := range moves {
			from := o.Status
			next, _, err := o.Transition(to, orders.TransitionInput{TxHash: "0x7d5a99f603f231d53a4f39d1521f98d2e8bb279cf29bebfd0687dc98458e7f89"})
			if err != nil {
				return err
			}
			event, err := orders.UpdatedEvent(next, from)
			if err != nil {
				return err
			}
			f.notify(f.endpointOf(o.PartnerCode), event, fmt.Sprintf("%s\n%d", next.ID, next.Sequence), event.CreatedAt)
			f.changes = append(f.changes, []any{next.ID, next.Sequence, string(from), string(to), "a token", "", event.ID, next.UpdatedAt.UnixMicro()})
			if to.Final() {
				f.count(o.PartnerCode, "order_"+string(to), next.UpdatedAt.UnixMicro())
			}
			o = next
		}
		if len(moves) == 0 {
			continue
		}
		f.objects = append(f.objects, []any{o.PartnerCode, string(webhook.CashoutOrderUpdated), o.ExternalOrderID, string(o.Status), f.events[len(f.events)-1][0], o.UpdatedAt.UnixMicro()})
		if err := sink.exec(ctx, fmt.Sprintf("UPDATE orders SET status = '%s', sequence = %d, paid_amount = %d, tx_hash = '%s', updated_at = %d WHERE id = '%s'",
			o.Status, o.Sequence, o.PaidAmount, o.TokenTransfer.TxHash, o.UpdatedAt.UnixMicro(), o.ID)); err != nil {
			return err
		}
	}
	return f.flush(ctx, sink)
}

// endpointOf is the first endpoint of a partner.
func (f *filling) endpointOf(partner string) *fillEndpoint {
	return f.endpoints[slices.IndexFunc(f.endpoints, func(e *fillEndpoint) bool { return e.partner == partner })]
}

// id is an id of the time at.
func (f *filling) id(prefix string, at time.Time) string {
	const digits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
	b := []byte(webhook.TimeBound(prefix, at))
	for i := len(prefix) + 10; i < len(b); i++ {
		b[i] = digits[f.random.IntN(len(digits))]
	}
	return string(b)
}

func (f *filling) count(partner, name string, at int64) {
	f.facts[fillFact{at / time.Hour.Microseconds(), partner, name}]++
}

// deliver makes an event and its delivery, the i-th of all.
func (f *filling) deliver(at time.Time, i int) {
	// Some partners get much more than others.
	e := f.endpoints[int(float64(len(f.endpoints))*f.random.Float64()*f.random.Float64())]
	typ := webhook.Catalog[f.random.IntN(len(webhook.Catalog))]
	status := typ.Statuses[f.random.IntN(len(typ.Statuses))]
	object := fmt.Sprintf("%s_%d", strings.ToLower(string(typ.Type[:4])), i)
	orderingKey := object
	if typ.IDField != typ.OrderingKeyField {
		orderingKey = fmt.Sprintf("card_%d", i/20)
	}
	event := webhook.Event{ID: f.id(webhook.EventPrefix, at), Type: typ.Type, ObjectID: object, OrderingKey: orderingKey, Status: status, Data: []byte(typ.Example)}
	f.notify(e, event, fmt.Sprintf("%s|%s|%s|%d", typ.Type, object, status, at.Unix()), at)
	f.objects = append(f.objects, []any{e.partner, string(typ.Type), object, status, event.ID, at.UnixMicro()})
}

// notify makes an event's row and its delivery.
func (f *filling) notify(e *fillEndpoint, event webhook.Event, key string, at time.Time) {
	id, created := f.id(webhook.DeliveryPrefix, at), at.UnixMicro()
	f.events = append(f.events, []any{event.ID, e.partner, string(event.Type), event.ObjectID, event.OrderingKey, event.Status, []byte(event.Data), "key_1", "rsa,standard",
		false, false, false, created})
	digest := sha256.Sum256([]byte(key))
	f.keys = append(f.keys, []any{e.partner, key, event.ID, digest[:], created})
	e.sequence++
	f.count(e.partner, "created", created)

	end := f.end(e, at)
	last := f.tries(e, id, at, end)
	var due any
	reason, finished := "", int64(0)
	switch end.state {
	case webhook.Pending:
		due = end.due
	default:
		finished = max(created, last.at)
		f.count(e.partner, string(end.state), finished)
		reason = end.reason
	}
	lane := 0
	if end.attempts > 0 {
		lane = 1
	}
	f.deliveries = append(f.deliveries, []any{id, event.ID, e.id, e.partner, string(event.Type), event.ObjectID, int64(e.sequence), string(end.state), reason,
		int64(end.attempts + 1), end.attempts, "first", "retry", "", lane, due, nil, last.at, "", last.outcome, last.status, last.class,
		created, finished, last.first, last.at, last.took})
}

// fillEnd is how a delivery stands.
type fillEnd struct {
	state    webhook.State
	reason   string
	attempts int
	due      int64
	passed   bool // the last attempt succeeded
}

func (f *filling) end(e *fillEndpoint, at time.Time) fillEnd {
	recent := f.now.Sub(at) < 48*time.Hour
	chance := f.random.IntN(1000)
	switch {
	case e.paused && recent:
		e.waitingFirst++
		return fillEnd{state: webhook.Pending}
	case e.failing && recent || recent && chance < 10:
		e.waitingAgain++
		return fillEnd{state: webhook.Pending, attempts: 1 + f.random.IntN(5), due: f.now.Add(time.Duration(f.random.IntN(12)) * time.Hour).UnixMicro()}
	case chance < 15:
		return fillEnd{state: webhook.Exhausted, reason: "the schedule is used up", attempts: fillAttempts}
	case chance < 20:
		return fillEnd{state: webhook.Cancelled, reason: "no longer wanted"}
	case chance < 50:
		return fillEnd{state: webhook.Delivered, attempts: 2, passed: true}
	}
	return fillEnd{state: webhook.Delivered, attempts: 1, passed: true}
}

// fillLast is what a delivery tells of its attempts.
type fillLast struct {
	outcome, class  string
	status          int
	first, at, took int64
}

var fillFailures = []struct {
	class  webhook.ErrorClass
	status int
}{{webhook.ErrorHTTP5xx, 503}, {webhook.ErrorHTTP5xx, 500}, {webhook.ErrorTimeout, 0}, {webhook.ErrorHTTP4xx, 404}, {webhook.ErrorConnect, 0}, {webhook.ErrorDNS, 0}}

// tries makes the attempts of a delivery.
func (f *filling) tries(e *fillEndpoint, id string, at time.Time, end fillEnd) (last fillLast) {
	began := at.Add(time.Duration(1+f.random.IntN(40)) * time.Millisecond)
	for n := range end.attempts {
		took := time.Duration(20+f.random.IntN(400)) * time.Millisecond
		outcome, class, status := webhook.OutcomeDelivered, webhook.ErrorClass(""), 200
		if !end.passed || n < end.attempts-1 {
			failure := fillFailures[f.random.IntN(len(fillFailures))]
			outcome, class, status = webhook.OutcomeFailed, failure.class, failure.status
		} else {
			e.lastSuccess = max(e.lastSuccess, began.UnixMicro())
		}
		trigger := webhook.TriggerRetry
		if n == 0 {
			trigger, last.first = webhook.TriggerFirst, began.UnixMicro()
		}
		f.attempts = append(f.attempts, []any{id, n + 1, f.id(webhook.AttemptPrefix, began), string(trigger), began.UnixMicro(), int64(900), int64(7000), int64(15000),
			took.Microseconds() - 3000, took.Microseconds(), "192.0.2.10", "TLS 1.3", f.now.AddDate(0, 0, 60).UnixMicro(), []byte("{}"), string(outcome), status,
			string(class), "", []byte("{}"), []byte("ok"), false, "key_1", "", int64(0), ""})
		last.outcome, last.class, last.status, last.at, last.took = string(outcome), string(class), status, began.Add(took).UnixMicro(), took.Microseconds()
		f.count(e.partner, rows.FactAttempt+string(outcome), last.at)
		if status != 0 || class == webhook.ErrorTimeout {
			f.count(e.partner, rows.Answers.Fact(took), last.at)
		}
		if n == 0 {
			f.count(e.partner, rows.FirstAttempts.Fact(began.Sub(at)), last.at)
		}
		if next := began.Add(time.Minute << n); next.Before(f.now) {
			began = next
		}
	}
	return last
}

func columns(list string) []string { return strings.Fields(list) }

func (f *filling) flush(ctx context.Context, sink fillSink) error {
	var tables sync.WaitGroup
	var mu sync.Mutex
	var err error
	insert := func(table string, columns []string, rows [][]any) {
		tables.Go(func() {
			failed := sink.insert(ctx, table, columns, rows)
			mu.Lock()
			defer mu.Unlock()
			err = errors.Join(err, failed)
		})
	}
	insert("events", columns("id partner_code webhook_type object_id subject status data key_id signatures unexpected filtered test created_at"), f.events)
	insert("idempotency_keys", columns("partner_code key event_id digest created_at"), f.keys)
	insert("objects", columns("partner_code webhook_type object_id status event_id updated_at"), f.objects)
	insert("deliveries", columns(`id event_id endpoint_id partner_code webhook_type object_id sequence state reason generation attempts
			trigger next_trigger replay_of lane due_at queued_at claimed_at worker_id last_outcome last_status last_class created_at finished_at
			first_at last_at last_us`), f.deliveries)
	insert("attempts", columns(`delivery_id number id trigger started_at dns_us connect_us tls_us first_byte_us total_us peer_ip
			tls_version tls_not_after request_headers outcome status_code error_class error_detail response_headers response_body truncated
			key_id worker_id next_at next_reason`), f.attempts)
	insert("order_changes", columns("order_id sequence from_status to_status actor reason event_id at"), f.changes)
	tables.Wait()
	f.events, f.keys, f.objects, f.deliveries, f.attempts, f.changes = nil, nil, nil, nil, nil, nil
	return err
}

// finish writes what was counted.
func (f *filling) finish(ctx context.Context, sink fillSink) error {
	var each, all [][]any
	sums := map[fillFact]int64{}
	for k, n := range f.facts {
		each = append(each, []any{k.hour, k.partner, k.name, 0, n})
		sums[fillFact{hour: k.hour, name: k.name}] += n
	}
	for k, n := range sums {
		all = append(all, []any{k.hour, k.name, 0, n})
	}
	err := errors.Join(sink.insert(ctx, "rollups", columns("hour partner_code fact slot n"), each),
		sink.insert(ctx, "rollups_all", columns("hour fact slot n"), all))
	for _, e := range f.endpoints {
		failing := int64(0)
		if e.failing {
			failing = f.now.Add(-48 * time.Hour).UnixMicro()
		}
		err = errors.Join(err, sink.exec(ctx, fmt.Sprintf(`UPDATE windows SET next_sequence = %d, waiting_first = %d, waiting_again = %d, paused = %t,
			last_success = %d, failing_since = %d, wake_at = CASE WHEN %d > 0 AND NOT %t THEN %d END WHERE endpoint_id = '%s'`, e.sequence+1, e.waitingFirst,
			e.waitingAgain, e.paused, e.lastSuccess, failing, e.waitingFirst+e.waitingAgain, e.paused, f.now.UnixMicro(), e.id)))
	}
	return errors.Join(err, sink.analyze(ctx))
}
