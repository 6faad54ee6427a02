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
	// Key is that of the document. No order's ID holds a '#'.
	Key = "#incidents"
	// MostOpen is how many incidents are distinguished; orders of further ones are counted into one without a name. With the
	// longest texts the document stays below 200 KB.
	MostOpen = 50
	// DefaultWindow is how long an incident gathers orders before their number is published.
	DefaultWindow = 15 * time.Minute
	// DefaultReminder is how long after its last alert an incident has the next one while it lasts.
	DefaultReminder = 24 * time.Hour
	// noteEvery is how often it is stored that another order has stopped: often enough for no incident to be over while one
	// stops, and not for each of a thousand.
	noteEvery = 10 * time.Second
	// quietTime is how long no order has stopped before an incident is over: longer than noteEvery, and than an index is
	// behind its table and one clock behind another.
	quietTime = time.Minute
	// publishTime is how long the handler that opened an incident has to publish its alert; then a sweep does.
	publishTime = 30 * time.Second
	// mostCounted bounds what one sweep reads of the orders in Error.
	mostCounted = 10_000
	pageSize    = 1_000
	// tryAgain is how long after a sweep could not publish an alert the next try is.
	tryAgain = time.Minute
	// mostNoted bounds what a process remembers of incidents.
	mostNoted = 1_000
	// tries: a conflict is another incident that was opened at the same moment.
	tries = 8
)

// ID is what makes orders one incident. Without a workflow it stands for those beyond MostOpen.
type ID struct {
	Workflow string `json:"workflow"`
	Step     string `json:"step,omitempty"`
	Code     string `json:"code,omitempty"`
	Undone   bool   `json:"undone,omitempty"` // they were undone, and are not in Error: nothing waits, and none is counted
}

// Incident is one that is open.
type Incident struct {
	ID
	Opened    core.Time       `json:"opened"`
	First     core.RaiseAlert `json:"first"`          // of the order that opened it
	Last      core.Time       `json:"last"`           // when an order stopped last, to noteEvery
	Published core.Time       `json:"told,omitzero"`  //nolint:misspell // the stored name of: when its last alert was published
	Over      core.Time       `json:"over,omitzero"`  // none was in Error any more; that has still to be published
	Orders    int             `json:"orders"`         // in that alert
	Most      int             `json:"most"`           // that were in Error at once, as sweeps have seen it
	More      bool            `json:"more,omitempty"` // of undone ones: further orders have come since that alert
}

// document is what is stored.
type document struct {
	Open []Incident `json:"open"`
}

// Config is what Incidents stand on. Records, Tasks, Publish and Clock are required.
type Config struct {
	Records  port.Ledger
	Tasks    Tasks
	Publish  func(ctx context.Context, alert message.Alert) error // is done when the operator will see it
	Clock    port.Clock
	Window   time.Duration // 0: DefaultWindow
	Reminder time.Duration // 0: DefaultReminder; negative: none
	Log      *slog.Logger
}

// Tasks lists the orders in Error.
type Tasks interface {
	List(ctx context.Context, q port.Query) (port.Page, error)
}

// Incidents is a port.Alerts. Safe for concurrent use.
type Incidents struct {
	cfg Config

	mu      sync.Mutex
	refused map[ID]core.Time // when a sweep of this process could not publish its alert
	noted   map[ID]core.Time // when an order stopped last, as this process has seen it stored
	left    map[ID]core.Time // when orders in Error were found that still have something in flight
}

// New makes Incidents.
func New(cfg Config) *Incidents {
	cfg.Window = cmp.Or(cfg.Window, DefaultWindow)
	cfg.Reminder = cmp.Or(cfg.Reminder, DefaultReminder)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	return &Incidents{cfg: cfg, refused: map[ID]core.Time{}, noted: map[ID]core.Time{}, left: map[ID]core.Time{}}
}

