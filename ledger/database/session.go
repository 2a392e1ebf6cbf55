package database

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
	"github.com/jackc/pgx/v5/stdlib"
)

// What the ledger relies on of a PostgreSQL session is set here, whatever the
// server, the database or the role has for a default, and in a way that a
// pooler takes which hands a connection on after each transaction. Such a
// pooler refuses most parameters of a start, and whatever SET sets stays with
// a server's connection that others get next.
//
// What a schema is called (search_path) and whether the database may be
// written to (default_transaction_read_only, which providers set when a disk
// is full) is the operator's to say and is left alone.

// startParameters are the ones that poolers know and keep for each client.
var startParameters = map[string]string{
	"client_encoding": "UTF8", "datestyle": "ISO, YMD", "timezone": "UTC", "standard_conforming_strings": "on",
}

// CommitTimeout bounds a transaction, whoever waits for it.
const CommitTimeout = 10 * time.Second

// The limits of a transaction, which travel with its BEGIN and cost no round
// trip. A process that is frozen or cut off in the middle of one holds what it
// has locked no longer than idleLimit, as long as a worker's lease: then the
// server breaks the transaction off.
const (
	idleLimit      = "5s"
	statementLimit = "10s" // CommitTimeout
	lockLimit      = "8s"  // more than idleLimit: whatever waits for a frozen process gets the lock

	begin = "BEGIN ISOLATION LEVEL READ COMMITTED"
)

// parameter is one of PostgreSQL's, with a value.
type parameter struct{ name, value string }

func limits(statement, lock string) []parameter {
	return []parameter{
		{"idle_in_transaction_session_timeout", idleLimit}, {"tcp_user_timeout", idleLimit}, // where it is sending and nobody takes it
		{"statement_timeout", statement}, {"lock_timeout", lock},
	}
}

// How the delivery path's sessions have statements planned: those that are
// prepared once, for whatever values, the others with their values. A bitmap
// reads entries of deleted rows again and again that an index scan would mark.
var (
	planOnce = []parameter{{"plan_cache_mode", "force_generic_plan"}, {"enable_seqscan", "off"}, {"enable_bitmapscan", "off"}}
	planEach = []parameter{{"plan_cache_mode", "force_custom_plan"}, {"enable_seqscan", "on"}, {"enable_bitmapscan", "on"}}
)

// set is a statement that sets parameters, for its transaction alone if local
// is set.
func set(local bool, all ...parameter) string {
	calls := make([]string, len(all))
	for i, p := range all {
		calls[i] = fmt.Sprintf("set_config('%s', '%s', %t)", p.name, p.value, local)
	}
	return "SELECT " + strings.Join(calls, ", ")
}

// connector makes sessions of one configuration.
type connector struct {
	driver.Connector
	limits []parameter // of transactions

	preparing driver.Connector // of sessions that prepare statements; nil: none does
	pooler    *atomic.Bool     // was seen: no session of ours can prepare any
}

// newConnector lets transactions last as long as they take if unlimited is set, as
// the steps of a migration do, and wait for locks for stepLock.
func newConnector(config pgx.ConnConfig, unlimited bool) connector {
	config.RuntimeParams = withParameters(config.RuntimeParams)
	c := connector{limits: limits(statementLimit, lockLimit), Connector: connecting(config)}
	if unlimited {
		c.limits = limits("0", stepLock)
	}
	return c
}

func connecting(config pgx.ConnConfig) driver.Connector {
	return stdlib.GetConnector(config, stdlib.OptionAfterConnect(func(_ context.Context, conn *pgx.Conn) error {
		conn.TypeMap().RegisterType(&pgtype.Type{Name: "bytea", OID: pgtype.ByteaOID, Codec: anyBytea{}})
		return nil
	}))
}

// newPreparing is newConnector for the delivery path, whose statements are few
// and come again and again: each is prepared once a session and planned once,
// without its values, which took PostgreSQL as long as running it.
func newPreparing(config pgx.ConnConfig, unlimited bool) connector {
	c := newConnector(config, unlimited)
	config.RuntimeParams = withParameters(config.RuntimeParams)
	config.DefaultQueryExecMode = pgx.QueryExecModeCacheStatement // a batch's, which knows what its rows hold then
	config.StatementCacheCapacity = knownStatements
	c.preparing, c.pooler = connecting(config), new(atomic.Bool)
	return c
}

// dialing is how o reaches PostgreSQL.
func (o Options) dialing() pgconn.DialFunc {
	dialer := net.Dialer{KeepAliveConfig: keepAlive}
	if o.Dial == nil {
		return dialer.DialContext
	}
	return o.Dial(dialer.DialContext)
}

// keepAlive finds within 5 s that a server is gone without a word.
var keepAlive = net.KeepAliveConfig{Enable: true, Idle: 2 * time.Second, Interval: time.Second, Count: 3}

