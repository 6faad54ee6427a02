package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	engine "modernc.org/sqlite"
)

// writer is the only connection that writes. It uses the driver without database/sql, because database/sql
// would need a lock, a goroutine and several allocations for each statement. Only one goroutine at a time may
// use a writer. It prepares each statement at its first use. There are few texts of statements.
type writer struct {
	conn       driver.Conn
	statements map[string]*statement // prepared statements by their text

	changed bool // a statement of the group has changed a row, see committer.write
}

type statement struct {
	driver.Stmt
	args []driver.NamedValue
}

func openWriter(source string) (*writer, error) {
	keepMappings()
	conn, err := (&engine.Driver{}).Open(source)
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn, statements: map[string]*statement{}}, nil
}

// close ignores the errors of the statements, because SQLite only repeats the error of their last execution.
func (w *writer) close() error {
	for _, s := range w.statements {
		_ = s.Close()
	}
	return w.conn.Close()
}

func (w *writer) run(script string) error {
	_, err := w.conn.(driver.ExecerContext).ExecContext(context.Background(), script, nil)
	return err
}

// number returns the answer to a query for one number.
func (w *writer) number(query string) (int64, error) {
	row, err := w.first(query)
	if err != nil {
		return 0, err
	}
	if len(row) == 1 {
		if n, ok := row[0].(int64); ok {
			return n, nil
		}
	}
	return 0, fmt.Errorf("unexpected answer %v to %s", row, query)
}

// prepare returns a statement with its arguments.
func (w *writer) prepare(text string, args []any) (*statement, error) {
	s := w.statements[text]
	if s == nil {
		made, err := w.conn.Prepare(text)
		if err != nil {
			return nil, fmt.Errorf("preparing %q: %w", text, err)
		}
		s = &statement{Stmt: made}
		w.statements[text] = s
	}
	s.args = s.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s, nil
}

// exec returns the number of changed rows.
func (w *writer) exec(text string, args ...any) (rows int64, err error) {
	rows, _, err = w.result(text, args...)
	return rows, err
}

// result returns the number of changed rows, and the key of the last row that was added.
func (w *writer) result(text string, args ...any) (rows, last int64, err error) {
	s, err := w.prepare(text, args)
	if err != nil {
		return 0, 0, err
	}
	r, err := s.Stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.args)
	if err != nil {
		return 0, 0, err
	}
	rows, err = r.RowsAffected()
	if err != nil {
		return 0, 0, err
	}
	w.changed = w.changed || rows > 0
	last, err = r.LastInsertId()
	return rows, last, err
}

// first returns the first row, or nil if there is no row.
func (w *writer) first(text string, args ...any) (row []driver.Value, err error) {
	err = w.each(func(values []driver.Value) bool {
		row = values
		return false
	}, text, args...)
	return row, err
}

// each calls yield for each row, until yield returns false. yield may keep the values, but not the slice if it returns
// true.
func (w *writer) each(yield func([]driver.Value) bool, text string, args ...any) error {
	s, err := w.prepare(text, args)
	if err != nil {
		return err
	}
	rows, err := s.Stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.args)
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	for err == nil && yield(row) {
		err = rows.Next(row)
	}
	closing := rows.Close()
	if err == nil || errors.Is(err, io.EOF) {
		err = closing
	}
	return err
}