// Raise is done when the order's incident is stored, and opens it and publishes its alert where it is the first. That it could
// not be published is no error: a sweep does.
func (s *Incidents) Raise(ctx context.Context, a core.RaiseAlert) error {
	id, now, opened := ID{a.Workflow, a.Step, a.Code, a.Undone}, core.TimeOf(s.cfg.Clock.Now()), false
	if s.isNoted(id, now) {
		return nil
	}
	fresh, last := Incident{Opened: now, Last: now, First: a}, now
	err := s.change(ctx, func(d *document) bool {
		fresh.ID, opened = id, false
		x := d.find(id)
		if x == nil && len(d.Open) >= MostOpen {
			fresh.ID = ID{Undone: a.Undone}
			x = d.find(fresh.ID)
		}
		switch {
		case x == nil:
			d.Open = append(d.Open, fresh)
		case x.Over != 0: // that was another one
			*x = fresh
		default:
			note := now.Sub(x.Last).Std() >= noteEvery
			if a.Undone && !x.More && (a.OrderID != x.First.OrderID || a.Run != x.First.Run) { // else it is the same one again
				x.More, note = true, true
			}
			if last = x.Last; note {
				x.Last = max(x.Last, now)
				last = x.Last
			}
			return note
		}
		last, opened = now, true
		return true
	})
	if err != nil {
		return fmt.Errorf("incident of task %q: %w", a.OrderID, err)
	}
	s.note(id, last)
	if opened {
		s.first(ctx, fresh)
	}
	return nil
}

// isNoted reports whether this process has seen stored, less than noteEvery ago, that an order of the incident
// stopped. Such an incident is open for another quietTime at least. Each order that was undone has to be looked at.
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

// first publishes the alert of an incident that was just opened.
func (s *Incidents) first(ctx context.Context, x Incident) {
	log := s.cfg.Log.With("order", x.First.OrderID, "workflow", x.Workflow, "step", x.Step)
	if err := s.publish(ctx, x, message.AlertFirst, 1); err != nil {
		log.ErrorContext(ctx, "an alert was not taken; the next sweep tries again", "error", err)
		return
	}
	if err := s.change(ctx, published(x, s.cfg.Clock.Now(), 1)); err != nil {
		log.WarnContext(ctx, "it is not stored that an alert was taken; it may come again", "error", err)
	}
}

func (d *document) find(id ID) *Incident {
	if i := slices.IndexFunc(d.Open, func(x Incident) bool { return x.ID == id }); i >= 0 {
		return &d.Open[i]
	}
	return nil
}

// same finds the incident as it is stored now; nil where it has ended, or another one has begun with its ID.
func (d *document) same(x Incident) *Incident {
	if y := d.find(x.ID); y != nil && y.Opened == x.Opened && y.First.OrderID == x.First.OrderID {
		return y
	}
	return nil
}

// published is the change after an alert was published.
func published(x Incident, now time.Time, orders int) func(*document) bool {
	return func(d *document) bool {
		y := d.same(x)
		if y == nil {
			return false
		}
		y.Published, y.Orders, y.Most = core.TimeOf(now), orders, max(y.Most, orders)
		y.More = y.More && (!x.More || y.Last != x.Last) // they came while it was published
		return true
	}
}

func (s *Incidents) load(ctx context.Context) (d document, e port.LedgerEntry, err error) {
	if e, err = s.cfg.Records.Entry(ctx, Key); err != nil || len(e.Output) == 0 {
		return d, e, err
	}
	if err := json.Unmarshal(e.Output, &d); err != nil { // changed by hand: orders that stop from now on open incidents again
		s.cfg.Log.ErrorContext(ctx, "the record of open incidents cannot be read, and begins anew", "key", Key, "error", err)
		return document{}, e, nil
	}
	return d, e, nil
}

