package cli

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// submitLine is the JSON output for one record. With --wait, the command prints the line of an accepted order
// after the end of the order.
type submitLine struct {
	File     string       `json:"file"`
	Line     int          `json:"line,omitempty"` // first line of the record; 0 for the whole file
	OrderID  string       `json:"orderId,omitempty"`
	Accepted bool         `json:"accepted"`         // true if the server has accepted the order
	Known    bool         `json:"known"`            // true if the order existed before
	Queued   bool         `json:"queued,omitempty"` // true if the order is in the intake queue of a stack
	Notes    []string     `json:"notes,omitempty"`  // parts of the order that have no effect
	State    core.State   `json:"state,omitempty"`  // absent if it is unknown, as of a queued order
	Ended    bool         `json:"ended"`            // true if the order has ended; with --wait also in Error
	Error    *submitError `json:"error,omitempty"`

	// Unattended lists the request queues of the workflow that have no consumer.
	Unattended []view.Unattended `json:"unattended,omitempty"`
}

type submitError struct {
	Code    string `json:"code"` // "unreadable", "refused", or the error code from the server
	Message string `json:"message"`
	Step    string `json:"step,omitempty"` // step that failed; only with --wait
}

const barFrom = 50

// waiters is the maximum number of orders for which the command waits at the same time.
const waiters = 16

type report struct {
	*submitOptions
	mu       sync.Mutex
	bar      *streams.Progress
	taken    []submitLine
	answers  int       // number of sent orders with a response
	held     []badLine // unreadable records; each is printed after the results of earlier orders
	bad      int       // number of unreadable records
	refused  int
	known    int
	states   map[core.State]int // number of orders by final state, with --wait
	reported map[string]bool    // queues without a consumer that were already reported
}

// badLine is the result for a record that was not sent. behind is the number of orders that were sent before
// the record was read.
type badLine struct {
	submitLine
	behind int
}

func newReport(o *submitOptions) *report {
	return &report{
		submitOptions: o, states: map[core.State]int{}, reported: map[string]bool{},
		bar: &streams.Progress{},
	}
}

// expect shows a progress bar for n records, if n is large enough. The value 0 means that the number is
// unknown.
func (r *report) expect(n int) {
	if n >= barFrom {
		r.bar = r.app.Streams.Progress("submitting", int64(n))
	}
}

func (r *report) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bar.Done()
}

func (r *report) acknowledged() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.taken)
}

// unreadable adds a record that is not sent. The report prints the results in the sequence of the file.
func (r *report) unreadable(at place, behind int, id, why string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bad++
	r.bar.Add(1)
	l := submitLine{
		File: at.file, Line: at.line, OrderID: id,
		Error: &submitError{Code: "unreadable", Message: why},
	}
	r.held = append(r.held, badLine{l, behind})
	r.release()
}

// release prints each held record if all orders before the record have a response.
func (r *report) release() {
	for len(r.held) > 0 && r.held[0].behind <= r.answers {
		r.problem(r.held[0].submitLine)
		r.held = r.held[1:]
	}
}

func (r *report) answered(l submitLine) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bar.Add(1)
	r.answers++
	switch {
	case l.Error != nil:
		r.refused++
		r.problem(l)
	default:
		if l.Known {
			r.known++
		}
		r.taken = append(r.taken, l)
		if r.app.JSON() && !r.wait {
			r.app.PrintLine(l)
		}
		r.unattended(l)
	}
	r.release()
}

// unattended prints each queue without a consumer once. In JSON output, the line of the order contains the
// queues.
func (r *report) unattended(l submitLine) {
	for _, u := range l.Unattended {
		if !r.reported[u.Queue] && !r.app.JSON() {
			r.reported[u.Queue] = true
			r.app.WarnUnattended([]view.Unattended{u})
		}
	}
}

func (r *report) problem(l submitLine) {
	if r.app.JSON() {
		r.app.PrintLine(l)
		return
	}
	where := l.File
	if l.Line > 0 {
		where = fmt.Sprintf("%s:%d", l.File, l.Line)
	}
	if l.OrderID != "" {
		where += ": " + l.OrderID
	}
	word := "refused"
	if l.Error.Code == "unreadable" {
		word = "not sent"
	}
	fmt.Fprintf(r.app.Streams.Err, "%s: %s: %s\n", where, r.app.Streams.Style().Bad(word),
		render.Clean(l.Error.Message))
}

