package incident

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	// Key is the key of the document. No order's ID holds a '#'.
	Key = "#incidents"
	// MostOpen is the number of separate incidents. Orders of all further incidents are counted in one
	// incident without a name. With the longest texts the document stays below 200 KB.
	MostOpen = 50
	// DefaultWindow is the time for which an incident gathers orders before their number is published.
	DefaultWindow = 15 * time.Minute
	// DefaultReminder is the time between two alerts of an incident that lasts.
	DefaultReminder = 24 * time.Hour
	// noteEvery is the shortest interval between two writes that record further stopped orders. It is short
	// enough that an incident does not end while orders stop, and long enough that a thousand orders do not
	// cause a thousand writes.
	noteEvery = 10 * time.Second
	// quietTime is the time without a stopped order after which an incident is over. It is longer than
	// noteEvery, and than the lag of an index behind its table and of one clock behind another.
	quietTime = time.Minute
	// publishTime is the time in which the process that opened an incident has to publish its alert. After
	// that time a sweep of any process publishes it.
	publishTime = 30 * time.Second
	// mostCounted bounds the orders in Error that one sweep reads.
	mostCounted = 10_000
	pageSize    = 1_000
	// tryAgain is the time between two attempts of a process to publish an alert.
	tryAgain = time.Minute
	// mostNoted bounds the incidents that a process remembers.
	mostNoted = 1_000
	// tries bounds the writes of the document. A conflict means that another incident was opened at the same
	// moment.
	tries = 8
)

// ID identifies an incident. Without a workflow it stands for the orders beyond MostOpen.
type ID struct {
	Workflow string `json:"workflow"`
	Step     string `json:"step,omitempty"`
	Code     string `json:"code,omitempty"`
	// the incident is about undone orders; they need no operator and are not counted
	Undone bool `json:"undone,omitempty"`
	Intake bool `json:"intake,omitempty"` // the incident is about the intake, which refuses new orders
}

// Incident is an open incident.
type Incident struct {
	ID
	Opened core.Time       `json:"opened"`
	First  core.RaiseAlert `json:"first"` // alert of the order that opened it
	Last   core.Time       `json:"last"`  // time of the last stopped order, accurate to noteEvery
	//nolint:misspell // the stored name of: when its last alert was published
	Published core.Time `json:"told,omitzero"`
	// end of the incident, set until the alert about it is published
	Over   core.Time `json:"over,omitzero"`
	Orders int       `json:"orders"` // number of orders in the latest alert
	Most   int       `json:"most"`   // highest number of orders in Error at once, as counted by sweeps
	// more orders were undone since the latest alert; only for incidents of undone orders
	More bool `json:"more,omitempty"`
}

// document is the stored form of all open incidents.
type document struct {
	Open []Incident `json:"open"`
}

// Config holds the dependencies and times of Incidents. Records, Tasks, Publish, Go and Clock are required.
type Config struct {
	Records port.Ledger
	Tasks   Tasks
	// Publish returns nil when the operator will see the alert. It bounds its own time, and the number of
	// alerts that it sends at once.
	Publish func(ctx context.Context, alert message.Alert) error
	// Go starts a publication and returns at once, because the actors that call Raise wait for nothing
	// outside their store and queues. The publication's context ends only when the process stops.
	Go       func(publication func(ctx context.Context))
	Clock    port.Clock
	Window   time.Duration // 0 means DefaultWindow
	Reminder time.Duration // 0 means DefaultReminder, a negative value no reminders
	Log      *slog.Logger
}

// Tasks lists the orders in Error.
type Tasks interface {
	List(ctx context.Context, q port.Query) (port.Page, error)
}

// Incidents implements port.Alerts. It is safe for concurrent use.
type Incidents struct {
	cfg Config

	// a lock with a value while this process changes the document, so that its own writes do not conflict
	writing chan struct{}

	mu       sync.Mutex
	attempts map[instance]attempt
	ended    int              // number of ended publications
	noted    map[ID]core.Time // time of the last stopped order that this process has seen stored, by incident
	left     map[ID]core.Time // last check that found orders in Error with a request in flight, by incident
}

// New returns Incidents.
func New(cfg Config) *Incidents {
	cfg.Window = cmp.Or(cfg.Window, DefaultWindow)
	cfg.Reminder = cmp.Or(cfg.Reminder, DefaultReminder)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return &Incidents{
		cfg: cfg, writing: make(chan struct{}, 1), attempts: map[instance]attempt{},
		noted: map[ID]core.Time{}, left: map[ID]core.Time{},
	}
}

// Raise returns when the order's incident is stored. If the order opens the incident, Raise starts the
// publication of its alert, and does not wait for it. A later sweep repeats a publication that fails.
func (s *Incidents) Raise(ctx context.Context, a core.RaiseAlert) error {
	if err := s.raise(ctx, ID{Workflow: a.Workflow, Step: a.Step, Code: a.Code, Undone: a.Undone},
		a); err != nil {
		return fmt.Errorf("incident of task %q: %w", a.OrderID, err)
	}
	return nil
}

