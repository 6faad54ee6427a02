// Floor measures the smallest possible cost of a durable order with four steps on SQLite. It runs in its own
// process with Go's default settings and without PGO. Therefore optimisations of Stepkeeper do not make the
// floor faster. Floor reads requests for measurements from standard input (package demo/load).
package main

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	_ "modernc.org/sqlite" // import that registers the SQLite driver

	"github.com/stepkeeper/stepkeeper/demo/load"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: floor FOLDER")
	}
	f, err := openFloor(args[0])
	if err != nil {
		return err
	}
	doc := make([]byte, 1000)
	return errors.Join(load.Serve(os.Stdin, os.Stdout, func(id string) error { return f.order(id, doc) }),
		f.close())
}

// floor writes one row for each order, and changes the row with conditional writes. An order has five writes
// in total. Each write returns after an fsync, and several waiting writes can share one fsync. The floor has
// no queues, messages or decisions.
type floor struct {
	db                         *sql.DB
	begin, end, insert, update *sql.Stmt
	jobs                       chan job
	ended                      chan struct{}
}

type job struct {
	id     string
	doc    []byte
	step   int // step that the row must have before the write; -1 inserts a new row
	answer chan error
}

func openFloor(dir string) (*floor, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "floor.db")+
		"?_pragma=journal_mode(wal)&_pragma=synchronous(full)&_pragma=cache_size(-16384)")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(`CREATE TABLE task(n INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, step INTEGER NOT NULL, doc BLOB NOT NULL)`); err != nil {
		return nil, err
	}
	f := &floor{db: db, jobs: make(chan job, 1024), ended: make(chan struct{})}
	for stmt, text := range map[**sql.Stmt]string{
		&f.begin: `BEGIN IMMEDIATE`, &f.end: `COMMIT`,
		&f.insert: `INSERT INTO task(id, step, doc) VALUES(?, 0, ?)`,
		&f.update: `UPDATE task SET step = step + 1, doc = ? WHERE id = ? AND step = ?`,
	} {
		*stmt, err = db.Prepare(text)
		if err != nil {
			return nil, err
		}
	}
	go f.commit()
	return f, nil
}

func (f *floor) close() error {
	close(f.jobs)
	<-f.ended
	return f.db.Close()
}

func (f *floor) commit() {
	defer close(f.ended)
	for first := range f.jobs {
		group := []job{first}
	collect:
		for len(group) < 512 {
			select {
			case j, ok := <-f.jobs:
				if !ok {
					break collect
				}
				group = append(group, j)
			default:
				break collect
			}
		}
		errs := make([]error, len(group))
		err := f.write(group, errs)
		for i, j := range group {
			j.answer <- errors.Join(err, errs[i])
		}
	}
}

func (f *floor) write(group []job, errs []error) error {
	if _, err := f.begin.Exec(); err != nil {
		return err
	}
	for i, j := range group {
		if j.step < 0 {
			_, errs[i] = f.insert.Exec(j.id, j.doc)
			continue
		}
		r, err := f.update.Exec(j.doc, j.id, j.step)
		if err != nil {
			errs[i] = err
		} else if n, _ := r.RowsAffected(); n != 1 {
			errs[i] = fmt.Errorf("order %s was not at step %d", j.id, j.step)
		}
	}
	_, err := f.end.Exec()
	return err
}

func (f *floor) order(id string, doc []byte) error {
	answer := make(chan error, 1)
	for step := -1; step < 4; step++ {
		f.jobs <- job{id: id, doc: doc, step: step, answer: answer}
		if err := <-answer; err != nil {
			return err
		}
	}
	return nil
}