func withParameters(given map[string]string) map[string]string {
	all := map[string]string{}
	for _, set := range []map[string]string{given, startParameters} {
		for name, value := range set {
			all[name] = value
		}
	}
	return all
}

// Connect implements driver.Connector.
func (c connector) Connect(ctx context.Context) (driver.Conn, error) {
	if c.preparing != nil && !c.pooler.Load() {
		s, pooled, err := c.prepare(ctx)
		if err != nil {
			return nil, err
		}
		if !pooled {
			return s, nil
		}
		c.pooler.Store(true)
		_ = s.Close()
	}
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return session{Conn: conn.(*stdlib.Conn), limits: set(true, c.limits...)}, nil
}

// prepare makes a session that prepares statements, unless it is pooled.
func (c connector) prepare(ctx context.Context) (s session, pooled bool, err error) {
	conn, err := c.preparing.Connect(ctx)
	if err != nil {
		return s, false, err
	}
	s.Conn = conn.(*stdlib.Conn)
	s.prepared = &prepared{conn: s.Conn.Conn(), known: map[string]bool{}}
	pooled, err = s.pooled(ctx)
	if err == nil && !pooled {
		err = s.keep(ctx, append(slices.Clone(c.limits), planOnce...))
	}
	if err != nil {
		_ = s.Close()
	}
	return s, pooled, err
}

// keep sets parameters for as long as the session lasts, which is ours alone:
// so they cost its transactions nothing.
func (s session) keep(ctx context.Context, all []parameter) error {
	_, err := s.Conn.Conn().Exec(ctx, set(false, all...))
	return err
}

// pooled reports whether a pooler stands between us and the server. It may hand
// every transaction to another of its sessions, which know no statement of
// ours. It shows in that the session that answers is not the one that was begun.
func (s session) pooled(ctx context.Context) (bool, error) {
	conn, pid := s.Conn.Conn(), uint32(0)
	err := conn.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid)
	return pid != conn.PgConn().PID(), err
}

// session is a connection to PostgreSQL. What it answers with ErrBadConn, the
// pool asks once more on another connection: it says so of whatever broke off
// and has changed nothing.
type session struct {
	*stdlib.Conn
	limits   string    // sets those of a transaction
	prepared *prepared // nil: the server is to learn no statement
}

// prepared are the statements that a session knows.
type prepared struct {
	conn    *pgx.Conn
	known   map[string]bool
	learned time.Time // the first one of its day
	planned time.Time // the oldest plan
}

// knownStatements is how many statements a session knows at most: far more than
// there are, but their texts change from day to day.
const knownStatements = 256

// planAge is how long a plan is used at most.
const planAge = time.Minute

const discardPlans = "DISCARD PLANS"

// outdated reports whether plans are to be made anew. They are made for tables
// of the size of that moment, and a day is still empty when it begins: so as
// much later again as a plan was made after the day's first statement came. To
// make all of them anew holds its transaction up, so a statement that comes
// later in the day waits for the others' time.
func (p *prepared) outdated(now time.Time) bool {
	if len(p.known) == 0 || now.Sub(p.planned) < min(max(time.Second, p.planned.Sub(p.learned)), planAge) {
		return false
	}
	p.planned = now
	return true
}

// prepare has the server learn a statement, unless it knows it.
func (p *prepared) prepare(ctx context.Context, query string) error {
	if p.known[query] {
		return nil
	}
	if len(p.known) >= knownStatements {
		if err := p.unlearn(ctx); err != nil {
			return err
		}
	}
	if _, err := p.conn.Prepare(ctx, query, query); err != nil {
		return err
	}
	p.learn(query, time.Now())
	return nil
}

// forget has the session learn its statements anew after an error that may come
// from what they found when they were prepared and is there no more. A session
// that has lost them has lost its parameters as well, and is ended.
func (p *prepared) forget(err error) {
	var pg *pgconn.PgError
	if !errors.As(err, &pg) || p.conn.IsClosed() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	if pg.Code == lostStatement || stale(pg) && p.unlearn(ctx) != nil {
		_ = p.conn.Close(ctx)
	}
}

func (p *prepared) unlearn(ctx context.Context) error {
	clear(p.known)
	return p.conn.DeallocateAll(ctx)
}

func (p *prepared) learn(query string, now time.Time) {
	p.known[query] = true
	if p.learned.UTC().Format(DayFormat) != now.UTC().Format(DayFormat) {
		p.learned, p.planned = now, now
	}
}

// BeginTx implements driver.ConnBeginTx. The ledger asks for no other kind of
// transaction than its own.
func (s session) BeginTx(ctx context.Context, _ driver.TxOptions) (driver.Tx, error) {
	settings := s.limits
	if s.prepared != nil { // which has the limits
		settings = set(true, planEach...)
	}
	tx, err := s.Conn.Conn().BeginTx(ctx, pgx.TxOptions{BeginQuery: begin + "; " + settings})
	if err != nil {
		return nil, s.again(ctx, err)
	}
	return transaction{ctx, tx}, nil
}

