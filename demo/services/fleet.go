// Package services implements the four remote services of the demo: inventory, payment, shipping and
// notification. They share an HTTP server on the loopback interface, and each has its own ledger. The
// services fail on purpose. They do not depend on Stepkeeper.
//
// The services have these endpoints:
//
//	POST /<service>/<operation>            Idempotency-Key: <key>, body = input   2xx = output
//	GET  /<service>/<operation>?key=<key>  200 = the effect stands, 404 = it does not
//
//	service       operations        grade
//	inventory     reserve, release  fenced: after a release, a reserve with the same key is refused
//	payment       charge, refund    idempotent: a refund without a charge succeeds without effect
//	shipping      book, cancel      plain: every accepted call books or cancels a parcel
//	notification  confirm           idempotent, without undo
//
// The operations have these inputs and outputs. The services ignore other members of an input:
//
//	reserve  {"items":[{"sku":"MUG-01","quantity":2}]}           {"reservationId":"…"}
//	charge   {"card":"tok_…","amount":1999,"currency":"EUR"}     {"chargeId":"…", …}    minor units
//	book     {"shipTo":{"country":"DE"}}                         {"shipmentId":"…"}
//	confirm  anything                                            {"messageId":"…"}
//
// An undo needs only the key. A service refuses a call with one of two statuses:
//
//   - 422 if the call can never succeed
//   - 409 if the key was released before, or if there is nothing to cancel
//
// The body of a refusal is {"error":{"code","message"}}.
//
// A ledger is a file to which a service only appends. Each line is one row as a JSON object, with its kind, key,
// amount, unit, output and time. The kind is do, undo or fence. A fence is a row for an undo that found no do. The
// parts of a row are the quantities that it has moved, by account, such as a card, and the balances after that.
package services

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
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

// settings holds the settings of every agent. The services fail in about one of twelve calls. The circuit
// breaker must not open because of these failures.
const settings = `    concurrency: 32
    allow: {loopback: true}
    breaker: {failures: 10, window: 20, delay: 2s}
`

// AgentsFile returns an agents file for the services at an address. The agents whose names are in external run outside
// `stepkeeper dev`.
//
// The operations of the plain service have no check, although it could answer one: the operator resolves its calls in
// doubt (P31, a plain service needs a ledger).
func AgentsFile(url string, external ...string) []byte {
	var b bytes.Buffer
	b.WriteString("agents:\n")
	for _, s := range all() {
		if slices.Contains(external, s.name) {
			fmt.Fprintf(&b, "  %s: {external: true}\n", s.name)
			continue
		}
		fmt.Fprintf(&b, "  %s:\n    url: %q\n%s    operations:\n", s.name, url+"/"+s.name, settings)
		for _, op := range s.operations() {
			check := ""
			if s.grade != plain {
				check = fmt.Sprintf("check: {method: GET, path: %q}", "/"+op+"?key={key}")
			}
			fmt.Fprintf(&b, "      %s: {%s}\n", op, check)
		}
	}
	return b.Bytes()
}

// Counts holds the numbers of requests and faults of one service.
type Counts struct {
	Calls   int           `json:"calls"`   // POST requests, including requests with a fault
	Repeats int           `json:"repeats"` // calls with the operation and key of an earlier call
	Checks  int           `json:"checks"`  // GET requests
	Refused int           `json:"refused"` // calls that were refused with 409 or 422
	Outage  int           `json:"duringOutage"`
	Faults  map[Fault]int `json:"faults"`
}

// count changes the counts.
func (s *server) count(f func(c *Counts)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f(&s.counts)
}

// next counts a request of a kind for a key. It returns the number of these requests so far.
func (s *server) next(kind, key string) (n int) {
	s.count(func(*Counts) {
		s.requests[kind+" "+key]++
		n = s.requests[kind+" "+key]
	})
	return n
}

// Counts returns the present counts of a service.
func (f *Fleet) Counts(name string) (counts Counts) {
	f.servers[name].count(func(c *Counts) {
		counts = *c
		counts.Faults = maps.Clone(c.Faults)
	})
	return counts
}