func (r *report) waitForAll(ctx context.Context, c *client.Client) error {
	r.close()
	if len(r.taken) >= barFrom {
		r.bar = r.app.Streams.Progress("waiting", int64(len(r.taken)))
	}
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(waiters)
	for i := range r.taken {
		all.Go(func() error {
			// No lock is needed, because each goroutine reads and changes a different element.
			id := r.taken[i].OrderID
			task, err := c.Wait(within, id)
			if err != nil {
				return r.app.Explain(err, "order "+id)
			}
			r.ended(i, *task)
			return nil
		})
	}
	err := all.Wait()
	if ctx.Err() != nil {
		return r.app.Explain(ctx.Err(), "end of the orders")
	}
	return err
}

func (r *report) ended(i int, task view.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bar.Add(1)
	r.states[task.State]++
	l := r.taken[i]
	l.State = task.State
	l.Ended = true
	if task.Error != nil && task.State != core.Processed {
		l.Error = &submitError{Code: task.Error.Code, Message: task.Error.Message, Step: task.Error.Step}
	}
	r.taken[i] = l
	switch {
	case r.app.JSON():
		r.app.PrintLine(l)
	case task.State != core.Processed && !r.single():
		fmt.Fprintf(r.app.Streams.Err, "%s: %s%s\n", l.OrderID,
			r.app.Streams.Style().State(task.State, string(task.State)), whyOf(l.Error))
	}
}

func whyOf(e *submitError) string {
	if e == nil {
		return ""
	}
	if e.Step == "" {
		return ": " + render.Clean(e.Message)
	}
	return ": " + e.Step + ": " + render.Clean(e.Message)
}

// finish prints the summary. It returns an error with the worst exit code of all records.
func (r *report) finish() error {
	r.close()
	if !r.app.JSON() {
		r.sum()
		r.notes()
	}
	var codes []failure.Code
	if r.bad > 0 {
		codes = append(codes, failure.Usage)
	}
	if r.refused > 0 {
		codes = append(codes, failure.Refused)
	}
	if r.wait && r.states[core.Processed] < len(r.taken) {
		codes = append(codes, failure.NotProcessed)
	}
	if len(codes) == 0 {
		return nil
	}
	return failure.Silent(failure.Worst(codes...), "some orders were not sent, refused or not processed")
}

// notes prints each note once, with the number of orders that have the note.
func (r *report) notes() {
	count := map[string]int{}
	var texts []string
	for _, l := range r.taken {
		for _, text := range l.Notes {
			count[text]++
			if count[text] == 1 {
				texts = append(texts, text)
			}
		}
	}
	for _, text := range texts {
		fmt.Fprintf(r.app.Streams.Err, "note (%d of %s): %s\n", count[text],
			view.Count(len(r.taken), "order"), render.Clean(text))
	}
}

// single reports whether there was one record and the server accepted its order.
func (r *report) single() bool { return len(r.taken) == 1 && r.bad+r.refused == 0 }

func (r *report) sum() {
	out := r.app.Streams.Out
	style := r.app.Streams.Style()
	if r.single() {
		l := r.taken[0]
		word := style.Good("accepted")
		switch {
		case l.Known:
			word = "already there"
		case l.Queued && !l.Ended:
			word += " (queued)"
		}
		if l.Ended {
			word += ", " + style.State(l.State, string(l.State)) + whyOf(l.Error)
		}
		fmt.Fprintf(out, "%s: %s\n", l.OrderID, word)
		return
	}
	parts := []string{fmt.Sprintf("%d accepted", len(r.taken)-r.known)}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(r.known, "already there")
	add(r.refused, "refused")
	add(r.bad, "not sent")
	fmt.Fprintf(out, "%s: %s\n", view.Count(len(r.taken)+r.refused+r.bad, "order"), strings.Join(parts, ", "))
	if !r.wait || len(r.taken) == 0 {
		return
	}
	parts = parts[:0]
	for _, state := range render.States {
		add(r.states[core.State(state)], state)
	}
	fmt.Fprintf(out, "%d ended: %s\n", len(r.taken), strings.Join(parts, ", "))
}
