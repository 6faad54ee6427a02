// Package runner implements `stepkeeper demo`. It starts four unreliable remote services, and Stepkeeper as a
// separate process.
//
// The runner submits orders, stops one service for a while, and acts as the operator. It also kills
// Stepkeeper with SIGKILL and starts it again. After all orders have ended, the runner audits the ledgers of
// the services.
//
// The runner uses only the documented HTTP API of Stepkeeper.
package runner

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

var (
	// ErrNotProven means that the run completed, but the audit failed or an order did not end. The Report
	// contains the details.
	ErrNotProven = errors.New("the demo did not prove its point")
	// ErrStack means that Stepkeeper did not start, or ended without being killed.
	ErrStack = process.ErrProcess
)

// Options configures a demo. Defaults returns those that `stepkeeper demo` has, without Binary, Workflow and Out.
type Options struct {
	Orders   []byte // lines, one order each
	Seed     uint64 // seed for the injected faults and the moments of the kills
	Report   string // path of the JSON report; "" means no report
	Binary   string // path of the program stepkeeper
	Workflow []byte // text of the workflow "order"
	// Dir is the folder for ledgers, data and log. An empty Dir means a temporary folder. Run removes the
	// temporary folder if the demo succeeds.
	Dir      string
	Out      io.Writer // writer for progress and report
	Terminal bool      // true if Out is a terminal; the demo then shows a progress bar

	Rates    map[string]services.Rates // fault rates by service
	PerSec   int                       // number of orders to submit per second
	Outage   time.Duration             // length of the payment outage; 0 means no outage
	Kills    int                       // number of kills and restarts
	Patience time.Duration             // time after which the run ends if no order has ended meanwhile
}

// Defaults returns the Options of `stepkeeper demo`.
func Defaults() Options {
	return Options{
		Orders: shop.Orders(), Seed: 1, Rates: services.DefaultRates(), PerSec: 100, Outage: 3 * time.Second, Kills: 1,
		Patience: 55 * time.Second,
	}
}

// Run runs the demo. The error is ErrNotProven, ErrStack, the error of the context, or the error of a file.
// The Report contains the results so far, even if there is an error.
func Run(ctx context.Context, o Options) (Report, error) {
	dir, remove, err := stage.Folder(o.Dir, "stepkeeper-demo-")
	if err != nil {
		return Report{}, err
	}
	report, err := run(ctx, o, dir)
	if o.Report != "" {
		err = errors.Join(err, stage.Write(o.Report, report))
	}
	if err == nil || ctx.Err() != nil { // an interrupted run leaves nothing to look into
		return report, errors.Join(err, remove())
	}
	return report, fmt.Errorf("%w\n  ledgers, data and log are kept in %s", err, dir)
}

func run(ctx context.Context, o Options, dir string) (report Report, err error) {
	began := time.Now()
	workflows := filepath.Join(dir, "workflows")
	st, err := stage.New(ctx, dir, o.Binary, workflows, services.Options{Seed: o.Seed, Rates: o.Rates})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, st.Engine.Stop(), st.Fleet.Close()) }()
	err = errors.Join(os.MkdirAll(workflows, 0o755),
		os.WriteFile(filepath.Join(workflows, "order.yaml"), o.Workflow, 0o600),
		os.WriteFile(st.File("agents.yaml"), services.AgentsFile(st.Fleet.URL()), 0o600))
	if err != nil {
		return report, err
	}
	lines := bytes.Split(bytes.TrimSuffix(o.Orders, []byte("\n")), []byte("\n"))
	d := &coordinator{
		Stage: st, o: o, book: &stage.Book{}, lines: lines, began: began,
		rng:      rand.New(rand.NewPCG(o.Seed, 0x6b696c6c)),
		operator: stage.NewOperator(st.Fleet, st.Engine.Client),
		screen:   newScreen(o.Out, o.Terminal, len(lines)),
	}
	for _, line := range lines {
		d.book.Add(line)
	}
	err = d.coordinate(ctx)
	d.screen.close()
	report = d.report()
	if err != nil {
		return report, err
	}
	err = report.audit(ctx, d)
	report.Seconds = seconds(time.Since(d.began))
	if err != nil {
		return report, err
	}
	report.print(o.Out)
	if report.AuditViolations > 0 || report.Unfinished > 0 {
		return report, fmt.Errorf("%w: %d violations; %d orders were still under way when none had ended for %s",
			ErrNotProven, report.AuditViolations, report.Unfinished, o.Patience)
	}
	return report, nil
}
