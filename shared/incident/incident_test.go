package incident_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// desk is what an operator has: the orders in Error, and the reports.
type desk struct {
	config    incident.Config
	t         testing.TB
	now       time.Time
	inError   map[string]core.RaiseAlert
	published []message.Alert
	broken    error           // of reporting
	unlisted  error           // of the state store
	reporting func()          // runs while an alert is reported
	pageSize  int             // of a listing
	inFlight  map[string]bool // orders of which something is in flight
	aside     map[string]bool // damaged orders that were set aside
	unread    map[string]bool // orders in Error whose document cannot be read
	whole     int             // listings with those
	partial   bool            // there are too many orders for a complete listing
	meanwhile func()          // runs while a sweep reads the orders in Error
	records   port.Ledger
	log       strings.Builder
	wakes     int // outages whose steps were woken
	*incident.Incidents
}

func newDesk(t testing.TB, change func(*incident.Config)) *desk {
	d := &desk{
		t: t, now: time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC),
		inError: map[string]core.RaiseAlert{}, pageSize: 2, records: memory.NewLedger(),
	}
	config := incident.Config{
		Records: contextRecords{d.records, d}, Tasks: d,
		Clock: port.ClockFunc(func() time.Time { return d.now }),
		Log:   slog.New(slog.NewTextHandler(&d.log, nil)),
		Go:    func(publication func(context.Context)) { publication(marked) },
		Publish: func(ctx context.Context, a message.Alert) error {
			d.checkContext(ctx, "Publish")
			if d.reporting != nil {
				d.reporting()
			}
			if d.broken == nil {
				d.published = append(d.published, a)
			}
			return d.broken
		},
	}
	if change != nil {
		change(&config)
	}
	d.Incidents = incident.New(config)
	d.config = config
	return d
}

type mark struct{}

// marked is the context of every raise and sweep; on Lambda it ends before the handling does.
var marked = context.WithValue(context.Background(), mark{}, true)

// checkContext checks that a call is given the context of its raise or sweep.
func (d *desk) checkContext(ctx context.Context, call string) {
	d.t.Helper()
	if ctx.Value(mark{}) == nil {
		d.t.Errorf("%s was called with another context", call)
	}
}

// contextRecords are records that look at the context of each call.
type contextRecords struct {
	port.Ledger
	d *desk
}

func (b contextRecords) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	b.d.checkContext(ctx, "Entry")
	return b.Ledger.Entry(ctx, key)
}

func (b contextRecords) Move(ctx context.Context, e port.LedgerEntry) error {
	b.d.checkContext(ctx, "Move")
	return b.Ledger.Move(ctx, e)
}

