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

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// Key is the ledger key of the document. No order has this ID, because an order ID contains no '#'.
	Key = "#incidents"
	// MostOpen is the largest number of open incidents of orders in Error. The document has at most twice as
	// many incidents; with the longest texts it is smaller than 400 KB.
	MostOpen = 50
	// DefaultWindow is the default time for which an incident stays open at least.
	DefaultWindow = 15 * time.Minute
	// DefaultReminder is the default time between the last alert of an open incident and a reminder.
	DefaultReminder = 24 * time.Hour
	// noteEvery is the shortest time between two updates of Incident.Last. It must be shorter than quietTime,
	// because otherwise an incident could end while orders still stop. It is long enough to save most writes
	// when many orders stop at once.
	noteEvery = 10 * time.Second
	// quietTime is the shortest time from Incident.Last to the end of the incident. It is longer than
	// noteEvery, the delay of an index and the difference between two clocks.
	quietTime = time.Minute
	// outageTime is the time after which an outage ends without a reply that shows a call. It is longer than
	// the longest wait between two attempts of a step whose agent cannot call (P45, "not now" is not a
	// failure).
	outageTime = 70 * time.Minute
	// publishTime is the time after which a sweep publishes the first alert of an incident. Before that time,
	// the process that opened the incident publishes the alert.
	publishTime = 30 * time.Second
	// mostCounted limits the orders in Error that one count reads.
	mostCounted = 10_000
	pageSize    = 1_000
	// tryAgain is the pause of a process after a failed attempt to publish an alert.
	tryAgain = time.Minute
	// mostNoted limits the lengths of Incidents.noted and Incidents.left.
	mostNoted = 1_000
	// tries limits the attempts to write the document. An attempt fails with a conflict if another process
	// has changed the document.
	tries = 8
)

// ID identifies an incident.
type ID struct {
	Workflow string `json:"workflow,omitempty"`
	Step     string `json:"step,omitempty"`
	Code     string `json:"code,omitempty"`
	// Undone marks an incident of undone orders. These orders need no operator and are not counted.
	Undone bool `json:"undone,omitempty"`
	// Intake marks the incident of new orders that the intake refuses.
	Intake bool `json:"intake,omitempty"`
	// Agent and Operation mark the outage of an agent, which does not call the operation. Without Operation,
	// the agent is not deployed.
	Agent     string `json:"agent,omitempty"`
	Operation string `json:"operation,omitempty"`
}

// lasts reports whether the incident is a condition that lasts. Such an incident has no orders in Error. It
// stays open while its cause is reported.
func (id ID) lasts() bool { return id.Intake || id.Agent != "" }

// quiet returns the time after the last report of the cause at which an incident that lasts has ended.
func (id ID) quiet() time.Duration {
	if id.Agent != "" {
		return outageTime
	}
	return quietTime
}

// Incident is an open incident.
type Incident struct {
	ID
	Opened core.Time       `json:"opened"`
	First  core.RaiseAlert `json:"first"` // alert of the order that opened the incident
	Last   core.Time       `json:"last"`  // time of the last stopped order, accurate to noteEvery
	//nolint:misspell // name in stored documents
	Published core.Time `json:"told,omitzero"` // time of the most recent alert
	// Over is the time when a sweep ended the incident. The incident stays in the document until its last
	// alert is published. The zero value means that the incident has not ended.
	Over core.Time `json:"over,omitzero"`
	// Wakes means that the steps which waited for an agent are not woken yet. It is used only if Agent is set.
	Wakes bool `json:"wakes,omitempty"`
}

type document struct {
	Open []Incident `json:"open"`
	// Waiting means that orders in Error may have no incident, because MostOpen were open when they stopped.
	Waiting bool `json:"waiting,omitempty"`
}

// full reports whether no incident with this ID can be opened.
func (d *document) full(id ID) bool {
	switch {
	case id.Intake:
		return false
	case id.Agent != "":
		return len(d.Open) >= 2*MostOpen
	case id.Undone: // undone orders need no operator, and so take no place of orders in Error
		return len(d.Open) >= MostOpen
	}
	inError := 0
	for _, x := range d.Open {
		if !x.Undone && !x.lasts() {
			inError++
		}
	}
	return inError >= MostOpen
}

