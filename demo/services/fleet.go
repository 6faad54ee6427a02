package services

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
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
func Names() (names []string) {
	for _, s := range all() {
		names = append(names, s.name)
	}
	return names
}

// Options configures a Fleet.
type Options struct {
	Dir    string           // folder for the ledgers; it must exist and contain no ledgers
	Listen string           // address of the services; "" means a free port of 127.0.0.1
	Seed   uint64           // seed for the injected faults
	Rates  map[string]Rates // fault rates by service; a service without an entry has no faults

	SlowFor time.Duration // time of a slow response; 0 means 200 ms
	HangFor time.Duration // longer than the timeout of a step; 0 means 2.5 s
}

// Fleet holds the four running services.
type Fleet struct {
	servers map[string]*server
	http    http.Server
	url     string
	stop    context.CancelFunc

	marked    atomic.Bool
	firstCall atomic.Int64 // Unix nanoseconds of the first call since Mark; 0 means no call
}

// Start creates the ledgers and starts the services.
func Start(ctx context.Context, o Options) (*Fleet, error) {
	o.SlowFor = cmp.Or(o.SlowFor, 200*time.Millisecond)
	o.HangFor = cmp.Or(o.HangFor, 2500*time.Millisecond)
	ctx, stop := context.WithCancel(ctx)
	f := &Fleet{servers: map[string]*server{}, stop: stop}
	err := f.start(ctx, o)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start the services: %w", err), f.Close())
	}
	return f, nil
}

func (f *Fleet) start(ctx context.Context, o Options) error {
	mux := http.NewServeMux()
	for _, s := range all() {
		b, err := openBook(o.Dir, s)
		if err != nil {
			return err
		}
		srv := &server{
			book: b, seed: o.Seed, rates: o.Rates[s.name], ctx: ctx, slowFor: o.SlowFor, hangFor: o.HangFor,
			counts: Counts{Faults: map[Fault]int{}}, requests: map[string]int{},
		}
		f.servers[s.name] = srv
		mux.Handle("/"+s.name+"/", http.StripPrefix("/"+s.name, srv))
	}
	f.http = http.Server{
		Handler: f.timed(mux), ReadHeaderTimeout: 5 * time.Second,
		// Callers often disconnect. The log would show each of these disconnections as an error.
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", cmp.Or(o.Listen, "127.0.0.1:0"))
	if err != nil {
		return err
	}
	f.url = "http://" + listener.Addr().String()
	go func() { // This goroutine ends with Drain or Close.
		_ = port.Guard(nil, "the services", func() error { return f.http.Serve(listener) })
	}()
	return nil
}

// timed returns a handler that keeps the time of the first call.
func (f *Fleet) timed(services http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost && f.marked.Load() && f.firstCall.Load() == 0 {
			f.firstCall.CompareAndSwap(0, time.Now().UnixNano())
		}
		services.ServeHTTP(w, r)
	})
}

// URL returns the address of the services. The address of one service is this address, a slash, and its name.
func (f *Fleet) URL() string { return f.url }

// Ledger returns the path of a service's ledger. The file can be read while the service runs.
func (f *Fleet) Ledger(name string) string { return f.servers[name].path }

// BeginOutage starts an outage of a service. During the outage, the service returns 503 or breaks the
// connection.
func (f *Fleet) BeginOutage(name string) { f.servers[name].down.Store(true) }

// EndOutage ends the outage of a service.
func (f *Fleet) EndOutage(name string) {
	s := f.servers[name]
	s.upSince.Store(time.Now().UnixNano())
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

// Happened reports whether the effect of an operation stands. It asks the service's book directly, so that the
// injected faults do not matter.
func (f *Fleet) Happened(name, operation, key string) bool {
	yes, _ := f.servers[name].happened(operation, key)
	return yes
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

// Drain stops the services and waits until every call has ended, including late effects. After Drain, no
// ledger changes any more. Drain returns an error if ctx ends first.
func (f *Fleet) Drain(ctx context.Context) error {
	if err := f.http.Shutdown(ctx); err != nil {
		return err
	}
	for _, s := range f.servers {
		s.copies.Wait()
	}
	return nil
}

// Close stops the services and closes the ledgers.
func (f *Fleet) Close() error {
	f.stop()
	errs := []error{f.http.Close()}
	for _, s := range f.servers {
		s.copies.Wait()
		errs = append(errs, s.ledger.Close())
	}
	return errors.Join(errs...)
}
