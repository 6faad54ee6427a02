package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/operator"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

var (
	// ErrNotProven means that the run completed, but the audit failed or an order did not end. The Report
	// contains the details.
	ErrNotProven = errors.New("the demo did not prove its point")
	// ErrStack means that Stepkeeper did not start, or ended without being killed.
	ErrStack = process.ErrProcess
)

// Options configures a demo. Binary and Workflows are required.
type Options struct {
	Orders    string // path of a file with JSON Lines; "" means the built-in orders
	Seed      uint64 // seed for the injected faults and the moments of the kills
	Report    string // path of the JSON report; "" means no report
	Binary    string // path of the program stepkeeper
	Workflows string // folder of workflow files
	// Dir is the folder for ledgers, data and log. An empty Dir means a temporary folder. Run removes the
	// temporary folder if the demo succeeds.
	Dir      string
	Out      io.Writer // writer for progress and report; nil means no output
	Terminal bool      // true if Out is a terminal; the demo then shows a progress bar

	Rates map[string]services.Rates // fault rates by service; nil means services.DefaultRates
	// PerSec is the number of orders to submit per second. 0 means a tenth of the lines, but at least 100.
	PerSec int
	Outage time.Duration // length of the payment outage; 0 means 3 s, a negative value means no outage
	Kills  int           // number of kills and restarts; 0 means one, a negative value means none
	// Patience is the time after which the run ends if no order has ended meanwhile. 0 means 55 s.
	Patience time.Duration
}

func (o Options) complete(lines int) Options {
	if o.Out == nil {
		o.Out = io.Discard
	}
	if o.Rates == nil {
		o.Rates = services.DefaultRates()
	}
	if o.PerSec <= 0 {
		o.PerSec = max(100, lines/10)
	}
	if o.Outage == 0 {
		o.Outage = 3 * time.Second
	}
	if o.Kills == 0 {
		o.Kills = 1
	}
	if o.Patience <= 0 {
		o.Patience = 55 * time.Second
	}
	return o
}

// Run runs the demo. The error is ErrNotProven, ErrStack, the error of the context, or the error of a file.
// The Report contains the results so far, even if there is an error.
func Run(ctx context.Context, o Options) (Report, error) {
	text, err := readOrders(o.Orders)
	if err != nil {
		return Report{}, err
	}
	book := bookOf(text)
	o = o.complete(book.Progress().Lines)
	dir, remove, err := stage.Folder(o.Dir, "stepkeeper-demo-")
	if err != nil {
		return Report{}, err
	}
	report, err := run(ctx, o, dir, book)
	report.Orders = o.Orders
	if o.Report != "" {
		err = errors.Join(err, stage.Write(o.Report, report))
	}
	if err == nil || ctx.Err() != nil { // an interrupted run leaves nothing to look into
		return report, errors.Join(err, remove())
	}
	return report, fmt.Errorf("%w\n  ledgers, data and log are kept in %s", err, dir)
}

func run(ctx context.Context, o Options, dir string, book *stage.Book) (report Report, err error) {
	began := time.Now()
	st, err := stage.New(ctx, dir, o.Binary, o.Workflows, services.Options{Seed: o.Seed, Rates: o.Rates})
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, st.Engine.Stop(), st.Fleet.Close()) }()
	if err := os.WriteFile(st.File("agents.yaml"), services.AgentsFile(st.Fleet.URL()), 0o600); err != nil {
		return report, err
	}
	lines := book.Progress().Lines
	d := &coordinator{
		Stage: st, o: o, book: book, lines: lines, began: began,
		rng:      rand.New(rand.NewPCG(o.Seed, 0x6b696c6c)),
		operator: operator.New(st.Fleet, st.Engine.Client),
		screen:   newScreen(o.Out, o.Terminal, lines),
	}
	err = d.coordinate(ctx)
	d.screen.close()
	report = d.report()
	if err != nil {
		return report, err
	}
	return conclude(ctx, o, d, report)
}

func conclude(ctx context.Context, o Options, d *coordinator, report Report) (Report, error) {
	err := report.audit(ctx, d)
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
