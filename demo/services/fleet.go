package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// The names of the services.
const (
	Inventory    = "inventory"
	Payment      = "payment"
	Shipping     = "shipping"
	Notification = "notification"
)

// Names returns the names of the services in the sequence in which the demo's workflow calls them.
func Names() []string { return []string{Inventory, Payment, Shipping, Notification} }

// Options configures a Fleet.
type Options struct {
	Dir   string           // folder for the ledgers; it must exist and contain no ledgers
	Seed  uint64           // seed for the injected faults
	Rates map[string]Rates // fault rates by service; a service without an entry has no faults
	Clock func() time.Time // clock; nil means time.Now

	SlowFor time.Duration // time of a slow response; 0 means 200 ms
	HangFor time.Duration // longer than the timeout of a step; 0 means 2.5 s
}

// Fleet holds the four running services.
type Fleet struct {
	servers map[string]*server
	stop    context.CancelFunc
	clock   func() time.Time

	marked    atomic.Bool
	firstCall atomic.Int64 // Unix nanoseconds of the first call since Mark; 0 means no call
}

// Start creates the ledgers and starts the services on four free ports of 127.0.0.1.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	if o.Clock == nil {
		o.Clock = time.Now
	}
	o.SlowFor = cmp.Or(o.SlowFor, 200*time.Millisecond)
	o.HangFor = cmp.Or(o.HangFor, 2500*time.Millisecond)
	ctx, stop := context.WithCancel(ctx)
	f := &Fleet{servers: map[string]*server{}, stop: stop, clock: o.Clock}
	for _, s := range []*service{inventory(), payment(), shipping(), notification()} {
		if err := f.start(ctx, s, o); err != nil {
			return nil, errors.Join(fmt.Errorf("start service %s: %w", s.name, err), f.Close())
		}
	}
	return f, nil
}

func (f *Fleet) start(ctx context.Context, s *service, o Options) error {
	path := filepath.Join(o.Dir, s.name+".db")
	l, err := openLedger(ctx, path, o.Clock)
	if err != nil {
		return err
	}
	l.opening = s.opening
	l.lacking = s.lacking
	srv := &server{
		service: s, ledger: l, path: path, seed: o.Seed, rates: o.Rates[s.name], clock: o.Clock, ctx: ctx,
		arrival: f.arrival, tally: newTally(), slowFor: o.SlowFor, hangFor: o.HangFor,
	}
	f.servers[s.name] = srv
	srv.http = http.Server{
		Handler: srv, ReadHeaderTimeout: 5 * time.Second,
		// Callers often disconnect. The log would show each of these disconnections as an error.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	srv.url = "http://" + listener.Addr().String()
	go func() { // This goroutine ends with Drain or Close.
		_ = port.Guard(nil, "the service "+s.name, func() error { return srv.http.Serve(listener) })
	}()
	return nil
}

// URL returns the base address of a service.
func (f *Fleet) URL(name string) string { return f.servers[name].url }

// Ledger returns the path of a service's SQLite file. The file can be read while the service runs.
func (f *Fleet) Ledger(name string) string { return f.servers[name].path }

// BeginOutage starts an outage of a service. During the outage, the service returns 503 or breaks the
// connection.
func (f *Fleet) BeginOutage(name string) { f.servers[name].down.Store(true) }

// EndOutage ends the outage of a service.
func (f *Fleet) EndOutage(name string) {
	s := f.servers[name]
	s.upSince.Store(f.clock().UnixNano())
	s.down.Store(false)
}

// Calm ends all faults of Rates except Lie. Calls then take 1 to 10 ms.
func (f *Fleet) Calm() {
	for _, s := range f.servers {
		s.faultless.Store(true)
	}
}

// Busy returns the number of running calls of a service.
func (f *Fleet) Busy(name string) int64 { return f.servers[name].busy.Load() }

// Recovery returns the time from the end of a service's outage to the first effect after the outage. It
// returns false if there was no effect after an outage.
func (f *Fleet) Recovery(name string) (time.Duration, bool) {
	s := f.servers[name]
	up := s.upSince.Load()
	first := s.firstAfter.Load()
	return time.Duration(first - up), up != 0 && first != 0
}

// Happened reports whether the effect of an operation stands. It reads the service's ledger directly, so that
// the injected faults do not matter.
func (f *Fleet) Happened(ctx context.Context, name, operation, key string) (bool, error) {
	s := f.servers[name]
	yes, _, err := s.happened(ctx, s.ledger, operation, key)
	return yes, err
}

// Mark resets FirstCall. FirstCall then returns the time of the next call to any service.
func (f *Fleet) Mark() {
	f.firstCall.Store(0)
	f.marked.Store(true)
}

// FirstCall returns the time of the first call since Mark. It returns false if there was no call.
func (f *Fleet) FirstCall() (time.Time, bool) {
	n := f.firstCall.Load()
	return time.Unix(0, n), n != 0
}

func (f *Fleet) arrival() {
	if f.marked.Load() && f.firstCall.Load() == 0 {
		f.firstCall.CompareAndSwap(0, f.clock().UnixNano())
	}
}

// Counts returns the present counts of a service.
func (f *Fleet) Counts(name string) Counts { return f.servers[name].tally.snapshot() }

// Drain stops the servers and waits until every call has ended, including late effects. After Drain, no
// ledger changes any more. Drain returns an error if ctx ends first.
func (f *Fleet) Drain(ctx context.Context) error {
	for _, name := range Names() {
		if err := f.servers[name].http.Shutdown(ctx); err != nil {
			return err
		}
		f.servers[name].copies.Wait()
	}
	return nil
}

// Close stops the services and closes the ledgers.
func (f *Fleet) Close() error {
	f.stop()
	var errs []error
	for _, name := range Names() {
		if s := f.servers[name]; s != nil {
			errs = append(errs, s.http.Close())
			s.copies.Wait()
			errs = append(errs, s.ledger.db.Close())
		}
	}
	return errors.Join(errs...)
}