// change stores what f changes, on the newest version; f reports whether it has changed anything.
func (s *Incidents) change(ctx context.Context, f func(*document) bool) (err error) {
	for range tries {
		var d document
		var e port.LedgerEntry
		if d, e, err = s.load(ctx); err != nil {
			return err
		}
		if !f(&d) {
			return nil
		}
		e.Output, _ = json.Marshal(d) // texts, numbers and times
		e.Key, e.State = Key, "open"
		if err = s.cfg.Records.Move(ctx, e); !errors.Is(err, port.ErrConflict) {
			return err
		}
	}
	return err
}

// Sweep publishes the alerts of the open incidents that are due, and counts the orders in Error by workflow; nil where no
// incident is open. One that fails does not keep the others from being published.
func (s *Incidents) Sweep(ctx context.Context) (map[string]port.Stopped, error) {
	d, _, err := s.load(ctx)
	if err != nil || len(d.Open) == 0 {
		return nil, err
	}
	now := s.cfg.Clock.Now()
	var orders map[ID]found
	var counts map[string]port.Stopped
	whole := false
	if slices.ContainsFunc(d.Open, func(x Incident) bool { return !x.Undone }) {
		// Too many may be in Error to be listed. First alerts are published all the same, and no incident is over.
		if orders, counts, whole, err = s.count(ctx, d, now); err != nil {
			s.cfg.Log.WarnContext(ctx, "orders in Error were not counted", "error", err)
		}
	}
	var errs []error
	for _, x := range d.Open {
		if s.wasRefused(x.ID, now) {
			continue
		}
		err := s.visit(ctx, x, orders[x.ID], whole, now)
		if s.ended(x.ID, err, now); err != nil {
			errs = append(errs, fmt.Errorf("incident of workflow %q at %q, %q: %w", x.Workflow, x.Step, x.Code, err))
		}
	}
	return counts, errors.Join(errs...)
}

// visit publishes the alert that is due of an incident.
func (s *Incidents) visit(ctx context.Context, x Incident, f found, whole bool, now time.Time) error {
	orders := f.orders
	switch kind := s.due(x, orders, whole, now); kind {
	case quietEnd:
		return s.drop(ctx, x)
	case "":
		if orders <= x.Most {
			return nil
		}
		return s.change(ctx, func(d *document) bool {
			y := d.same(x)
			if y != nil {
				y.Most = max(y.Most, orders)
			}
			return y != nil
		})
	case message.AlertOver:
		if x.Over == 0 && s.isLeft(ctx, x, now) {
			return nil
		}
		return s.over(ctx, x, now)
	default:
		// What an order accepts may be another thing by now: `show` says it.
		shown := x
		if shown.First.Accepts = (core.Accepted{}); f.orders > 0 && !f.first {
			shown.First = f.example
		}
		if err := s.publish(ctx, shown, kind, orders); err != nil {
			return err
		}
		return s.change(ctx, published(x, now, orders))
	}
}

// isLeft looks, before an incident is over, for its orders in Error that still have something in flight, which a sweep does
// not count. It reads every open order, so that it looks again only after Window where it found one, or could not look.
func (s *Incidents) isLeft(ctx context.Context, x Incident, now time.Time) bool {
	s.mu.Lock()
	at, was := s.left[x.ID]
	s.mu.Unlock()
	if was && now.Sub(at.Std()) < s.cfg.Window {
		return true
	}
	orders, _, whole, err := s.countOf(ctx, document{Open: []Incident{x}}, port.Query{Workflow: x.Workflow, InFlight: true}, now)
	if err != nil {
		s.cfg.Log.WarnContext(ctx, "an incident is kept open: its orders could not be looked for", "workflow", x.Workflow, "error", err)
	}
	left := err != nil || !whole || orders[x.ID].orders > 0
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.left, x.ID); left {
		s.left[x.ID] = core.TimeOf(now)
	}
	return left
}

// ended notes how a visit ended.
func (s *Incidents) ended(id ID, err error, now time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.refused, id); err != nil {
		s.refused[id] = core.TimeOf(now)
	}
}

func (s *Incidents) wasRefused(id ID, now time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	at, was := s.refused[id]
	return was && now.Sub(at.Std()) < tryAgain
}

