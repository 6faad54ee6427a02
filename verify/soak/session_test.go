package soak_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// errFailed means that the run completed and a check failed. The report states which.
var errFailed = errors.New("the soak failed")

// Options configures a soak.
type Options struct {
	Seed   uint64
	Length time.Duration // length of the run; with faults, use at least a minute
	Rate   int           // orders per second
	Dir    string        // folder of the run; "" means a temporary one, removed if the run succeeds
	Report string        // path of the JSON report; "" means no report
	Out    io.Writer
	// Quiet leaves out the faults of processes and clocks.
	Quiet bool
	// Lie is the share of the payment's calls that report success without an effect. The audit must notice them.
	Lie float64
}

// settleLimit is the longest time from the last fault to the end of the last order. On a busy machine the time for
// requests in queues may have doubled to minutes (P32, queue time is not a failure).
const settleLimit = 5 * time.Minute

// Run runs a soak.
func Run(ctx context.Context, o Options) (report Report, err error) {
	dir, remove, err := stage.Folder(o.Dir, "stepkeeper-soak-")
	if err != nil {
		return report, err
	}
	all := plan(o.Seed, o.Length)
	if o.Quiet {
		all = nil
	}
	printPlan(o.Out, o.Seed, all)
	report, err = run(ctx, o, dir, all)
	if o.Report != "" {
		err = errors.Join(err, stage.Write(o.Report, report))
	}
	if err != nil {
		return report, fmt.Errorf("%w\n  books, data and logs are kept in %s", err, dir)
	}
	return report, remove()
}

// session is one run.
type session struct {
	o            Options
	site         *site
	app          *application
	operatorLoop *operatorLoop
	injector     *injector
	began        time.Time
	sayMu        sync.Mutex
}

func (s *session) say(format string, args ...any) {
	s.sayMu.Lock()
	defer s.sayMu.Unlock()
	fmt.Fprintf(s.o.Out, format+"\n", args...)
}

func run(ctx context.Context, o Options, dir string, all []processFault) (report Report, err error) {
	s := &session{o: o, began: time.Now()}
	// A call continues after its caller has given up. It ends at the latest with the site.
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	s.site, err = build(life, o, dir)
	defer func() { err = errors.Join(err, s.site.close()) }()
	if err != nil {
		return report, err
	}
	s.app = &application{Book: &stage.Book{}, api: s.site.api, seed: o.Seed, rate: o.Rate}
	s.operatorLoop = newOperatorLoop(s.site, o.Seed, s.say)
	s.injector = &injector{site: s.site, say: s.say, counts: map[string]int{}}
	report = Report{Seed: o.Seed, Minutes: tenths(o.Length) / 60, Violations: []audit.Violation{}}
	up, err := s.site.start(ctx)
	if err != nil {
		return report, err
	}
	s.say("the engine is ready after %d ms, the agents %s are attached", up.Milliseconds(),
		strings.Join(outside, ", "))
	if err := s.at(ctx, &report, all); err != nil {
		return report, err
	}
	if err := s.conclude(ctx, &report); err != nil {
		return report, err
	}
	report.Seconds = tenths(time.Since(s.began))
	report.print(o.Out)
	if !report.Passed {
		return report, fmt.Errorf("%w: %s", errFailed, report.Why)
	}
	return report, nil
}

// at runs the plan of faults and then waits until every order has ended.
func (s *session) at(ctx context.Context, report *Report, all []processFault) error {
	if err := s.first(ctx, report); err != nil {
		return err
	}
	work, stopWork := context.WithCancel(ctx)
	defer stopWork()
	operating, stopOperator := context.WithCancel(work)
	defer stopOperator()
	var operatorLoop sync.WaitGroup
	operatorLoop.Go(func() { s.operatorLoop.run(operating) })

	selling, closing := context.WithCancel(work)
	defer closing()
	var sending sync.WaitGroup
	sending.Go(func() { s.app.run(selling, work) })
	begun := time.Now()
	err := s.injector.run(work, all)
	if err == nil { // the services' faults continue until Length has passed
		err = port.Sleep(ctx, time.Until(begun.Add(s.o.Length)))
	}
	closing()
	s.site.Fleet.Calm()
	if err != nil {
		return err
	}
	faultsEnded := time.Now()
	s.say(
		"the faults have ended after %.1f s with %d orders; now everything has to come to its end within %s",
		time.Since(s.began).Seconds(), s.app.Progress().Lines, settleLimit)
	limited, cancel := context.WithTimeout(work, settleLimit)
	defer cancel()
	if err := s.settle(limited, &sending, stopOperator, &operatorLoop); err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	s.site.AtWork()
	report.SettleSeconds = tenths(time.Since(faultsEnded))
	return nil
}