// List returns the orders in Error, page by page.
func (d *desk) List(ctx context.Context, q port.Query) (port.Page, error) {
	d.checkContext(ctx, "List")
	if q.Damaged && d.unlisted == nil && q.State == "" {
		page := port.Page{}
		for id := range d.aside {
			page.Records = append(page.Records, port.Record{
				ID: id, Version: 3, Workflow: "order",
				State: "Processing", Bucket: port.DamagedBucket, Document: []byte("{"),
			})
		}
		return page, nil
	}
	if d.partial && !q.Partial {
		return port.Page{}, errors.New("too many orders")
	}
	if d.unlisted != nil || q.State != "Error" {
		return port.Page{}, errors.Join(d.unlisted, fmt.Errorf("listed %q", q.State))
	}
	var ids []string
	if q.InFlight {
		d.whole++
	}
	for id := range d.inError {
		if id > q.Cursor && (q.InFlight || !d.inFlight[id]) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	page := port.Page{Partial: d.partial}
	for _, id := range ids[:min(d.pageSize, len(ids))] {
		a := d.inError[id]
		document, err := state.EncodeTask(&protocol.Task{
			OrderID: id, Workflow: a.Workflow, ProcessState: core.Error, Reason: protocol.Reason{
				Step: a.Step,
				Code: a.Code, Text: a.Message,
			}, End: protocol.End{At: a.At}, Version: 1,
		})
		require.NoError(d.t, err)
		if d.unread[id] {
			document = document[1:]
		}
		page.Records = append(page.Records, port.Record{
			ID: id, Version: 1, Workflow: a.Workflow, State: "Error",
			Bucket: port.AttentionBucket, Document: document,
		})
		page.Next = id
		if id == ids[len(ids)-1] {
			page.Next = ""
		}
	}
	if d.meanwhile != nil {
		d.meanwhile()
	}
	return page, nil
}

// stop puts an order into Error, and raises the alert.
func (d *desk) stop(id, workflow, step, code string) {
	d.t.Helper()
	a := core.RaiseAlert{
		OrderID: id, Workflow: workflow, Step: step, Code: code, Message: "no funds", At: core.TimeOf(d.now),
		Accepts: core.Accepted{Resubmit: true},
	}
	d.inError[id] = a
	require.NoError(d.t, d.Raise(marked, a))
}

func (d *desk) sweepAfter(pause time.Duration) map[string]port.Stopped {
	d.t.Helper()
	d.now = d.now.Add(pause)
	counts, err := d.Sweep(marked)
	require.NoError(d.t, err)
	return counts
}

// want checks the reports since its last call: their kinds and numbers of orders.
func (d *desk) want(what string, kinds ...string) {
	d.t.Helper()
	var got []string
	for _, a := range d.published {
		got = append(got, fmt.Sprintf("%s %d", a.Kind, a.Orders))
	}
	if !slices.Equal(got, kinds) {
		d.t.Errorf("%s: reported %q, want %q", what, got, kinds)
	}
	d.published = nil
}

// The first order is reported at once. Then come a reminder with the number of orders that still wait, and the
// end. Later events are another incident.
func TestLifeOfAnIncident(t *testing.T) {
	d := newDesk(t, nil)
	d.want("nothing has stopped")
	d.stop("o-1", "order", "pay", "declined")
	require.Len(t, d.published, 1)
	require.Equal(t, "o-1", d.published[0].OrderID)
	require.Equal(t, core.TimeOf(d.now), d.published[0].Since)
	require.Equal(t, "no funds", d.published[0].RaiseAlert.Message)
	d.want("at once", "first 1")
	for i := range 6 {
		d.stop(fmt.Sprint("o-1", i), "order", "pay", "declined")
	}
	d.sweepAfter(time.Minute)
	d.sweepAfter(13 * time.Minute)
	d.want("within the window")
	d.stop("b-1", "order", "ship", "declined")
	d.stop("c-1", "order", "pay", "busy")
	d.stop("d-1", "refund", "pay", "declined")
	d.want("of another step, code, workflow", "first 1", "first 1", "first 1")
	counts := d.sweepAfter(time.Minute)
	d.want("the window closes")
	c := counts["order"]
	require.Equal(t, 9, c.Orders)
	require.Equal(t, 15*time.Minute, c.Oldest)
	require.Equal(t, 1, counts["refund"].Orders)
	require.Len(t, counts, 2)
	for i := range 7 {
		d.stop(fmt.Sprint("o-2", i), "order", "pay", "declined")
	}
	d.sweepAfter(20 * time.Minute)
	d.want("many more")
	for _, id := range []string{"b-1", "c-1", "d-1"} {
		delete(d.inError, id)
	}
	d.sweepAfter(time.Minute)
	d.want("three are over", "over 0", "over 0", "over 0")
	d.sweepAfter(24*time.Hour - 36*time.Minute)
	require.Len(t, d.published, 1)
	require.Equal(t, "o-1", d.published[0].OrderID)
	d.want("a day after the first", "reminder 14")
	clear(d.inError)
	d.sweepAfter(time.Minute)
	d.want("over", "over 0")
	require.Nil(t, d.sweepAfter(48*time.Hour))
	d.want("nothing is left")
	d.stop("o-9", "order", "pay", "declined")
	d.want("again", "first 1")
}

// Undone orders wait for nothing. The first of each window is reported at once, and neither further ones nor the
// end. They are not read from the state store.
func TestUndoneOrders(t *testing.T) {
	d := newDesk(t, nil)
	d.unlisted = errors.New("the orders in Error were listed")
	undone := func(id string) {
		t.Helper()
		err := d.Raise(marked, core.RaiseAlert{
			OrderID: id, Workflow: "order", Step: "pay", Code: "declined", Undone: true,
			At: core.TimeOf(d.now),
		})
		require.NoError(t, err)
	}
	undone("o-1")
	d.want("at once", "first 0")
	undone("o-1") // reported again (P11)
	d.sweepAfter(20 * time.Minute)
	d.want("it was the only one")
	undone("o-2")
	d.want("that incident was over", "first 0")
	undone("o-3") // within the second
	undone("o-4")
	d.sweepAfter(14 * time.Minute)
	d.want("within the window")
	d.sweepAfter(time.Minute)
	d.want("the window closes")
	undone("o-5")
	require.Len(t, d.published, 1)
	require.Equal(t, "o-5", d.published[0].OrderID)
	require.True(t, d.published[0].Undone, "%+v", d.published)
	d.want("the next window", "first 0")
	d.sweepAfter(15 * time.Minute)
	d.want("none came")
	d.unlisted = nil
	undone("o-6")
	d.stop("o-7", "order", "pay", "declined")
	d.want("orders in Error are another incident", "first 0", "first 1")
	require.Equal(t, 1, d.sweepAfter(time.Minute)["order"].Orders)
}

// Undone orders take no place of orders in Error.
func TestManyUndone(t *testing.T) {
	d := newDesk(t, nil)
	for i := range incident.MostOpen + 2 {
		require.NoError(t, d.Raise(marked, core.RaiseAlert{
			OrderID: fmt.Sprint("o-", i), Workflow: fmt.Sprint("w-", i), Undone: true,
		}))
	}
	require.Len(t, d.published, incident.MostOpen)
	d.published = nil
	d.stop("e-1", "order", "pay", "declined")
	d.want("an order in Error", "first 1")
}

// The order stops after the last listing of a sweep, that of orders with something in flight.
func TestNoOrderIsLostAfterTheLastLook(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	d.want("first", "first 1")
	clear(d.inError)
	d.meanwhile = func() {
		d.meanwhile = func() {
			d.meanwhile = nil
			d.stop("o-2", "order", "pay", "declined")
		}
	}
	d.sweepAfter(20 * time.Minute)
	require.Nil(t, d.meanwhile)
	d.want("it goes on")
	require.Len(t, d.open(), 1)
}

// crowd puts so many other orders before o-1 that a sweep does not reach it.
func (d *desk) crowd() {
	for i := range 10_000 {
		a := d.inError["o-1"]
		a.OrderID = fmt.Sprintf("a-%05d", i)
		a.Code = "busy"
		d.inError[a.OrderID] = a
	}
	d.pageSize = 1000
}

// An incident is not over if a sweep did not reach its orders.
func TestMoreThanASweepReads(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	d.crowd()
	d.want("the first", "first 1")
	d.sweepAfter(20 * time.Minute)
	d.want("not read")
	clear(d.inError)
	d.sweepAfter(time.Minute)
	d.want("all was read", "over 0")
}

// If the store cannot list all orders in Error, a sweep counts those that it lists, and no incident is over.
func TestMoreThanTheStoreLists(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	d.want("the first", "first 1")
	d.partial = true
	d.now = d.now.Add(20 * time.Minute)
	counts, err := d.Sweep(marked)
	require.NoError(t, err)
	require.Equal(t, 1, counts["order"].Orders)
	clear(d.inError)
	d.sweepAfter(time.Minute)
	d.want("not listed")
	d.partial = false
	d.sweepAfter(time.Minute)
	d.want("all were listed", "over 0")
}

// If the orders in Error cannot be counted, a sweep returns an error instead of a count of none. First alerts
// are published nevertheless.
func TestOrdersThatCannotBeCounted(t *testing.T) {
	d := newDesk(t, nil)
	d.broken = errors.New("no mail")
	d.stop("o-1", "order", "pay", "declined")
	d.unlisted = errors.New("throttled")
	d.broken = nil
	d.now = d.now.Add(time.Minute)
	counts, err := d.Sweep(marked)
	require.Nil(t, counts)
	require.ErrorContains(t, err, "not counted")
	d.want("later", "first 0")
	d.unlisted = nil
	require.Len(t, d.sweepAfter(time.Minute), 1)
}

// A later alert names an order that is in Error now, and no command that was accepted at another time.
func TestLaterAlertsNameWhatIsInError(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	require.True(t, d.published[0].Accepts.Resubmit, "%+v", d.published[0])
	d.now = d.now.Add(time.Minute)
	d.stop("o-2", "order", "pay", "declined")
	d.now = d.now.Add(time.Minute)
	d.stop("o-3", "order", "pay", "declined")
	d.sweepAfter(24 * time.Hour)
	if a := d.published[1]; a.OrderID != "o-1" || a.Accepts != (core.Accepted{}) ||
		a.RaiseAlert.Message != "no funds" {
		t.Errorf("%+v", a)
	}
	delete(d.inError, "o-1")
	d.sweepAfter(25 * time.Hour)
	a := d.published[2]
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"a.OrderID", a.OrderID, "o-2"},
		{"a.Orders", a.Orders, 2},
		{"a.Step", a.Step, "pay"},
		{"a.Code", a.Code, "declined"},
		{"a.RaiseAlert.Message", a.RaiseAlert.Message, "no funds"},
		{"a.Workflow", a.Workflow, "order"},
		{"a.Accepts", a.Accepts, (core.Accepted{})},
	} {
		require.Equal(t, field.want, field.got, field.name)
	}
}