// Refused opens the incident of an intake that refuses new orders, as Raise does for an order. The caller
// repeats the call while the intake refuses orders. A sweep ends the incident if no call came for quietTime.
func (s *Incidents) Refused(ctx context.Context, code, reason string) error {
	a := core.RaiseAlert{Code: code, Message: reason, At: core.TimeOf(s.cfg.Clock.Now())}
	if err := s.raise(ctx, ID{Code: code, Intake: true}, a); err != nil {
		return fmt.Errorf("incident of the intake: %w", err)
	}
	return nil
}

func (s *Incidents) raise(ctx context.Context, id ID, a core.RaiseAlert) error {
	now, opened := core.TimeOf(s.cfg.Clock.Now()), false
	if s.isNoted(id, now) {
		return nil
	}
	fresh, last := Incident{Opened: now, Last: now, First: a}, now
	err := s.change(ctx, func(d *document) bool {
		fresh.ID, opened = id, false
		x := d.find(id)
		if x == nil && len(d.Open) >= MostOpen && !id.Intake {
			fresh.ID = ID{Undone: a.Undone}
			x = d.find(fresh.ID)
		}
		switch {
		case x == nil:
			d.Open = append(d.Open, fresh)
		case x.Over != 0: // the incident is over, so a new one begins
			*x = fresh
		default:
			note := now.Sub(x.Last).Std() >= noteEvery
			// the same order may be reported twice
			if a.Undone && !x.More && (a.OrderID != x.First.OrderID || a.Run != x.First.Run) {
				x.More, note = true, true
			}
			if last = x.Last; note {
				x.Last = max(x.Last, now)
				last = x.Last
			}
			if note && id.Intake { // a reminder names the newest number of orders
				x.First = a
			}
			return note
		}
		last, opened = now, true
		return true
	})
	if err != nil {
		return err
	}
	s.note(id, last)
	if opened {
		s.start(fresh, s.seen(), func(ctx context.Context) error {
			return s.announce(ctx, fresh, fresh, message.AlertFirst, 1)
		})
	}
	return nil
}

// isNoted reports whether this process has seen a stored stop of the incident that is less than noteEvery
// old. Then the incident stays open for at least quietTime, and no write is needed. Undone orders are always
// written, because the incident must know whether there are several.
func (s *Incidents) isNoted(id ID, now core.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	last, known := s.noted[id]
	return known && !id.Undone && now.Sub(last).Std() < noteEvery
}

func (s *Incidents) note(id ID, last core.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.noted) >= mostNoted {
		clear(s.noted)
	}
	s.noted[id] = last
}

func (d *document) find(id ID) *Incident {
	if i := slices.IndexFunc(d.Open, func(x Incident) bool { return x.ID == id }); i >= 0 {
		return &d.Open[i]
	}
	return nil
}

// same returns the incident as it is stored now. It returns nil if the incident has ended, or if another one
// has begun with its ID.
func (d *document) same(x Incident) *Incident {
	if y := d.find(x.ID); y != nil && y.Opened == x.Opened && y.First.OrderID == x.First.OrderID {
		return y
	}
	return nil
}

func (s *Incidents) load(ctx context.Context) (d document, e port.LedgerEntry, err error) {
	if e, err = s.cfg.Records.Entry(ctx, Key); err != nil || len(e.Output) == 0 {
		return d, e, err
	}
	// the document was changed by hand; the next stopped orders open incidents again
	if err := json.Unmarshal(e.Output, &d); err != nil {
		s.cfg.Log.ErrorContext(ctx, "the record of open incidents cannot be read, and begins anew", "key",
			Key, "error", err)
		return document{}, e, nil
	}
	return d, e, nil
}

// change stores the change of f on the newest version. f reports whether it has changed anything.
func (s *Incidents) change(ctx context.Context, f func(*document) bool) (err error) {
	select {
	case s.writing <- struct{}{}:
		defer func() { <-s.writing }()
	case <-ctx.Done():
		return ctx.Err()
	}
	for range tries {
		var d document
		var e port.LedgerEntry
		if d, e, err = s.load(ctx); err != nil {
			return err
		}
		if !f(&d) {
			return nil
		}
		e.Output, _ = json.Marshal(d) // texts, numbers and times always encode
		e.Key, e.State = Key, "open"
		if err = s.cfg.Records.Move(ctx, e); !errors.Is(err, port.ErrConflict) {
			return err
		}
	}
	return err
}