// over ends an incident, unless another order has stopped since it was looked at.
func (s *Incidents) over(ctx context.Context, x Incident, now time.Time) error {
	ended := false
	err := s.change(ctx, func(d *document) bool {
		y := d.same(x)
		if ended = y != nil && y.Last == x.Last; ended {
			y.Over = core.TimeOf(now)
		}
		return ended
	})
	if err != nil || !ended {
		return err
	}
	if err := s.publish(ctx, x, message.AlertOver, 0); err != nil {
		return err
	}
	return s.drop(ctx, x)
}

// drop takes an incident out, unless more orders have come to it.
func (s *Incidents) drop(ctx context.Context, x Incident) error {
	return s.change(ctx, func(d *document) bool {
		if y := d.same(x); y == nil || y.More {
			return false
		}
		d.Open = slices.DeleteFunc(d.Open, func(y Incident) bool { return y.ID == x.ID })
		return true
	})
}

// quietEnd ends an incident of undone orders: nothing was waited for, so that there is no alert.
const quietEnd message.AlertKind = "quiet"

// due says which alert is due of an incident of which so many orders are in Error now; "" nothing.
// whole says that all orders in Error were read: of the others none may be left.
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
	case x.Over != 0:
		return message.AlertOver
	case age < s.cfg.Window:
		return ""
	case orders == 0:
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

// found is what a sweep found of an incident.
type found struct {
	orders  int
	example core.RaiseAlert // of one that is in Error now: the one that stopped first, of those that were read
	first   bool            // the order that opened it is among them
}

// add counts an order.
func (f *found) add(t *view.Summary, first core.RaiseAlert) {
	f.orders++
	f.first = f.first || t.OrderID == first.OrderID
	if f.orders == 1 || t.EndedAt <= f.example.At {
		f.example = core.RaiseAlert{OrderID: t.OrderID, Workflow: t.Workflow, Run: t.Run, Command: t.Command, Phase: t.Phase, At: t.EndedAt}
		if t.Error != nil {
			f.example.Step, f.example.Code, f.example.Message = t.Error.Step, t.Error.Code, t.Error.Message
		}
	}
}

// count goes through the orders in Error that have nothing in flight, the newest first; whole says that it came to the end.
func (s *Incidents) count(ctx context.Context, d document, now time.Time) (map[ID]found, map[string]port.Stopped, bool, error) {
	return s.countOf(ctx, d, port.Query{}, now)
}

// countOf goes through the orders in Error that the query asks for.
func (s *Incidents) countOf(ctx context.Context, d document, q port.Query, now time.Time) (orders map[ID]found, counts map[string]port.Stopped, whole bool, err error) {
	orders, counts = map[ID]found{}, map[string]port.Stopped{}
	q.State, q.Limit = string(core.Error), pageSize
	for seen := 0; seen < mostCounted; {
		page, err := s.cfg.Tasks.List(ctx, q)
		if err != nil {
			return nil, nil, false, fmt.Errorf("list the orders in Error: %w", err)
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
				f := orders[id]
				f.add(&t, x.First)
				orders[id] = f
			}
			c := counts[t.Workflow]
			c.Orders++
			if t.EndedAt != 0 {
				c.Oldest = max(c.Oldest, now.Sub(t.EndedAt.Std()))
			}
			counts[t.Workflow] = c
		}
		if seen += len(page.Records); page.Next == "" {
			return orders, counts, true, nil
		}
		q.Cursor = page.Next
	}
	return orders, counts, false, nil
}

func (s *Incidents) publish(ctx context.Context, x Incident, kind message.AlertKind, orders int) error {
	if x.Undone {
		orders = 0 // none is in Error
	}
	return s.cfg.Publish(ctx, message.Alert{
		Kind: kind, RaiseAlert: x.First, Orders: orders, Most: max(x.Most, orders), Since: x.Opened, Others: x.Workflow == "",
	})
}
