// Dbos runs the workflow of the measurements on DBOS Transact for Go. The workflow has four steps and runs in
// this process, with a SQLite file. The program reads the requests for measurements from standard input
// (package demo/load).
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // import that registers the SQLite driver

	"github.com/stepkeeper/stepkeeper/demo/load"
)

func main() {
	synchronous := flag.String("synchronous", "FULL", "FULL or NORMAL, of SQLite")
	flag.Parse()
	if err := run(context.Background(), flag.Args(), *synchronous); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, synchronous string) error {
	if len(args) != 1 || synchronous != "FULL" && synchronous != "NORMAL" {
		return errors.New("usage: dbos [-synchronous FULL|NORMAL] FOLDER")
	}
	// The library itself uses these settings for a SQLite store, except synchronous, whose default is NORMAL.
	db, err := sql.Open("sqlite", "file:"+filepath.Join(args[0], "dbos.sqlite")+
		"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_pragma=foreign_keys(ON)"+
		"&_pragma=synchronous("+synchronous+")")
	if err != nil {
		return err
	}
	db.SetMaxOpenConns(8)
	db.SetMaxIdleConns(4)
	d, err := dbos.NewContext(ctx, dbos.Config{
		AppName: "bench", SQLiteSystemDB: db,
		Logger: slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		return err
	}
	dbos.RegisterWorkflow(d, saga)
	if err := dbos.Launch(d); err != nil {
		return err
	}
	err = load.Serve(os.Stdin, os.Stdout, func(id string) error {
		h, err := dbos.RunWorkflow(d, saga, json.RawMessage(load.Order), dbos.WithWorkflowID(id))
		if err != nil {
			return err
		}
		got, err := h.GetResult()
		if err == nil && got != "processed" {
			err = fmt.Errorf("order %s ended %q", id, got)
		}
		return err
	})
	dbos.Shutdown(d, 2*time.Second)
	return err
}

func saga(ctx dbos.Context, order json.RawMessage) (string, error) {
	for _, step := range []string{"reserve", "charge", "book", "notify"} {
		if _, err := dbos.RunAsStep(ctx, func(context.Context) (json.RawMessage, error) {
			if len(order) == 0 {
				return nil, errors.New("the step did not get the order")
			}
			return json.RawMessage(`{"ok":true}`), nil
		}, dbos.WithStepName(step)); err != nil {
			return "", err
		}
	}
	return "processed", nil
}