// Sweep starts the publication of the alerts that are due, and counts the orders in Error by workflow. It
// does not wait for the publications, which log their failures. The counts are nil if no incident is open.
func (s *Incidents) Sweep(ctx context.Context) (map[string]port.Stopped, error) {
	l := look{now: s.cfg.Clock.Now(), seen: s.seen()}
	d, _, err := s.load(ctx)
	if err != nil || len(d.Open) == 0 {
		return nil, err
	}
	if slices.ContainsFunc(d.Open, func(x Incident) bool { return !x.Undone && !x.Intake }) {
		// Too many orders may be in Error to be listed. First alerts are published nevertheless, and no
		// incident is over.
		if l.counted, err = s.countOf(ctx, d, port.Query{}, l.now); err != nil {
			s.cfg.Log.WarnContext(ctx, "orders in Error were not counted", "error", err)
		}
	}
	s.forget(d, l.seen)
	var errs []error
	for _, x := range d.Open {
		if err := s.visit(ctx, x, l); err != nil {
			errs = append(errs, fmt.Errorf("incident of workflow %q at %q, %q: %w", x.Workflow, x.Step,
				x.Code, err))
		}
	}
	return l.workflows, errors.Join(errs...)
}

// drop removes an incident, unless more orders have joined it.
func (s *Incidents) drop(ctx context.Context, x Incident) error {
	return s.change(ctx, func(d *document) bool {
		if y := d.same(x); y == nil || y.More {
			return false
		}
		d.Open = slices.DeleteFunc(d.Open, func(y Incident) bool { return y.ID == x.ID })
		return true
	})
}

// quietEnd ends an incident of undone orders without an alert, because no operator was needed.
const quietEnd message.AlertKind = "quiet"

// due returns the alert that is due for an incident with that many orders in Error, or "". whole means that
// all orders in Error were read, so that the count is complete.
func (s *Incidents) due(x Incident, orders int, whole bool, now time.Time) message.AlertKind {
	age := now.Sub(x.Opened.Std())
	since := now.Sub(x.Published.Std())
	switch {
	case x.Published == 0 && age >= publishTime:
		return message.AlertFirst
	case x.Published == 0:
		return ""
	case x.Undone && since < s.cfg.Window:
		return ""
	case x.Undone && x.More:
		return message.AlertMore
	case x.Undone:
		return quietEnd
	case x.Over != 0, x.Intake && now.Sub(x.Last.Std()) >= quietTime:
		return message.AlertOver
	case age < s.cfg.Window:
		return ""
	case orders == 0 && !x.Intake:
		if whole && now.Sub(x.Last.Std()) >= quietTime {
			return message.AlertOver
		}
		return ""
	case orders >= 2*max(x.Orders, 1) && since >= s.cfg.Window:
		return message.AlertMore
	case s.cfg.Reminder > 0 && since >= s.cfg.Reminder:
		return message.AlertReminder
	}
	return ""
}

// found holds the counted orders of an incident.
type found struct {
	orders int
	// alert of an order in Error now: the first to stop among the orders that were read
	example core.RaiseAlert
	first   bool // the order that opened the incident is one of them
}

func (f *found) add(t *view.Summary, first core.RaiseAlert) {
	f.orders++
	f.first = f.first || t.OrderID == first.OrderID
	if f.orders == 1 || t.EndedAt <= f.example.At {
		f.example = core.RaiseAlert{OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.Command,
			Phase: t.Phase, At: t.EndedAt}
		if t.Error != nil {
			f.example.Step, f.example.Code, f.example.Message = t.Error.Step, t.Error.Code, t.Error.Message
		}
	}
}

// counted holds the orders in Error that were counted.
type counted struct {
	orders    map[ID]found
	workflows map[string]port.Stopped
	whole     bool // every such order was counted
}

// countOf counts the orders in Error that the query selects, newest first. Unless the query says otherwise,
// these are the orders with no request in flight.
func (s *Incidents) countOf(ctx context.Context, d document, q port.Query, now time.Time) (counted, error) {
	all := counted{orders: map[ID]found{}, workflows: map[string]port.Stopped{}}
	q.State, q.Limit = string(core.Error), pageSize
	for seen := 0; seen < mostCounted; {
		page, err := s.cfg.Tasks.List(ctx, q)
		if err != nil {
			return counted{}, fmt.Errorf("list the orders in Error: %w", err)
		}
		for i := range page.Records {
			t := view.Listed(&page.Records[i])
			id := ID{Workflow: t.Workflow}
			if t.Error != nil {
				id.Step, id.Code = t.Error.Step, t.Error.Code
			}
			x := d.find(id)
			if x == nil {
				id = ID{}
				x = d.find(id)
			}
			if x != nil {
				f := all.orders[id]
				f.add(&t, x.First)
				all.orders[id] = f
			}
			c := all.workflows[t.Workflow]
			c.Orders++
			if t.EndedAt != 0 {
				c.Oldest = max(c.Oldest, now.Sub(t.EndedAt.Std()))
			}
			all.workflows[t.Workflow] = c
		}
		if seen += len(page.Records); page.Next == "" {
			all.whole = true
			return all, nil
		}
		q.Cursor = page.Next
	}
	return all, nil
}
