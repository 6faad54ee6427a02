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
	// Key is the ledger key of the document. It cannot be an order ID, because no order ID contains a '#'.
	Key = "#incidents"
	// MostOpen is the largest number of separate incidents. The orders of all other incidents share one
	// incident without a name. With the longest texts, the document is smaller than 200 KB.
	MostOpen = 50
	// DefaultWindow is the time for which an incident collects orders before an alert reports their number.
	DefaultWindow = 15 * time.Minute
	// DefaultReminder is the time between two alerts about an incident that has not ended.
	DefaultReminder = 24 * time.Hour
	// noteEvery is the shortest time between two writes that record stopped orders of an open incident. It is
	// shorter than quietTime, so that an incident does not end while orders still stop. It is long enough to
	// save most writes when many orders stop at once.
	noteEvery = 10 * time.Second
	// quietTime is the time without a stopped order after which an incident may end. It is longer than
	// noteEvery, than the delay of an index, and than the difference between two clocks.
	quietTime = time.Minute
	// publishTime is the time in which the process that opened an incident must publish the first alert.
	// After that time, a sweep of any process publishes the alert.
	publishTime = 30 * time.Second
	// mostCounted limits the orders in Error that one sweep reads.
	mostCounted = 10_000
	pageSize    = 1_000
	// tryAgain is the shortest time between two attempts of a process to publish the same alert.
	tryAgain = time.Minute
	// mostNoted limits the number of incidents in Incidents.noted.
	mostNoted = 1_000
	// tries limits the attempts to write the document. A conflict means that another process has changed the
	// document.
	tries = 8
)

// ID identifies an incident. Unless Intake is true, an ID without a workflow stands for all orders beyond
// MostOpen.
type ID struct {
	Workflow string `json:"workflow"`
	Step     string `json:"step,omitempty"`
	Code     string `json:"code,omitempty"`
	// the incident is about undone orders, which need no operator and are not counted
	Undone bool `json:"undone,omitempty"`
	Intake bool `json:"intake,omitempty"` // the incident is about new orders that intake refuses
}

// Incident is an open incident.
type Incident struct {
	ID
	Opened core.Time       `json:"opened"`
	First  core.RaiseAlert `json:"first"` // alert of the order that opened the incident
	Last   core.Time       `json:"last"`  // time of the last stopped order, accurate to noteEvery
	//nolint:misspell // the stored name of: when its last alert was published
	Published core.Time `json:"told,omitzero"`
	// time when a sweep found that no order is in Error; set until the last alert is published
	Over   core.Time `json:"over,omitzero"`
	Orders int       `json:"orders"` // number of orders in the most recent alert
	Most   int       `json:"most"`   // highest number of orders in Error that a sweep has counted
	// more orders were undone after the most recent alert; used only if Undone is true
	More bool `json:"more,omitempty"`
}

// document is the stored form of all open incidents.
type document struct {
	Open []Incident `json:"open"`
}

// Config configures Incidents. Records, Tasks, Publish, Go and Clock are required.
type Config struct {
	Records port.Ledger
	Tasks   Tasks
	// Publish publishes an alert. It returns nil only if the operator will see the alert. It must limit its
	// own time, and the number of alerts that it sends at once.
	Publish func(ctx context.Context, alert message.Alert) error
	// Go starts a publication in a goroutine and returns at once. A caller of Raise must not wait for systems
	// other than its store and its queues. The context of the publication must end only when the process
	// stops.
	Go       func(publication func(ctx context.Context))
	Clock    port.Clock
	Window   time.Duration // 0 means DefaultWindow
	Reminder time.Duration // 0 means DefaultReminder; a negative value means no reminders
	Log      *slog.Logger
}

// Tasks lists the orders in Error.
type Tasks interface {
	List(ctx context.Context, q port.Query) (port.Page, error)
}

// Incidents implements port.Alerts. It is safe for concurrent use.
type Incidents struct {
	cfg Config

	// writing is a semaphore. It prevents two writes of this process to the document at a time, because they
	// would conflict.
	writing chan struct{}

	mu       sync.Mutex
	attempts map[instance]attempt
	ended    int              // number of publications that have ended
	noted    map[ID]core.Time // latest Incident.Last that this process has seen, by ID
	left     map[ID]core.Time // time when isLeft last found an order or failed, by incident
}

// New returns an Incidents with this configuration.
func New(cfg Config) *Incidents {
	cfg.Window = cmp.Or(cfg.Window, DefaultWindow)
	cfg.Reminder = cmp.Or(cfg.Reminder, DefaultReminder)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return &Incidents{
		cfg: cfg, writing: make(chan struct{}, 1), attempts: map[instance]attempt{},
		noted: map[ID]core.Time{}, left: map[ID]core.Time{},
	}
}

