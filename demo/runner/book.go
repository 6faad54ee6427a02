package runner

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// book is what the demo knows of its lines and orders: as the sender, never by looking inside.
type book struct {
	mu       sync.Mutex
	lines    []line
	answers  []answer // answers to the lines with the same index
	orders   map[string]*entry
	accepted int // lines
	refused  int // lines
	reopened []string
	stale    bool // the last listing failed
}

type answer struct {
	given  bool
	reason string // why it was refused; "" if it was accepted
}

// entry is one acknowledged order.
type entry struct {
	expect audit.Order
	state  core.State // state in the last listing that had the order; "" before that
	ended  bool
	reason string // reason why the order was undone or stopped
	seen   bool   // the last listing had the order
}

// progress in numbers.
type progress struct {
	lines, answered, refused, repeated int
	processed, undone, stopped, open   int // orders
}

// ends is how many lines have come to their end.
func (p progress) ends() int { return p.processed + p.undone + p.refused + p.repeated }

func newBook(lines []line) *book {
	return &book{lines: lines, answers: make([]answer, len(lines)), orders: map[string]*entry{}}
}

// open returns the places of the lines without an answer, in the order of the file: an earlier
// line of the same ID must stay the earlier one.
func (b *book) open() []int {
	b.mu.Lock()
	defer b.mu.Unlock()
	var places []int
	for i, a := range b.answers {
		if !a.given {
			places = append(places, i)
		}
	}
	return places
}

// accept notes that a line was acknowledged. A line that was answered stays as it is.
func (b *book) accept(place int, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers[place].given {
		return
	}
	b.answers[place].given = true
	b.accepted++
	if b.orders[id] == nil {
		expect := b.lines[place].expect
		expect.ID = id
		b.orders[id] = &entry{expect: expect}
	}
}

// refuse notes that a line was refused for good.
func (b *book) refuse(place int, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.answers[place].given {
		return
	}
	b.answers[place] = answer{true, reason}
	b.refused++
}

// observe takes a whole listing in. An order at its end that is listed otherwise later on is
// noted: ends never change by themselves.
func (b *book) observe(list []view.Summary) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stale = false
	for _, e := range b.orders {
		e.seen = false
	}
	for _, s := range list {
		e := b.orders[s.OrderID]
		if e == nil {
			continue // stored, and its acknowledgement is still to come
		}
		if terminal(e.state) && e.state != s.State {
			b.reopened = append(b.reopened, s.OrderID)
		}
		e.state = s.State
		e.ended = s.Ended
		e.seen = true
		e.reason = ""
		if s.Error != nil {
			e.reason = reasonOf(s.Error)
		}
	}
}

// refusal finds the service's own word in the text of a refused call.
var refusal = regexp.MustCompile(`\brefused: ([a-z][a-z-]*): `)

// unseen notes that a listing failed: what it would have shown is not known.
func (b *book) unseen() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stale = true
}

// reasonOf is why an order was undone or stopped, in one word.
func reasonOf(e *view.TaskError) string {
	if m := refusal.FindStringSubmatch(e.Message); m != nil {
		return m[1]
	}
	return e.Code
}

func terminal(s core.State) bool {
	return s == core.Processed || s == core.Compensated || s == core.Cancelled
}

func (b *book) progress() progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := progress{
		lines: len(b.lines), answered: b.accepted + b.refused,
		refused: b.refused, repeated: b.accepted - len(b.orders),
	}
	for _, e := range b.orders {
		switch {
		case e.state == core.Processed:
			p.processed++
		case terminal(e.state):
			p.undone++
		case e.state == core.Error && e.ended:
			p.stopped++
		default:
			p.open++
		}
	}
	return p
}

// stopped lists the orders in Error, by ID.
func (b *book) stopped() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, e := range b.orders {
		if e.state == core.Error && e.ended {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// outcomes is what the audit is given: every order that was acknowledged, and every ID that was
// only ever refused.
func (b *book) outcomes() []audit.Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []audit.Order
	for _, e := range b.orders {
		o := e.expect
		switch {
		case !e.seen && !b.stale:
			o.Outcome = audit.Lost
		case e.state == core.Processed:
			o.Outcome = audit.Processed
		case terminal(e.state):
			o.Outcome = audit.Undone
		case e.state == core.Error && e.ended:
			o.Outcome = audit.Error
		default:
			o.Outcome = audit.Unfinished
		}
		all = append(all, o)
	}
	reported := map[string]bool{"": true}
	for i, l := range b.lines {
		if b.orders[l.id] == nil && !reported[l.id] {
			reported[l.id] = true
			o := audit.Order{ID: l.id, Outcome: audit.Refused}
			if !b.answers[i].given {
				o.Outcome = audit.Unfinished
			}
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b audit.Order) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// reasons counts why lines were refused and why orders were undone.
func (b *book) reasons() (refused, undone map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refused, undone = map[string]int{}, map[string]int{}
	for _, a := range b.answers {
		if a.given && a.reason != "" {
			refused[a.reason]++
		}
	}
	for _, e := range b.orders {
		if terminal(e.state) && e.state != core.Processed {
			undone[e.reason]++
		}
	}
	return refused, undone
}
