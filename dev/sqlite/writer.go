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
// use a writer.
type writer struct {
	conn       driver.Conn
	statements []*statement // all prepared statements; close closes them

	begin, commit, rollback                                                   *statement
	findTask, addOrder, addContent                                            *statement
	putDocument, putState, putIndex, putAll, place                            *statement
	addDefinition, addEntry, moveEntry                                        *statement
	addMessage, dueMessages, receiveMessage, expireMessages                   *statement
	deleteMessage, removeMessage, findMessage, extendMessage, nextQueue       *statement
	restedTasks, expireTask, expireContent, expireLedger, addProbe, dropProbe *statement
	eraseContent, eraseLedger                                                 *statement
	countCommit                                                               *statement

	changed bool // a statement of the group has changed a row, see committer.write
}

func openWriter(source string) (*writer, error) {
	keepMappings()
	conn, err := (&engine.Driver{}).Open(source)
	if err != nil {
		return nil, err
	}
	return &writer{conn: conn}, nil
}

func (w *writer) prepareAll() error {
	for _, p := range w.texts() {
		var err error
		*p.to, err = w.prepare(p.sql)
		if err != nil {
			return err
		}
		w.statements = append(w.statements, *p.to)
	}
	return nil
}

// text is a statement in SQL, and where it is kept once it is prepared.
type text struct {
	to  **statement
	sql string
}

func (w *writer) texts() []text {
	return append(w.textsOfOrders(), w.textsOfOthers()...)
}

// textsOfOrders returns the statements of transactions, orders and definitions.
func (w *writer) textsOfOrders() []text {
	return []text{
		{&w.begin, "BEGIN IMMEDIATE"},
		{&w.commit, "COMMIT"},
		{&w.rollback, "ROLLBACK"},
		{
			&w.findTask,
			"SELECT row, version, state, bucket, index_at FROM orders WHERE id=? AND created IS NOT NULL",
		},
		{
			&w.addOrder,
			"INSERT INTO orders(version, created, index_at, shard, bucket, state, workflow, hash, id, " +
				"document, sum) VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING",
		},
		{&w.addContent, "INSERT INTO contents(row, content, sum) VALUES(?,?,?)"},
		{&w.putDocument, "UPDATE orders SET version=?, document=?, sum=? WHERE row=? AND version=?"},
		{&w.putState, "UPDATE orders SET version=?, document=?, sum=?, state=? WHERE row=? AND version=?"},
		{
			&w.putIndex,
			"UPDATE orders SET version=?, document=?, sum=?, index_at=?, shard=?, bucket=? WHERE " +
				"row=? AND version=?",
		},
		{
			&w.putAll,
			"UPDATE orders SET version=?, document=?, sum=?, state=?, index_at=?, shard=?, bucket=? WHERE row=? " +
				"AND version=?",
		},
		{&w.place, "UPDATE orders SET index_at=?, shard=?, bucket=? WHERE row=? AND version=?"},
		{&w.addDefinition, "INSERT INTO definitions(hash, data) VALUES(?,?) ON CONFLICT(hash) DO UPDATE SET data=excluded.data WHERE data<>excluded.data"},
	}
}

