package bulk

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Header is the first line of the list's file.
type Header struct {
	Bulk string `json:"bulk"`
	Action
	Where  Where     `json:"where"`
	Made   time.Time `json:"made"`
	Orders int       `json:"orders"`
	Pace
}

// Pace sets the speed at which the commands of a list are sent.
type Pace struct {
	Canary int     `json:"canary"` // number of orders to fix before the other commands are sent; 0 means none
	Rate   float64 `json:"rate"`   // commands per second
	// StopAt is the largest share of orders that may fail again, from 0 to 1. Above it, the list stops.
	StopAt float64 `json:"stopAt"`
	// Patience is the number of seconds after which an accepted command without a result counts as unknown.
	Patience float64 `json:"patience"`
}

// List is a fixed list of orders, stored in a file. The file has a line for the header, a line for each
// order, and a line for each result. If an order has several results, the last one counts.
type List struct {
	Header
	orders []Order
	at     map[string]int
	mu     sync.Mutex
	file   *os.File
	lock   *flock.Flock
}

// Create writes a list to a new file.
func Create(name string, h Header, orders []Order) error {
	if err := h.Check(); err != nil {
		return err
	}
	h.Orders = len(orders)
	var text bytes.Buffer
	lines := json.NewEncoder(&text)
	lines.SetEscapeHTML(false)
	if err := lines.Encode(h); err != nil {
		return err
	}
	for i := range orders {
		if err := lines.Encode(orders[i]); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text.Bytes())
	return errors.Join(err, f.Sync(), f.Close())
}

// Check returns an error if a value of the header is out of range.
func (h *Header) Check() error {
	if _, err := h.Where.query(); err != nil {
		return err
	}
	if !slices.Contains(Commands, h.Command) {
		return fmt.Errorf("%.40q cannot be sent to many orders; it is one of %s", h.Command,
			strings.Join(Commands, ", "))
	}
	if err := h.Action.Check(); err != nil {
		return err
	}
	if err := message.CheckSigned(h.event().Sender); err != nil {
		return errors.New(message.Reason(err))
	}
	switch {
	case h.Canary < 0:
		return fmt.Errorf("canary is %d; it must be 0 or more", h.Canary)
	case !within(h.Rate, minRate, maxRate):
		return fmt.Errorf("rate is %v; it must be %v to %v commands a second", h.Rate, minRate, maxRate)
	case !within(h.StopAt, 0, 1):
		return fmt.Errorf("the share to stop at is %v; it must be between 0 and 1", h.StopAt)
	case h.Patience == 0 || !within(h.Patience, 0, maxPatience):
		return fmt.Errorf("the time to wait for an order is %v s; it must be more than 0 and at most %v days", h.Patience,
			maxPatience/day)
	}
	return nil
}

// Named sets the ID and the time of the list, and checks the header.
func (h *Header) Named(now time.Time) error {
	h.Made = now.UTC()
	h.Bulk = h.Made.Format("20060102-150405-") + strings.ToLower(rand.Text()[:4])
	return h.Check()
}

// File returns the default name of the list's file.
func (h *Header) File() string { return "bulk-" + h.Bulk + ".jsonl" }

const (
	minRate     = 0.001
	maxRate     = 1000
	day         = 24 * 60 * 60
	maxPatience = 366 * day
)

// within reports whether n is between least and most. It returns false for NaN.
func within(n, least, most float64) bool { return n >= least && n <= most }

// ErrBusy is the error of Open if another process has locked the list.
var ErrBusy = errors.New("another process is running this list")