// Config configures Incidents. Records, Tasks, Publish, Go and Clock are required.
type Config struct {
	Records port.Ledger
	Tasks   Tasks
	// Publish publishes an alert. It returns nil only if the operator will see the alert. Publish must limit
	// its duration, and the number of alerts that it sends at the same time.
	Publish func(ctx context.Context, alert message.Alert) error
	// Go starts a publication in a goroutine and returns at once, because a caller of Raise must not wait for
	// the publication. The context of the publication must end only when the process stops.
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

	// writing is a semaphore for one writer. Concurrent writes of this process to the document would
	// conflict.
	writing chan struct{}

	mu       sync.Mutex
	attempts map[instance]core.Time // publications: time when the last one failed, or 0 while it runs

	noted *lru.Cache[ID, core.Time] // latest Incident.Last that this process has seen
	left  *lru.Cache[ID, core.Time] // time when isLeft last found an order or failed
}

// New returns an Incidents with this configuration.
func New(cfg Config) *Incidents {
	cfg.Window = cmp.Or(cfg.Window, DefaultWindow)
	cfg.Reminder = cmp.Or(cfg.Reminder, DefaultReminder)
	cfg.Log = cmp.Or(cfg.Log, slog.Default())
	s := &Incidents{cfg: cfg, writing: make(chan struct{}, 1), attempts: map[instance]core.Time{}}
	s.noted, _ = lru.New[ID, core.Time](mostNoted) // New fails only if the size is below 1
	s.left, _ = lru.New[ID, core.Time](mostNoted)
	return s
}

// Raise stores the incident of the order. If the order opens the incident, Raise starts the publication of
// the first alert, and does not wait for its end. A sweep repeats a failed publication.
func (s *Incidents) Raise(ctx context.Context, a core.RaiseAlert) error {
	if err := s.raise(ctx, ID{Workflow: a.Workflow, Step: a.Step, Code: a.Code, Undone: a.Undone},
		a); err != nil {
		return fmt.Errorf("incident of task %q: %w", a.OrderID, err)
	}
	return nil
}

// Refused opens the incident about refused new orders. While the intake refuses orders, the caller must
// repeat the call at intervals shorter than quietTime. A sweep ends the incident quietTime after the last
// call.
func (s *Incidents) Refused(ctx context.Context, code, reason string) error {
	a := core.RaiseAlert{Code: code, Message: reason, At: core.TimeOf(s.cfg.Clock.Now())}
	if err := s.raise(ctx, ID{Code: code, Intake: true}, a); err != nil {
		return fmt.Errorf("incident of the intake: %w", err)
	}
	return nil
}

func (s *Incidents) raise(ctx context.Context, id ID, a core.RaiseAlert) error {
	now := core.TimeOf(s.cfg.Clock.Now())
	if last, known := s.noted.Get(id); known && port.Recent(last.Std(), now.Std(), noteEvery) {
		return nil // nothing to write
	}
	fresh := Incident{ID: id, Opened: now, Last: now, First: a}
	last := now
	var opened, full bool
	err := s.change(ctx, func(d *document) bool {
		opened = false
		x := d.find(id)
		full = x == nil && d.full(id)
		switch {
		case full: // the incidents that are open keep the operator busy
			waits := !id.Undone && !id.lasts() && !d.Waiting
			d.Waiting = d.Waiting || waits
			return waits
		case x == nil:
			d.Open = append(d.Open, fresh)
		case x.Over != 0: // the stored incident has ended, so a new incident begins
			*x = fresh
		default:
			note := d.correct(now) || now.Sub(x.Last).Std() >= noteEvery
			if note {
				x.Last = max(x.Last, now)
			}
			last = x.Last
			if note && id.lasts() { // the next reminder shows the latest reason
				x.First = a
			}
			return note
		}
		last = now
		opened = true
		return true
	})
	switch {
	case err != nil:
		return err
	case full:
		s.cfg.Log.WarnContext(ctx, "no alert, because the most incidents are open", "order", a.OrderID, "workflow",
			a.Workflow, "step", a.Step, "code", a.Code, "agent", id.Agent)
		return nil
	}
	s.noted.Add(id, last)
	if opened && id.Agent == "" { // a sweep publishes an outage that lasts
		s.start(fresh, func(ctx context.Context) error {
			return s.announce(ctx, fresh, fresh, message.AlertFirst, 1)
		})
	}
	return nil
}

func (d *document) find(id ID) *Incident {
	if i := slices.IndexFunc(d.Open, func(x Incident) bool { return x.ID == id }); i >= 0 {
		return &d.Open[i]
	}
	return nil
}

// same returns the stored version of the incident x. It returns nil if the document no longer contains x,
// even if a newer incident has the same ID.
func (d *document) same(x Incident) *Incident {
	if y := d.find(x.ID); y != nil && y.Opened == x.Opened && y.First.OrderID == x.First.OrderID {
		return y
	}
	return nil
}