// If a sink fails to take an alert, not every sweep repeats it.
func TestSinkThatDoesNotAnswer(t *testing.T) {
	d := newDesk(t, nil)
	offered := 0
	d.reporting = func() { offered++ }
	d.broken = errors.New("no mail")
	d.stop("o-1", "order", "pay", "declined")
	for range 18 {
		d.now = d.now.Add(10 * time.Second)
		_, _ = d.Sweep(marked)
	}
	if offered != 4 { // at once, and after 60, 120 and 180 s
		t.Errorf("offered %d times", offered)
	}
}

// An alert of an ended incident does not count for the next incident.
func TestNextIncidentIsReportedToo(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	clear(d.inError)
	d.broken = errors.New("no mail")
	d.sweepAfter(20 * time.Minute)
	d.published = nil
	d.reporting = func() { // another order stops while the end is reported, and cannot be reported itself
		d.reporting = nil
		d.broken = errors.New("no mail")
		d.stop("o-2", "order", "pay", "declined")
		d.broken = nil
	}
	d.broken = nil
	d.sweepAfter(time.Minute)
	d.want("the end", "over 0")
	d.sweepAfter(time.Minute)
	d.want("the next one", "first 1")
}

// An incident is not over in the minute after an order has stopped: the index may not have it yet.
func TestIndexThatIsBehind(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	d.now = d.now.Add(15 * time.Minute)
	d.stop("o-2", "order", "pay", "declined")
	clear(d.inError)
	d.published = nil
	d.sweepAfter(59 * time.Second)
	d.want("behind")
	d.sweepAfter(time.Second)
	d.want("over", "over 0")
}