// first blocks until the engine reports its size, and records it before the first order.
func (s *session) first(ctx context.Context, report *Report) error {
	for end := time.Now().Add(readyPatience); ; {
		size, ok := s.site.measure(ctx)
		if ok {
			report.Before = size
			return nil
		}
		if err := port.Sleep(ctx, 100*time.Millisecond); err != nil || time.Now().After(end) {
			return errors.Join(errors.New("the engine does not answer for its health"), err)
		}
	}
}

// settle blocks until every order has a response and every order has ended.
func (s *session) settle(ctx context.Context, sending *sync.WaitGroup, stopOperator func(),
	operatorLoop *sync.WaitGroup,
) error {
	sent := make(chan struct{})
	go func() { sending.Wait(); close(sent) }()
	select {
	case <-sent:
	case <-ctx.Done():
		return ctx.Err()
	}
	// The operator gave up some orders during the worst faults. Handle them once more.
	stopOperator()
	operatorLoop.Wait()
	s.operatorLoop.gone = s.operatorLoop.resumed()
	clear(s.operatorLoop.Resubmits)
	for {
		s.operatorLoop.handleStopped(ctx)
		open := 0
		for _, state := range []client.State{"Processing", "Compensating", "Error"} {
			for _, err := range s.site.api.List(ctx, client.Query{State: state, PageSize: listPage}) {
				if err != nil {
					open++ // the number is unknown, so count one
					break
				}
				open++
			}
		}
		if open == 0 {
			return nil
		}
		if err := port.Sleep(ctx, attendEvery); err != nil {
			return err
		}
	}
}

// conclude stops every process that could still change a book, and audits the result.
func (s *session) conclude(ctx context.Context, r *Report) error {
	var listed []client.Summary
	for x, err := range s.site.api.List(ctx, client.Query{PageSize: listPage}) {
		if err != nil {
			return fmt.Errorf("list the orders at the end: %w", err)
		}
		listed = append(listed, x)
		switch {
		case strings.HasPrefix(x.OrderID, probePrefix):
		case isChild(x.OrderID):
			r.Children++
		default:
			if x.State == "Cancelled" {
				r.Cancelled++
			}
			if x.Workflow == raced {
				r.Raced++
			}
		}
	}
	s.site.front.CloseClientConnections()
	rest, small := s.site.rest(ctx, r.Before)
	r.Rest = rest
	r.Restarts = s.site.Restarts()
	if err := s.site.stop(); err != nil {
		return err
	}
	s.app.Observe(listed, nil)
	orders := s.app.Outcomes()
	for _, id := range s.injector.probes {
		orders = append(orders, audit.Order{ID: id, Outcome: audit.Undone})
	}
	r.Probes = len(s.injector.probes)
	r.Progress = s.app.Progress()
	s.counts(r)
	if err := s.audit(ctx, r, orders); err != nil {
		return err
	}
	r.judge(small, s.o)
	return nil
}

func (s *session) counts(r *Report) {
	r.Faults = s.injector.counts
	r.Services = map[services.Fault]int{}
	for _, name := range services.Names() {
		for fault, n := range s.site.Fleet.Counts(name).Faults {
			r.Services[fault] += n
		}
	}
	r.Resubmitted = s.operatorLoop.resubmitted()
	r.Resolved = s.operatorLoop.Resolved
	r.Outdated = len(s.operatorLoop.outdated)
	r.GoneOn = s.operatorLoop.gone + s.operatorLoop.resumed()
	r.UndoneByOperator = len(s.operatorLoop.Undone)
}

// audit reads the services' books.
func (s *session) audit(ctx context.Context, r *Report, orders []audit.Order) error {
	result, err := s.site.Audit(ctx, orders)
	if err != nil {
		return err
	}
	r.Effects = result.Effects
	r.Reversals = result.Reversals
	r.Violations = append(append(append(r.Violations, result.Violations...), s.app.Violations()...),
		s.operatorLoop.wrong...)
	return nil
}

// judge records whether the run passed, and if not, why.
func (r *Report) judge(small bool, o Options) {
	var why []string
	if n := len(r.Violations); n > 0 {
		why = append(why, fmt.Sprintf("%d violations", n))
	}
	if n := r.Unfinished + r.Error; n > 0 {
		why = append(why, fmt.Sprintf("%d orders without an end %s after the last fault", n, settleLimit))
	}
	if missing := r.missing(); len(missing) > 0 && !o.Quiet {
		why = append(why, "never happened: "+strings.Join(missing, ", "))
	}
	if r.Raced == 0 || r.Children == 0 {
		why = append(why, "no order raced, or none had children")
	}
	if !small {
		why = append(why, "the engine holds more at rest than before the first order")
	}
	r.Why = strings.Join(why, "; ")
	r.Passed = len(why) == 0
}