// Open reads a list. It locks the list against other processes until Close.
func Open(name string) (*List, error) {
	if _, err := os.Stat(name); err != nil {
		return nil, err
	}
	lock := flock.New(name, flock.SetFlag(os.O_RDONLY)) // the list itself, so that no other file is left
	if runtime.GOOS == "windows" {                      // there a lock would also keep this process from reading the list
		lock = flock.New(name + ".lock")
	}
	if ok, err := lock.TryLock(); err != nil || !ok {
		if err == nil {
			err = ErrBusy
		}
		return nil, err
	}
	l := &List{at: map[string]int{}, lock: lock}
	whole, err := l.read(name)
	if err == nil {
		l.file, err = os.OpenFile(name, os.O_WRONLY, 0)
	}
	// Remove a partial line, which a crash may have left.
	if err == nil {
		err = l.file.Truncate(whole)
	}
	if err == nil {
		_, err = l.file.Seek(whole, 0)
	}
	if err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// read parses the file. It returns the number of bytes in complete lines.
func (l *List) read(name string) (whole int64, err error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, err
	}
	text = text[:bytes.LastIndexByte(text, '\n')+1]
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		if number == 1 {
			if err := json.Unmarshal(lines.Bytes(), &l.Header); err != nil || l.Bulk == "" {
				return 0, errors.New("its first line is not the header of a journal")
			}
			continue
		}
		var o Order
		if err := json.Unmarshal(lines.Bytes(), &o); err != nil || o.OrderID == "" {
			return 0, fmt.Errorf("line %d is neither an order nor a result", number)
		}
		i, known := l.at[o.OrderID]
		if !known {
			l.at[o.OrderID] = len(l.orders)
			l.orders = append(l.orders, o)
			continue
		}
		l.orders[i].Result = o.Result
		l.orders[i].Text = o.Text
		l.orders[i].At = o.At
	}
	switch {
	case lines.Err() != nil:
		return 0, lines.Err()
	case l.Bulk == "":
		return 0, errors.New("it has no complete line")
	case len(l.orders) != l.Orders:
		return 0, fmt.Errorf("it was cut, and has %d of its %d orders", len(l.orders), l.Orders)
	}
	return int64(len(text)), l.Check()
}

// Close closes the file and unlocks the list.
func (l *List) Close() error {
	var err error
	if l.file != nil {
		err = l.file.Close()
	}
	return errors.Join(err, l.lock.Close())
}

type outcome struct {
	OrderID string    `json:"orderId"`
	Result  Result    `json:"result"`
	Text    string    `json:"text,omitempty"`
	At      time.Time `json:"at"`
}

// record writes the result of an order to the file at once, so that another process can continue the list.
func (l *List) record(i int, r Result, text string, at time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	o := &l.orders[i]
	o.Result = r
	o.Text = text
	o.At = at
	line, err := json.Marshal(outcome{o.OrderID, r, text, at})
	if err != nil {
		return err
	}
	_, err = l.file.Write(append(line, '\n'))
	return err
}

func (l *List) order(i int) Order {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.orders[i]
}

// Report groups the IDs of the list's orders by result.
type Report struct {
	Bulk    string   `json:"bulk"`
	Command string   `json:"command"`
	Orders  int      `json:"orders"`
	Fixed   []string `json:"fixed"`
	Again   []string `json:"failedAgain"`
	Refused []string `json:"refused"`
	Unknown []string `json:"unknown"`
	NotSent []string `json:"notSent"`
	Stopped string   `json:"stopped,omitempty"` // reason why the list stopped early; otherwise ""
	// RefusedFor maps each reason to the IDs of the refused orders.
	RefusedFor map[string][]string `json:"-"`
}

// Report returns a report of the present results.
func (l *List) Report() Report {
	l.mu.Lock()
	defer l.mu.Unlock()
	r := Report{
		Bulk: l.Bulk, Command: l.Command, Orders: len(l.orders), Fixed: []string{}, Again: []string{},
		Refused: []string{}, Unknown: []string{}, NotSent: []string{}, RefusedFor: map[string][]string{},
	}
	by := map[Result]*[]string{
		Fixed: &r.Fixed, Again: &r.Again, Refused: &r.Refused, Unknown: &r.Unknown,
		Accepted: &r.Unknown, "": &r.NotSent,
	}
	for i := range l.orders {
		to := by[l.orders[i].Result]
		*to = append(*to, l.orders[i].OrderID)
		if o := &l.orders[i]; o.Result == Refused {
			r.RefusedFor[o.Text] = append(r.RefusedFor[o.Text], o.OrderID)
		}
	}
	return r
}
