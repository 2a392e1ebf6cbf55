package ledger

import (
	"context"
	"database/sql"
	"database/sql/driver"
)

// TraceReads lets told hear of every statement that reads the SQLite database
// at path from now on. Nothing may be going on.
func (l *Ledger) TraceReads(path string, told func(Statement)) error {
	old := l.db.Read
	l.db.Read.DB = sql.OpenDB(traced{old.Driver(), path + "?_pragma=query_only(1)&_pragma=busy_timeout(5000)", told})
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

// QueryContext implements driver.QueryerContext.
func (c tracedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	s := Statement{SQL: query}
	for _, arg := range args {
		s.Args = append(s.Args, arg.Value)
	}
	c.told(s)
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}
