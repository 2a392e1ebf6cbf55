package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"ledgerhook/ledger/database"
)

// TraceReads lets told hear of every statement that reads the SQLite database
// at path from now on. Nothing may be going on.
func (l *Ledger) TraceReads(path string, told func(Statement)) error {
	return trace(&l.db.Read, path+"?_pragma=query_only(1)", told)
}

// TraceWrites is TraceReads for the delivery path's connection.
func (l *Ledger) TraceWrites(path string, told func(Statement)) error {
	return trace(&l.db.Write, path+"?_txlock=immediate&_pragma=synchronous(FULL)", told)
}

func trace(p *database.Pool, address string, told func(Statement)) error {
	old := *p
	p.DB = sql.OpenDB(traced{old.Driver(), address + "&_pragma=busy_timeout(5000)", told})
	if connections := old.Stats().MaxOpenConnections; connections > 0 {
		p.SetMaxOpenConns(connections)
	}
	return old.Close()
}

// traced implements driver.Connector.
type traced struct {
	driver driver.Driver
	name   string
	told   func(Statement)
}

func (t traced) Driver() driver.Driver { return t.driver }

func (t traced) Connect(context.Context) (driver.Conn, error) {
	conn, err := t.driver.Open(t.name)
	if err != nil {
		return nil, err
	}
	return tracedConn{conn, t.told}, nil
}

type tracedConn struct {
	driver.Conn
	told func(Statement)
}

// BeginTx implements driver.ConnBeginTx.
func (c tracedConn) BeginTx(ctx context.Context, options driver.TxOptions) (driver.Tx, error) {
	return c.Conn.(driver.ConnBeginTx).BeginTx(ctx, options)
}

// ExecContext implements driver.ExecerContext.
func (c tracedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.tell(query, args)
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c tracedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.tell(query, args)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

func (c tracedConn) tell(query string, args []driver.NamedValue) {
	s := Statement{SQL: query}
	for _, arg := range args {
		s.Args = append(s.Args, arg.Value)
	}
	c.told(s)
}