// QueryContext implements driver.QueryerContext. Outside of a transaction the
// ledger only reads.
func (s session) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if s.Conn.Conn().PgConn().TxStatus() != 'I' {
		return s.Conn.QueryContext(ctx, query, s.unprepared(args))
	}
	rows, err := s.queryAlone(ctx, query, args)
	if err != nil {
		err = s.again(ctx, err)
	}
	return rows, err
}

// ExecContext implements driver.ExecerContext.
func (s session) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return s.Conn.ExecContext(ctx, query, s.unprepared(args))
}

// unprepared are the arguments of a statement that the server is not to learn:
// one of a transaction that is no batch.
func (s session) unprepared(args []driver.NamedValue) []driver.NamedValue {
	if s.prepared == nil {
		return args
	}
	return append([]driver.NamedValue{{Value: pgx.QueryExecModeExec}}, args...)
}

// queryAlone reads outside of a transaction. What the delivery path's sessions
// read so are the few statements of who keeps deliveries on their way: each of
// them is prepared.
func (s session) queryAlone(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if s.prepared == nil {
		return s.Conn.QueryContext(ctx, query, args)
	}
	if s.prepared.outdated(time.Now()) {
		if _, err := s.Conn.Conn().Exec(ctx, discardPlans); err != nil {
			return nil, err
		}
	}
	if err := s.prepared.prepare(ctx, query); err != nil {
		return nil, err
	}
	rows, err := s.Conn.QueryContext(ctx, query, args)
	if err != nil {
		s.prepared.forget(err)
	}
	return rows, err
}

// again turns the error of a broken connection into the one that asks for
// another.
func (s session) again(ctx context.Context, err error) error {
	if ctx.Err() == nil && severed(err) {
		return driver.ErrBadConn
	}
	return err
}

type transaction struct {
	ctx context.Context
	tx  pgx.Tx
}

// Commit implements driver.Tx.
func (t transaction) Commit() error { return t.tx.Commit(t.ctx) }

// Rollback implements driver.Tx.
func (t transaction) Rollback() error { return t.tx.Rollback(t.ctx) }

// severed reports whether err says that a connection has ended, be it by an
// administrator, by the limits above, by a pooler, or without a word. It does
// not say whether the server is there.
func severed(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		return ended(pg) || pg.Code == "08006" || pg.Code == "08P01"
	}
	var network net.Error
	return errors.Is(err, driver.ErrBadConn) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, pgconn.ErrConnClosed) ||
		errors.As(err, &network) && !network.Timeout()
}

// ended reports whether pg is the server's last word on a session, with which
// it has rolled back what the session was at.
func ended(pg *pgconn.PgError) bool {
	switch pg.Code {
	case "57P01", "57P02", "57P05", "25P03": // shutdown, crash, idle, idle in a transaction
		return true
	}
	return false
}

// anyBytea reads bytes in both of PostgreSQL's forms: bytea_output, which says
// which of them it writes, is none of the parameters that poolers keep.
type anyBytea struct{ pgtype.ByteaCodec }

// PlanScan implements pgtype.Codec.
func (c anyBytea) PlanScan(m *pgtype.Map, oid uint32, format int16, target any) pgtype.ScanPlan {
	plan := c.ByteaCodec.PlanScan(m, oid, format, target)
	if _, ok := target.(*[]byte); ok && format == pgtype.TextFormatCode {
		return scanBytea{plan}
	}
	return plan
}

type scanBytea struct{ hex pgtype.ScanPlan }

// Scan implements pgtype.ScanPlan.
func (s scanBytea) Scan(src []byte, target any) error {
	if src == nil || bytes.HasPrefix(src, []byte(`\x`)) {
		return s.hex.Scan(src, target)
	}
	b, err := unescape(src)
	*target.(*[]byte) = b
	return err
}

// unescape reads the form "escape": a backslash is two, and what cannot be
// printed is one and three octal digits.
func unescape(src []byte) ([]byte, error) {
	b := make([]byte, 0, len(src))
	for len(src) > 0 {
		switch {
		case src[0] != '\\':
			b, src = append(b, src[0]), src[1:]
		case len(src) >= 2 && src[1] == '\\':
			b, src = append(b, '\\'), src[2:]
		case len(src) >= 4 && '0' <= src[1] && src[1] <= '3' && octal(src[2]) && octal(src[3]):
			b, src = append(b, (src[1]-'0')<<6|(src[2]-'0')<<3|(src[3]-'0')), src[4:]
		default:
			return nil, errors.New("bytes are in no form that PostgreSQL writes")
		}
	}
	return b, nil
}

func octal(c byte) bool { return '0' <= c && c <= '7' }
