package stage

import (
	"maps"
	"regexp"
	"slices"
	"sync"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Book records the lines that the application sends, one order each. It also records the responses and the
// listings of orders. It contains only information that an application can get.
type Book struct {
	mu       sync.Mutex
	lines    []line
	orders   map[string]*order
	reopened []string
	stale    bool // true if the last listing failed
}

type line struct {
	id                string      // ID of the order; "" if the line cannot be parsed
	expect            audit.Order // expected effects if the order is accepted and processed
	accepted, refused bool
	reason            string // reason for the refusal
}

// order holds the facts about one order from its lines and from the listings.
type order struct {
	view.Summary // summary in the last listing that contained the order; zero before that listing

	expect            audit.Order
	accepted, refused bool // true after a line of the order was accepted or refused
	cancelled         bool // true after a cancel was accepted
	seen              bool // true if the last listing contained the order
}

// Progress holds the numbers of lines and orders by outcome. Lines is the sum of the other members of its JSON.
type Progress struct {
	Lines     int `json:"submitted"` // number of input lines, including refused lines
	Answered  int `json:"-"`         // number of lines with a response
	Processed int `json:"processed"` // number of orders
	Undone    int `json:"undone"`    // number of orders
	Refused   int `json:"refused"`   // number of lines
	Repeated  int `json:"repeated"`  // number of accepted lines whose order already existed
	Error     int `json:"error"`     // number of orders that wait for an operator
	Open      int `json:"-"`         // number of acknowledged orders that have not ended
	// Unfinished is the number of open orders, plus the number of lines without a response.
	Unfinished int `json:"unfinished"`
}

// Ends returns the number of lines with a final outcome.
func (p Progress) Ends() int { return p.Processed + p.Undone + p.Refused + p.Repeated }

// Add adds a line and returns the line's place in the book.
func (b *Book) Add(text []byte) int {
	l := line{}
	l.id, l.expect = shop.Expectation(text)
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lines = append(b.lines, l)
	if l.id != "" {
		b.order(l.id, l.expect)
	}
	return len(b.lines) - 1
}

// order returns the entry of an order. A new entry gets the given expectation. The caller must hold the lock.
func (b *Book) order(id string, expect audit.Order) *order {
	if b.orders == nil {
		b.orders = map[string]*order{}
	}
	if b.orders[id] == nil {
		b.orders[id] = &order{expect: expect}
	}
	return b.orders[id]
}

// Accept records that the server acknowledged a line. It does nothing if the line already has a response.
func (b *Book) Accept(place int, id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	l := &b.lines[place]
	if l.accepted || l.refused {
		return
	}
	l.accepted = true
	if o := b.order(id, l.expect); !o.accepted {
		o.accepted = true
		o.expect = l.expect
		o.expect.ID = id
	}
}

// Refuse records the final refusal of a line.
func (b *Book) Refuse(place int, reason string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if l := &b.lines[place]; !l.accepted && !l.refused {
		l.refused = true
		l.reason = reason
		if l.id != "" {
			b.order(l.id, l.expect).refused = true
		}
	}
}

// Cancel records that the server accepted a cancel of the line's order.
func (b *Book) Cancel(place int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.orders[b.lines[place].id].cancelled = true
}

// Observe records a listing of all orders, or the error of a failed listing. It also records each order that
// has left a final state, which is a violation.
func (b *Book) Observe(list []view.Summary, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.stale = err != nil
	if b.stale {
		return
	}
	for _, o := range b.orders {
		o.seen = false
	}
	for _, s := range list {
		o := b.orders[s.OrderID]
		if o == nil {
			continue
		}
		if terminal(o.State) && o.State != s.State {
			b.reopened = append(b.reopened, s.OrderID)
		}
		o.Summary = s
		o.seen = true
	}
}

// refusal matches the error code of a service in the text of a refused call.
var refusal = regexp.MustCompile(`\brefused: ([a-z][a-z-]*): `)

func reasonOf(e *view.TaskError) string {
	if e == nil {
		return ""
	}
	if m := refusal.FindStringSubmatch(e.Message); m != nil {
		return m[1]
	}
	return e.Code
}

func terminal(s core.State) bool {
	return s == core.Processed || s == core.Compensated || s == core.Cancelled
}

func (o *order) outcome() audit.Outcome {
	switch {
	case o.State == core.Processed:
		return audit.Processed
	case terminal(o.State):
		return audit.Undone
	case o.State == core.Error && o.Ended:
		return audit.Error
	}
	return audit.Unfinished
}

// Progress returns the present numbers of lines and orders.
func (b *Book) Progress() Progress {
	b.mu.Lock()
	defer b.mu.Unlock()
	p := Progress{Lines: len(b.lines)}
	for _, l := range b.lines {
		switch {
		case l.refused:
			p.Refused++
		case l.accepted:
			p.Repeated++
		}
	}
	p.Answered = p.Refused + p.Repeated
	for _, o := range b.orders {
		if !o.accepted {
			continue
		}
		p.Repeated-- // The first accepted line of an order is not a repetition.
		switch o.outcome() {
		case audit.Processed:
			p.Processed++
		case audit.Undone:
			p.Undone++
		case audit.Error:
			p.Error++
		default:
			p.Open++
		}
	}
	p.Unfinished = p.Open + p.Lines - p.Answered
	return p
}

// Stopped returns the sorted IDs of the orders in Error.
func (b *Book) Stopped() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var ids []string
	for id, o := range b.orders {
		if o.accepted && o.outcome() == audit.Error {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Outcomes returns the input of the audit: each order with a known ID, and the outcome according to the last
// listing.
func (b *Book) Outcomes() []audit.Order {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []audit.Order
	for _, id := range slices.Sorted(maps.Keys(b.orders)) {
		o := b.orders[id]
		end := o.expect
		switch {
		case o.State == "" && !o.accepted && o.refused:
			end.Outcome = audit.Refused
		case o.accepted && !o.seen && !b.stale:
			end.Outcome = audit.Lost
		default:
			end.Outcome = o.outcome()
		}
		all = append(all, end)
	}
	return all
}

// Violations returns the violations that only the application can notice. These are orders that left a final
// state, and accepted cancels without effect.
func (b *Book) Violations() (all []audit.Violation) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, id := range b.reopened {
		all = append(all, audit.Violation{
			Order: id, What: "an end that changed afterwards",
			Expected: "the same end for ever", Found: "another state",
		})
	}
	for id, o := range b.orders {
		if o.cancelled && o.seen && o.State != core.Cancelled {
			all = append(all, audit.Violation{
				Order: id, What: "a cancel was accepted",
				Expected: "Cancelled", Found: string(o.State),
			})
		}
	}
	return all
}

// Reasons counts the refused lines and the undone orders by reason.
func (b *Book) Reasons() (refused, undone map[string]int) {
	b.mu.Lock()
	defer b.mu.Unlock()
	refused = map[string]int{}
	undone = map[string]int{}
	for _, l := range b.lines {
		if l.refused && l.reason != "" {
			refused[l.reason]++
		}
	}
	for _, o := range b.orders {
		if o.accepted && o.outcome() == audit.Undone {
			undone[reasonOf(o.Error)]++
		}
	}
	return refused, undone
}