// textsOfOthers returns the statements of ledgers, messages, the erasure and the health check.
func (w *writer) textsOfOthers() []text {
	return []text{
		{
			&w.addEntry,
			"INSERT INTO ledger(version, state, attempt, command, code, message, output, sum, key) " +
				"VALUES(?,?,?,?,?,?,?,?,?) ON CONFLICT(key) DO NOTHING",
		},
		{
			&w.moveEntry,
			"UPDATE ledger SET version=?, state=?, attempt=?, command=?, code=?, message=?, output=?, " +
				"sum=? WHERE key=? AND version=?",
		},
		{&w.addMessage, "INSERT INTO messages(queue, visible_at, received, sent_at, body, sum) VALUES(?,?,0,?,?,?)"},
		{
			&w.dueMessages,
			"SELECT row, received, sent_at, body, sum FROM messages WHERE queue=? AND visible_at<=? ORDER BY " +
				"visible_at, row LIMIT 0+?",
		},
		{&w.receiveMessage, "UPDATE messages SET visible_at=?, received=received+1 WHERE row=?"},
		{
			&w.expireMessages,
			"DELETE FROM messages WHERE row IN (SELECT row FROM messages WHERE queue=? AND sent_at<=? " +
				"LIMIT 0+?)",
		},
		{&w.nextQueue, "SELECT queue FROM messages WHERE queue>? ORDER BY queue LIMIT 1"},
		{&w.restedTasks, restedTasks},
		{&w.expireTask, "UPDATE orders SET created=NULL, shard=NULL, bucket=NULL, document=NULL, sum=NULL WHERE row=?"},
		{&w.expireContent, "DELETE FROM contents WHERE row=?"},
		{&w.expireLedger, "DELETE FROM ledger WHERE key>=? AND key<?"},
		{&w.eraseContent, "DELETE FROM contents WHERE row=(SELECT row FROM orders WHERE id=? AND hash=?)"},
		{&w.eraseLedger, "UPDATE ledger SET output=NULL, message='', sum=NULL WHERE key>=? AND key<?"},
		{&w.addProbe, "INSERT OR REPLACE INTO probe VALUES(1, zeroblob(?))"},
		{&w.dropProbe, "DELETE FROM probe"},
		{&w.countCommit, "UPDATE settings SET value=? WHERE name='commits'"},
		{&w.removeMessage, "DELETE FROM messages WHERE row=?"},
		{&w.deleteMessage, "DELETE FROM messages WHERE row=? AND queue=? AND received=?"},
		{&w.findMessage, "SELECT received FROM messages WHERE row=? AND queue=?"},
		{&w.extendMessage, "UPDATE messages SET visible_at=? WHERE row=? AND queue=? AND received=? AND visible_at>?"},
	}
}

func (w *writer) close() error {
	for _, s := range w.statements {
		s.close()
	}
	return w.conn.Close()
}

func (w *writer) run(script string) error {
	_, err := w.conn.(driver.ExecerContext).ExecContext(context.Background(), script, nil)
	return err
}

func (w *writer) number(query string) (int64, error) { return only[int64](w, query) }

func only[T any](w *writer, query string) (value T, err error) {
	s, err := w.prepare(query)
	if err != nil {
		return value, err
	}
	defer s.close()
	row, err := s.first()
	if err != nil {
		return value, err
	}
	if len(row) == 0 {
		return value, fmt.Errorf("no answer to %s", query)
	}
	value, ok := row[0].(T)
	if !ok {
		return value, fmt.Errorf("unexpected answer %v to %s", row[0], query)
	}
	return value, nil
}

type statement struct {
	writer *writer
	stmt   driver.Stmt
	args   []driver.NamedValue
}

func (w *writer) prepare(text string) (*statement, error) {
	s, err := w.conn.Prepare(text)
	if err != nil {
		return nil, fmt.Errorf("preparing %q: %w", text, err)
	}
	return &statement{writer: w, stmt: s}, nil
}

// close ignores the error of Close, because SQLite only repeats the error of the last execution.
func (s *statement) close() { _ = s.stmt.Close() }

func (s *statement) bind(args []any) []driver.NamedValue {
	s.args = s.args[:0]
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		s.args = append(s.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return s.args
}

// exec returns the number of changed rows.
func (s *statement) exec(args ...any) (rows int64, err error) {
	rows, _, err = s.result(args...)
	return rows, err
}

// result returns the number of changed rows, and the key of the last row that was added.
func (s *statement) result(args ...any) (rows, last int64, err error) {
	r, err := s.stmt.(driver.StmtExecContext).ExecContext(context.Background(), s.bind(args))
	if err != nil {
		return 0, 0, err
	}
	rows, err = r.RowsAffected()
	if err != nil {
		return 0, 0, err
	}
	s.writer.changed = s.writer.changed || rows > 0
	last, err = r.LastInsertId()
	return rows, last, err
}

// first returns the first row, or nil if there is no row.
func (s *statement) first(args ...any) ([]driver.Value, error) {
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.bind(args))
	if err != nil {
		return nil, err
	}
	row := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(row)
	if closing := rows.Close(); err == nil {
		err = closing
	}
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	return row, err
}

// each calls yield for each row. yield may keep the values, but not the slice.
func (s *statement) each(yield func([]driver.Value), args ...any) error {
	rows, err := s.stmt.(driver.StmtQueryContext).QueryContext(context.Background(), s.bind(args))
	if err != nil {
		return err
	}
	row := make([]driver.Value, len(rows.Columns()))
	for {
		err = rows.Next(row)
		if err != nil {
			break
		}
		yield(row)
	}
	if closing := rows.Close(); errors.Is(err, io.EOF) {
		err = closing
	}
	return err
}