func (s *Incidents) load(ctx context.Context) (d document, e port.LedgerEntry, err error) {
	e, err = s.cfg.Records.Entry(ctx, Key)
	if err != nil || len(e.Output) == 0 {
		return d, e, err
	}
	// If the document is damaged, load begins with an empty document. Orders that stop later open new
	// incidents.
	if err := json.Unmarshal(e.Output, &d); err != nil {
		s.cfg.Log.ErrorContext(ctx, "the record of open incidents cannot be read, and begins anew", "key",
			Key, "error", err)
		return document{}, e, nil
	}
	return d, e, nil
}

// change stores the document after f has changed it. If f returns false, change stores nothing. After a
// conflict with another process, change calls f again with the newer document.
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
		d, e, err = s.load(ctx)
		if err != nil {
			return err
		}
		if !f(&d) {
			return nil
		}
		e.Output, _ = json.Marshal(d) // encoding texts, numbers and times cannot fail
		e.Key = Key
		e.State = "open"
		err = s.cfg.Records.Move(ctx, e)
		if !errors.Is(err, port.ErrConflict) {
			return err
		}
	}
	return err
}

// Sweep starts the publication of all due alerts, and does not wait for the publications. A publication logs
// its own error. Sweep returns the number of orders in Error, and of damaged ones, by workflow. The result is nil
// if no open incident is about such orders. Sweep returns an error if the count or a change of the document fails.
func (s *Incidents) Sweep(ctx context.Context) (map[string]port.Stopped, error) {
	now := s.cfg.Clock.Now()
	d, _, err := s.load(ctx)
	if err != nil || len(d.Open) == 0 && !d.Waiting {
		return nil, err
	}
	if at := core.TimeOf(now); d.correct(at) {
		if err := s.change(ctx, func(d *document) bool { return d.correct(at) }); err != nil {
			return nil, err
		}
	}
	var errs []error
	var c counted
	if d.Waiting || slices.ContainsFunc(d.Open, func(x Incident) bool { return !x.Undone && !x.lasts() }) {
		// After a failed count, the sweep still publishes the alerts that need no count.
		c, err = s.countOf(ctx, d, port.Query{InFlight: d.Waiting}, now)
		if err != nil {
			errs = append(errs, fmt.Errorf("the orders in Error were not counted: %w", err))
		}
		for _, a := range c.damaged {
			errs = append(errs, s.Raise(ctx, a))
		}
		errs = append(errs, s.admit(ctx, d, c))
	}
	for _, x := range d.Open {
		if err := s.visit(ctx, x, c, now); err != nil {
			errs = append(errs, fmt.Errorf("incident of workflow %q at %q, %q: %w", x.Workflow, x.Step,
				x.Code, err))
		}
	}
	return c.workflows, errors.Join(errs...)
}

// drop removes an incident from the document. It keeps the incident while the steps that waited for an agent are
// not woken.
func (s *Incidents) drop(ctx context.Context, x Incident) error {
	return s.change(ctx, func(d *document) bool {
		if y := d.same(x); y == nil || y.Wakes {
			return false
		}
		d.Open = slices.DeleteFunc(d.Open, func(y Incident) bool { return y.ID == x.ID })
		return true
	})
}

// quietEnd means that an incident of undone orders, or a short outage, ends without an alert.
const quietEnd message.AlertKind = "quiet"

// due returns the kind of alert that is due for an incident, or "" if no alert is due. The argument orders is
// the number of orders of the incident in Error. The argument whole is false if the count was incomplete.
func (s *Incidents) due(x Incident, orders int, whole bool, now time.Time) message.AlertKind {
	age := now.Sub(x.Opened.Std())
	since := now.Sub(x.Published.Std())
	switch {
	case x.Wakes:
		return ""
	case x.Agent != "" && x.Over != 0 && x.Published == 0:
		return quietEnd
	case x.Published == 0 && age >= publishTime:
		return message.AlertFirst
	case x.Published == 0:
		return ""
	case x.Undone && since < s.cfg.Window:
		return ""
	case x.Undone:
		return quietEnd
	case x.Over != 0, x.lasts() && now.Sub(x.Last.Std()) >= x.quiet():
		return message.AlertOver
	case age < s.cfg.Window:
		return ""
	case orders == 0 && !x.lasts():
		if whole && now.Sub(x.Last.Std()) >= quietTime {
			return message.AlertOver
		}
		return ""
	case s.cfg.Reminder > 0 && since >= s.cfg.Reminder:
		return message.AlertReminder
	}
	return ""
}