// While the most incidents are open, further orders in Error have no alert. When some are over, the orders get
// theirs, also if they have a step in flight, and also if all are over at once.
func TestManyIncidents(t *testing.T) {
	d := newDesk(t, nil)
	name := func(i int) string { return fmt.Sprintf("o-%03d", i) }
	for i := range incident.MostOpen + 3 {
		d.now = d.now.Add(time.Second)
		d.stop(name(i), "order", "pay", fmt.Sprint("code-", i))
	}
	require.Len(t, d.published, incident.MostOpen)
	d.inFlight = map[string]bool{name(incident.MostOpen + 1): true}
	d.published = nil
	d.sweepAfter(16 * time.Minute)
	d.want("there is no place")
	delete(d.inError, name(0))
	d.sweepAfter(time.Minute)
	d.want("one is over", "over 0")
	d.sweepAfter(time.Minute)
	require.Equal(t, name(incident.MostOpen), d.published[0].OrderID)
	d.want("the one that waited longest", "first 1")
	for i := range incident.MostOpen + 1 {
		delete(d.inError, name(i))
	}
	d.sweepAfter(16 * time.Minute)
	require.Len(t, d.published, incident.MostOpen, "all are over")
	require.Empty(t, d.open())
	d.published = nil
	d.sweepAfter(time.Minute)
	d.want("those that waited", "first 1", "first 1")
	clear(d.inError)
	d.sweepAfter(16 * time.Minute)
	d.want("they are over", "over 0", "over 0")
	d.whole = 0
	d.sweepAfter(time.Minute)
	d.sweepAfter(time.Minute)
	require.Zero(t, d.whole, "no order waits any more")
}

