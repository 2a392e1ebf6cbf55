package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// pipeline is one transaction on PostgreSQL that saves round trips: a statement
// whose outcome nobody needs at once goes together with the next one whose
// outcome somebody does, the first with BEGIN and the last with COMMIT.
type pipeline struct {
	conn     *pgx.Conn
	prepared *prepared // see session
	once     bool      // the session plans statements once now, not each time
	waiting  *pgx.Batch
	check    []func(pgx.BatchResults) error // what each of the waiting statements came to
	judged   bool                           // one of the checks is not the server's
}

// inPipeline runs do in one transaction of a pipeline, and again on another
// connection if one broke off before it can have been committed.
func (p Pool) inPipeline(ctx context.Context, do func(Querier) error) error {
	return p.classify(onSound(ctx, func() (undone bool, err error) {
		conn, err := p.Conn(ctx)
		if err != nil {
			return true, fmt.Errorf("begin: %w", err)
		}
		defer conn.Close()
		err = conn.Raw(func(c any) error {
			undone, err = c.(session).pipeline(ctx, do)
			return err
		})
		return undone, err
	}))
}

// pipeline runs do in one transaction. With an error, undone reports whether
// nothing of it can have stayed.
func (s session) pipeline(ctx context.Context, do func(Querier) error) (undone bool, err error) {
	p := &pipeline{conn: s.Conn.Conn(), prepared: s.prepared, once: true, waiting: &pgx.Batch{}}
	p.tell(begin)
	if p.prepared == nil {
		p.tell(s.limits)
	} else if p.prepared.outdated(time.Now()) {
		p.tell(discardPlans)
	}
	undone = true
	if err = do(p); err == nil {
		undone, err = p.commit(ctx)
	}
	if err != nil {
		p.rollback()
		if p.prepared != nil {
			p.prepared.forget(err)
		}
	}
	return undone, err
}

// prepare has the server learn a statement if the session prepares and it has
// one text, whatever its rows are.
func (p *pipeline) prepare(ctx context.Context, t *Statement) error {
	if p.prepared == nil || !t.Arrays {
		return nil
	}
	return p.prepared.prepare(ctx, t.String())
}

// queue adds a statement to what is sent next.
func (p *pipeline) queue(query string, args ...any) {
	if p.prepared != nil && p.prepared.known[query] != p.once {
		p.once = !p.once
		p.tell(set(true, map[bool][]parameter{true: planOnce, false: planEach}[p.once]...))
	}
	p.waiting.Queue(query, args...)
}

// tell adds a statement of which nothing is to be heard but its failure.
func (p *pipeline) tell(query string) {
	p.waiting.Queue(query)
	p.check = append(p.check, succeeds)
}

func succeeds(results pgx.BatchResults) error {
	_, err := results.Exec()
	return err
}

func (p *pipeline) commit(ctx context.Context) (undone bool, err error) {
	if p.judged { // what may be found wrong must be so before it is committed
		if err := p.flush(ctx); err != nil {
			return true, err
		}
	}
	p.waiting.Queue("commit")
	results, err := p.sendAll(ctx)
	if err != nil { // if the server did not refuse a statement, it may have done all of them
		var pg *pgconn.PgError
		return errors.As(err, &pg), err
	}
	tag, err := results.Exec()
	if err = errors.Join(err, results.Close()); err != nil {
		var pg *pgconn.PgError
		return errors.As(err, &pg) && ended(pg), fmt.Errorf("commit: %w", err)
	}
	if tag.String() != "COMMIT" {
		return true, errors.New("commit: the transaction had failed")
	}
	return false, nil
}

// rollbackTimeout is as much as a dead connection may hold up the next batch.
const rollbackTimeout = time.Second