// Raise returns after the incident of the order is stored. If the order opens the incident, Raise starts the
// publication of the first alert, and does not wait for it. If the publication fails, a sweep repeats the
// publication.
func (s *Incidents) Raise(ctx context.Context, a core.RaiseAlert) error {
	if err := s.raise(ctx, ID{Workflow: a.Workflow, Step: a.Step, Code: a.Code, Undone: a.Undone},
		a); err != nil {
		return fmt.Errorf("incident of task %q: %w", a.OrderID, err)
	}
	return nil
}

// Refused opens the incident about refused new orders. The caller must call Refused again and again while
// intake refuses orders. A sweep ends the incident quietTime after the last call.
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
		case x.Over != 0: // the old incident has ended, so a new one begins
			*x = fresh
		default:
			note := now.Sub(x.Last).Std() >= noteEvery
			// an alert of the same order may be raised twice
			if a.Undone && !x.More && (a.OrderID != x.First.OrderID || a.Run != x.First.Run) {
				x.More, note = true, true
			}
			if last = x.Last; note {
				x.Last = max(x.Last, now)
				last = x.Last
			}
			if note && id.Intake { // a reminder shows the most recent number of orders
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

// isNoted reports whether no write to the document is necessary. The document then records an order of the
// incident, and this order stopped less than noteEvery ago. The incident stays open for long enough.
//
// For undone orders isNoted returns false, because the incident must record whether there is more than one
// undone order.
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

// same returns the stored version of the incident x. It returns nil if x has ended, even if a new incident
// has the same ID.
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
	// the document is damaged, for example by hand; later stopped orders open their incidents again
	if err := json.Unmarshal(e.Output, &d); err != nil {
		s.cfg.Log.ErrorContext(ctx, "the record of open incidents cannot be read, and begins anew", "key",
			Key, "error", err)
		return document{}, e, nil
	}
	return d, e, nil
}

// change applies f to the newest version of the document, and stores the result. f reports whether it changed
// anything.
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
		e.Output, _ = json.Marshal(d) // encoding texts, numbers and times cannot fail
		e.Key, e.State = Key, "open"
		if err = s.cfg.Records.Move(ctx, e); !errors.Is(err, port.ErrConflict) {
			return err
		}
	}
	return err
}

// Sweep starts the publication of all alerts that are due. It does not wait for the publications, which log
// their errors. Sweep returns the number of orders in Error, by workflow. The result is nil if no open
// incident is about orders in Error. If the count or a change of the document fails, Sweep returns an error.
func (s *Incidents) Sweep(ctx context.Context) (map[string]port.Stopped, error) {
	l := look{now: s.cfg.Clock.Now(), seen: s.seen()}
	d, _, err := s.load(ctx)
	if err != nil || len(d.Open) == 0 {
		return nil, err
	}
	var errs []error
	if slices.ContainsFunc(d.Open, func(x Incident) bool { return !x.Undone && !x.Intake }) {
		// If the count fails, the alerts that need no count are published nevertheless.
		if l.counted, err = s.countOf(ctx, d, port.Query{}, l.now); err != nil {
			errs = append(errs, fmt.Errorf("the orders in Error were not counted: %w", err))
		}
	}
	s.forget(d, l.seen)
	for _, x := range d.Open {
		if err := s.visit(ctx, x, l); err != nil {
			errs = append(errs, fmt.Errorf("incident of workflow %q at %q, %q: %w", x.Workflow, x.Step,
				x.Code, err))
		}
	}
	return l.workflows, errors.Join(errs...)
}

// drop removes an incident from the document, unless more orders have joined the incident.
func (s *Incidents) drop(ctx context.Context, x Incident) error {
	return s.change(ctx, func(d *document) bool {
		if y := d.same(x); y == nil || y.More {
			return false
		}
		d.Open = slices.DeleteFunc(d.Open, func(y Incident) bool { return y.ID == x.ID })
		return true
	})
}

// quietEnd means that an incident of undone orders ends without an alert. Such an incident needs no operator.
const quietEnd message.AlertKind = "quiet"

// due returns the kind of alert that is due for an incident, or "" if no alert is due. The argument orders is
// the number of orders of the incident in Error, and whole states whether all were counted.
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

// found describes the orders of one incident that a sweep has counted.
type found struct {
	orders int
	// alert for the counted order that stopped first
	example core.RaiseAlert
	first   bool // the order that opened the incident was counted
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

// counted contains the results of a count of the orders in Error.
type counted struct {
	orders    map[ID]found
	workflows map[string]port.Stopped
	whole     bool // all orders in Error were counted; false if there are more than mostCounted
}

// countOf counts at most mostCounted orders in Error that the query selects. Without q.InFlight, an adapter
// may omit orders with a step in flight or an end to report.
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