// A record that cannot be read is replaced by an empty one.
func TestDamagedRecord(t *testing.T) {
	d := newDesk(t, nil)
	d.stop("o-1", "order", "pay", "declined")
	e, err := d.records.Entry(context.Background(), incident.Key)
	require.NoError(t, err)
	e.Output = []byte("{")
	require.NoError(t, d.records.Move(context.Background(), e))
	d.published = nil
	d.now = d.now.Add(time.Minute)
	d.stop("o-1", "order", "pay", "declined")
	d.want("damaged", "first 1")
}

// open returns the stored incidents.
func (d *desk) open() []incident.Incident {
	e, err := d.records.Entry(context.Background(), incident.Key)
	require.NoError(d.t, err)
	var stored struct{ Open []incident.Incident }
	if len(e.Output) > 0 {
		err = json.Unmarshal(e.Output, &stored)
	}
	require.NoError(d.t, err)
	return stored.Open
}

// Settings: a window and a reminder of one's own, or no reminder. An incident lasts at least as long as its window, so
// that an order that is fixed and stops again is reported once.
func TestSettings(t *testing.T) {
	d := newDesk(t, func(c *incident.Config) {
		c.Window = time.Hour
		c.Reminder = -1
	})
	d.stop("o-1", "order", "pay", "declined")
	d.stop("o-2", "order", "pay", "declined")
	clear(d.inError)
	d.sweepAfter(59 * time.Minute)
	d.want("the window", "first 1")
	d.stop("o-3", "order", "pay", "declined")
	d.sweepAfter(300 * time.Hour)
	d.want("no reminder")
	clear(d.inError)
	d.sweepAfter(time.Minute)
	d.want("closes", "over 0")
}

// An Error is settled only when its incident is stored (P11). A failure to store it is an error for the
// caller, and a failure to publish it is not.
func TestRaiseIsStored(t *testing.T) {
	d := newDesk(t, func(c *incident.Config) { c.Records = brokenLedger{c.Records} })
	err := d.Raise(marked, core.RaiseAlert{OrderID: "o-1"})
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, "o-1")
	require.ErrorIs(t, d.Refused(marked, "intake-full", "3 orders are active"), port.ErrUnavailable)
	d.want("nothing stored, nothing reported")
	d = newDesk(t, func(c *incident.Config) { c.Records = unreadLedger{c.Records} })
	require.ErrorIs(t, d.Raise(marked, core.RaiseAlert{OrderID: "o-1"}), port.ErrUnavailable)
}