// rollback leaves the connection fit for the next transaction, or closed.
func (p *pipeline) rollback() {
	if p.conn.IsClosed() || p.conn.PgConn().TxStatus() == 'I' {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
	defer cancel()
	if _, err := p.conn.Exec(ctx, "ROLLBACK"); err != nil {
		_ = p.conn.Close(ctx)
	}
}

// later adds a statement to what the next one takes along.
func (p *pipeline) later(ctx context.Context, t *Statement) error {
	if err := p.prepare(ctx, t); err != nil {
		return err
	}
	p.queue(t.String(), t.Args...)
	p.check = append(p.check, succeeds)
	return nil
}

// laterChanges is later for a statement that must change n rows.
func (p *pipeline) laterChanges(ctx context.Context, t *Statement, n int) error {
	if err := p.prepare(ctx, t); err != nil {
		return err
	}
	p.queue(t.String(), t.Args...)
	p.judged = true
	p.check = append(p.check, func(results pgx.BatchResults) error {
		tag, err := results.Exec()
		if err != nil {
			return err
		}
		return Changes(tag.RowsAffected(), n)
	})
	return nil
}

// laterRead is later for a statement that finds rows.
func (p *pipeline) laterRead(ctx context.Context, t *Statement, scan func(Row) error) error {
	if err := p.prepare(ctx, t); err != nil {
		return err
	}
	p.queue(t.String(), t.Args...)
	p.check = append(p.check, func(results pgx.BatchResults) error {
		found, err := results.Query()
		if err != nil {
			return err
		}
		defer found.Close()
		return each(found, scan)
	})
	return nil
}

// flush sends what waits.
func (p *pipeline) flush(ctx context.Context) error {
	if p.waiting.Len() == 0 {
		return nil
	}
	results, err := p.sendAll(ctx)
	if err != nil {
		return err
	}
	return results.Close()
}

// send sends a statement behind what waits, and reads the outcome of the latter.
func (p *pipeline) send(ctx context.Context, query string, args ...any) (pgx.BatchResults, error) {
	p.queue(query, args...)
	return p.sendAll(ctx)
}

// sendAll sends what waits and reads what its checked statements came to.
func (p *pipeline) sendAll(ctx context.Context) (pgx.BatchResults, error) {
	batch, checks := p.waiting, p.check
	p.waiting, p.check, p.judged = &pgx.Batch{}, nil, false
	results := p.conn.SendBatch(ctx, batch)
	for _, check := range checks {
		if err := check(results); err != nil {
			_ = results.Close() // says the same again
			return nil, err
		}
	}
	return results, nil
}

// Changes is an error if a statement that must change n rows has not.
func Changes(changed int64, n int) error {
	if changed != int64(n) {
		return fmt.Errorf("%w: %d of %d rows were changed behind the batch's back", errRow, int64(n)-changed, n)
	}
	return nil
}

// ExecContext implements querier.
func (p *pipeline) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	results, err := p.send(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	tag, err := results.Exec()
	return driver.RowsAffected(tag.RowsAffected()), errors.Join(err, results.Close())
}

// QueryContext implements querier.
func (p *pipeline) QueryContext(ctx context.Context, query string, args ...any) (rows, error) {
	results, err := p.send(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	found, err := results.Query()
	if err != nil {
		_ = results.Close()
		return nil, err
	}
	return &pipelineRows{found, results}, nil
}

// QueryRowContext implements querier.
func (p *pipeline) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	found, err := p.QueryContext(ctx, query, args...)
	return oneRow{found, err}
}

// pipelineRows are rows whose end is the end of what they were sent with.
type pipelineRows struct {
	pgx.Rows
	results pgx.BatchResults
}

// Close ends reading.
func (r *pipelineRows) Close() error {
	r.Rows.Close()
	return r.results.Close()
}

// oneRow is the first of rows, or sql.ErrNoRows.
type oneRow struct {
	rows rows
	err  error
}

// Scan implements row.
func (r oneRow) Scan(to ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return sql.ErrNoRows
	}
	if err := r.rows.Scan(to...); err != nil {
		return err
	}
	return errors.Join(r.rows.Close(), r.rows.Err())
}

// Later runs t, whose outcome nothing in q's transaction depends on, at the
// latest with the commit.
func (t *Statement) Later(ctx context.Context, q Querier) error {
	if p, ok := q.(*pipeline); ok {
		return p.later(ctx, t)
	}
	_, err := t.Exec(ctx, q)
	return err
}

// LaterChanges is Later for a statement that must change n rows.
func (t *Statement) LaterChanges(ctx context.Context, q Querier, n int) error {
	if p, ok := q.(*pipeline); ok {
		return p.laterChanges(ctx, t, n)
	}
	changed, err := t.Exec(ctx, q)
	if err != nil {
		return err
	}
	return Changes(changed, n)
}

// LaterRead calls scan for every row that t finds, at the latest at the next
// ReadNow.
func (t *Statement) LaterRead(ctx context.Context, q Querier, scan func(Row) error) error {
	if p, ok := q.(*pipeline); ok {
		p.judged = true
		return p.laterRead(ctx, t, scan)
	}
	return t.Query(ctx, q, scan)
}

// LastRead is LaterRead for what nothing in the transaction depends on: it may
// be read with the commit. An error of scan then fails what is committed.
func (t *Statement) LastRead(ctx context.Context, q Querier, scan func(Row) error) error {
	if p, ok := q.(*pipeline); ok {
		return p.laterRead(ctx, t, scan)
	}
	return t.Query(ctx, q, scan)
}

// ReadNow returns when all that LaterRead was asked for has been read.
func ReadNow(ctx context.Context, q Querier) error {
	if p, ok := q.(*pipeline); ok {
		return p.flush(ctx)
	}
	return nil
}