// Orders that stop together cost one read of the record, which is one hot item, and not one each.
func TestRaiseReadsWhatItHasNotNoted(t *testing.T) {
	reads := 0
	d := newDesk(t, func(c *incident.Config) { c.Records = counted{c.Records, &reads} })
	d.stop("o-0", "order", "pay", "declined")
	d.want("the first", "first 1")
	reads = 0
	for i := range 1_000 {
		d.stop(fmt.Sprintf("o-%d", i+1), "order", "pay", "declined")
	}
	require.LessOrEqual(t, reads, 0)
	d.stop("p-1", "order", "ship", "lost")
	d.want("another incident", "first 1")
	reads = 0
	d.now = d.now.Add(10 * time.Second)
	d.stop("o-late", "order", "pay", "declined")
	require.Equal(t, 1, reads)
	d.stop("o-later", "order", "pay", "declined")
	require.Equal(t, 1, reads)
	d.inError = map[string]core.RaiseAlert{}
	d.sweepAfter(30 * time.Minute)
	d.want("ends both", "over 0", "over 0")
	d.stop("o-new", "order", "pay", "declined")
	d.want("is another incident, of the same process", "first 1")
}

type counted struct {
	port.Ledger
	reads *int
}

func (c counted) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	*c.reads++
	return c.Ledger.Entry(ctx, key)
}

// An order in Error whose other step is in flight is not among those that a sweep counts: its incident is not
// over.
func TestNoIncidentIsOverWhileAStepIsInFlight(t *testing.T) {
	d := newDesk(t, nil)
	d.inFlight = map[string]bool{"o-1": true}
	d.stop("o-1", "order", "pay", "declined")
	d.want("stops", "first 1")
	d.whole = 0
	for range 30 {
		require.Empty(t, d.sweepAfter(time.Minute))
	}
	d.want("is in flight")
	require.LessOrEqual(t, d.whole, 2)
	delete(d.inError, "o-1")
	d.sweepAfter(20 * time.Minute)
	d.want("was resubmitted", "over 0")
}

type unreadLedger struct{ port.Ledger }

func (unreadLedger) Entry(context.Context, string) (port.LedgerEntry, error) {
	return port.LedgerEntry{}, port.ErrUnavailable
}

type brokenLedger struct{ port.Ledger }

func (brokenLedger) Move(context.Context, port.LedgerEntry) error { return port.ErrUnavailable }

// contested loses some conditional writes to another writer.
type contested struct {
	port.Ledger
	lose func() bool
}

func (c contested) Move(ctx context.Context, e port.LedgerEntry) error {
	if c.lose() {
		return fmt.Errorf("entry %q: %w", e.Key, port.ErrConflict)
	}
	return c.Ledger.Move(ctx, e)
}

// After any sequence of stops, repairs, failed publications and write conflicts: each order in Error belongs
// to an open incident that was reported after its begin, and each open incident has such an order.
func TestEveryOrderInErrorIsReported(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		losses := 0
		d := newDesk(t, func(c *incident.Config) {
			c.Records = contested{c.Records, func() bool {
				if losses > 0 && rapid.IntRange(0, 3).Draw(r, "contested") == 0 {
					losses--
					return true
				}
				return false
			}}
		})
		codes := rapid.SampledFrom([]string{"a", "b", "c"})
		for range rapid.IntRange(1, 30).Draw(r, "steps") {
			losses = 5
			d.broken = nil
			if rapid.IntRange(0, 4).Draw(r, "broken") == 0 {
				d.broken = errors.New("no mail")
			}
			act := func() {
				id := fmt.Sprint("o-", rapid.IntRange(0, 9).Draw(r, "order"))
				if _, there := d.inError[id]; there {
					delete(d.inError, id)
					return
				}
				d.stop(id, "order", "pay", codes.Draw(r, "code"))
			}
			if rapid.Bool().Draw(r, "sweep") {
				if rapid.Bool().Draw(r, "meanwhile") {
					d.meanwhile = func() { d.meanwhile = nil; act() }
				}
				d.now = d.now.Add(rapid.SampledFrom([]time.Duration{
					time.Second, 20 * time.Second,
					time.Minute, 16 * time.Minute,
				}).Draw(r, "pause"))
				_, _ = d.Sweep(marked) // what fails, the next one does
				d.meanwhile = nil
				continue
			}
			act()
		}
		losses = 0
		d.broken = nil
		for range 4 {
			d.sweepAfter(16 * time.Minute)
		}
		open := map[string]incident.Incident{}
		for _, x := range d.open() {
			open[x.Code] = x
		}
		of := map[string]int{}
		for id, a := range d.inError {
			of[a.Code]++
			if x, there := open[a.Code]; !there || x.Published == 0 || x.Over != 0 {
				r.Fatalf("%s is in Error with %s, and its incident is %+v", id, a.Code, x)
			}
		}
		for code, x := range open {
			if of[code] == 0 {
				r.Fatalf("%+v is open and no order is in Error", x)
			}
		}
	})
}

// The times of a clock that was ahead delay no alert: neither of the incident that it opened, nor of one that is
// older.
func TestAClockThatWasAheadDelaysNoAlert(t *testing.T) {
	for _, older := range []bool{false, true} {
		t.Run(fmt.Sprintf("older %t", older), func(t *testing.T) {
			d := newDesk(t, nil)
			start := d.now
			if older {
				d.stop("o-1", "order", "pay", "declined")
				d.want("at once", "first 1")
				d.sweepAfter(20 * time.Minute)
			}
			d.now = start.AddDate(1, 0, 0)
			if !older {
				d.stop("o-1", "order", "pay", "declined")
				d.want("at once", "first 1")
			}
			d.sweepAfter(time.Minute)
			d.published = nil // a reminder, to the clock that was ahead
			d.now = start.Add(30 * time.Minute)
			d.Incidents = incident.New(d.config) // another process
			d.sweepAfter(time.Minute)
			d.stop("o-2", "order", "pay", "declined")
			d.sweepAfter(25 * time.Hour)
			d.want("a day later", "reminder 2")
			clear(d.inError)
			d.sweepAfter(20 * time.Minute)
			d.want("none is left", "over 0")
		})
	}
}

// Damaged orders are an incident of their workflow (P60, a damaged order is set aside). It is reported once,
// however often the order is found, and is over when no damaged order is left. An order in Error whose document
// is damaged later is found by the count.
func TestDamagedOrdersAreAnIncident(t *testing.T) {
	d := newDesk(t, nil)
	d.aside = map[string]bool{"o-1": true}
	found := core.RaiseAlert{
		OrderID: "o-1", Workflow: "order", Code: core.CodeDamaged, Message: "no JSON",
		At: core.TimeOf(d.now), Accepts: core.Accepted{Close: true},
	}
	for range 3 {
		require.NoError(t, d.Raise(marked, found))
	}
	a := d.published[0].For("", "")
	require.Equal(t, "order: order o-1 cannot be read since 2026-11-21 03:00 UTC", a.Title())
	require.Contains(t, a.Commands, "stepkeeper close o-1 --reason TEXT")
	d.want("found", "first 1")
	counts := d.sweepAfter(20 * time.Minute)
	require.Equal(t, map[string]port.Stopped{"order": {Orders: 1}}, counts, "they wait for an operator")
	d.want("it still stands")
	d.aside["o-2"] = true
	d.sweepAfter(24 * time.Hour)
	require.Equal(t, "order: 2 orders still cannot be read since 2026-11-21 03:00 UTC", d.published[0].Title())
	d.want("a day later", "reminder 2")
	clear(d.aside)
	d.sweepAfter(20 * time.Minute)
	require.Equal(t, "order: no damaged order any more", d.published[0].Title())
	d.want("closed, or restored", "over 0")
	d.stop("e-1", "order", "pay", "declined")
	d.unread = map[string]bool{"e-1": true}
	d.sweepAfter(20 * time.Minute)
	d.want("in Error", "first 1", "first 1", "over 0")
}
