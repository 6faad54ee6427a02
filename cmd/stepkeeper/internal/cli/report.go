package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
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

// lookEvery is the time between two looks at the queues that hold up an order, in seconds.
const lookEvery = 10

// waiters is the maximum number of orders for which the command waits at the same time.
const waiters = 16

// pending is a record without a result: an order that was sent, or an unreadable record, which has an Error.
type pending struct {
	submitLine
	workflow string // workflow of the order
}

// unreadable adds a record that is not sent. The report prints the results in the sequence of the file.
func (s *submission) unreadable(l submitLine, why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bad++
	s.bar.Add(1)
	l.Error = &submitError{Code: "unreadable", Message: why}
	s.pending = append(s.pending, pending{submitLine: l})
	s.release()
}

// release prints the unreadable records before which no order is without a result.
func (s *submission) release() {
	for len(s.pending) > 0 && s.pending[0].Error != nil {
		s.problem(s.pending[0].submitLine)
		s.pending = s.pending[1:]
	}
}

// unattended prints each queue without a consumer once. In JSON output, the line of the order contains the
// queues.
func (s *submission) unattended(l submitLine) {
	for _, u := range l.Unattended {
		if !s.reported[u.Queue] && !s.app.JSON() {
			s.reported[u.Queue] = true
			fmt.Fprintln(s.bar, s.app.Streams.ErrStyle().Warn(render.Unattended(u, s.app.Now())))
		}
	}
}

func (s *submission) problem(l submitLine) {
	if s.app.JSON() {
		s.app.PrintLine(l)
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
	fmt.Fprintf(s.bar, "%s: %s: %s\n", where, s.app.Streams.ErrStyle().Bad(word), render.Clean(l.Error.Message))
}

func (s *submission) waitForAll(ctx context.Context, c *client.Client) error {
	s.bar.Done()
	s.bar = s.app.Streams.Progress("waiting", int64(len(s.taken)))
	waiting, stop := context.WithCancel(ctx)
	var meanwhile sync.WaitGroup
	meanwhile.Go(func() { s.meanwhile(waiting, c) })
	defer meanwhile.Wait()
	defer stop()
	all, within := errgroup.WithContext(ctx)
	all.SetLimit(waiters)
	for i := range s.taken {
		all.Go(func() error {
			// No lock is needed, because each goroutine reads and changes a different element.
			id := s.taken[i].OrderID
			task, err := c.Wait(within, id)
			if err != nil {
				return s.app.Explain(err, "order "+id)
			}
			s.ended(i, *task)
			return nil
		})
	}
	err := all.Wait()
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		code := failure.General
		if errors.Is(err, client.ErrConnection) {
			code = failure.Unreachable
		}
		return failure.New(code, "they go on: repeat the command to wait again, or give it more "+
			"time with --timeout", "not all orders ended in time")
	}
	if ctx.Err() != nil {
		return s.app.Explain(ctx.Err(), "wait")
	}
	return err
}

// meanwhile shows the bar, and reports the queues without a consumer that the first open order needs, until ctx ends.
func (s *submission) meanwhile(ctx context.Context, c *client.Client) {
	for n := 1; port.Sleep(ctx, time.Second) == nil; n++ {
		s.bar.Add(0)
		id := s.firstOpen()
		if id == "" || n%lookEvery != 0 {
			continue
		}
		task, err := c.Get(ctx, id)
		if err == nil { // the wait itself reports an error
			s.mu.Lock()
			s.unattended(submitLine{Unattended: task.Unattended})
			s.mu.Unlock()
		}
	}
}

// firstOpen returns the ID of the first order that has not ended, or "".
func (s *submission) firstOpen() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.taken {
		if !s.taken[i].Ended {
			return s.taken[i].OrderID
		}
	}
	return ""
}

func (s *submission) ended(i int, task view.Task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bar.Add(1)
	s.states[task.State]++
	l := s.taken[i]
	l.State = task.State
	l.Ended = true
	if task.Error != nil && task.State != core.Processed {
		l.Error = &submitError{Code: task.Error.Code, Message: task.Error.Message, Step: task.Error.Step}
	}
	s.taken[i] = l
	switch {
	case s.app.JSON():
		s.app.PrintLine(l)
	case task.State != core.Processed && !s.single():
		fmt.Fprintf(s.bar, "%s: %s%s\n", l.OrderID,
			s.app.Streams.ErrStyle().State(task.State, string(task.State)), whyOf(l.Error))
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
func (s *submission) finish() error {
	s.bar.Done()
	if !s.app.JSON() {
		s.sum()
		s.notes()
	}
	var codes []failure.Code
	if s.bad > 0 {
		codes = append(codes, failure.Usage)
	}
	if s.refused > 0 {
		codes = append(codes, failure.Refused)
	}
	if s.wait && s.states[core.Processed] < len(s.taken) {
		codes = append(codes, failure.NotProcessed)
	}
	if len(codes) == 0 {
		return nil
	}
	return failure.Silent(failure.Worst(codes...), "some orders were not sent, refused or not processed")
}

// notes prints each note once, with the number of orders that have the note.
func (s *submission) notes() {
	count := map[string]int{}
	var texts []string
	for _, l := range s.taken {
		for _, text := range l.Notes {
			count[text]++
			if count[text] == 1 {
				texts = append(texts, text)
			}
		}
	}
	for _, text := range texts {
		fmt.Fprintf(s.app.Streams.Err, "note (%d of %s): %s\n", count[text],
			view.Count(len(s.taken), "order"), render.Clean(text))
	}
}

// single reports whether there was one record and the server accepted its order.
func (s *submission) single() bool { return len(s.taken) == 1 && s.bad+s.refused == 0 }

func (s *submission) sum() {
	out := s.app.Streams.Out
	style := s.app.Streams.Style()
	if s.single() {
		l := s.taken[0]
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
	parts := []string{fmt.Sprintf("%d accepted", len(s.taken)-s.known)}
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, what))
		}
	}
	add(s.known, "already there")
	add(s.refused, "refused")
	add(s.bad, "not sent")
	fmt.Fprintf(out, "%s: %s\n", view.Count(len(s.taken)+s.refused+s.bad, "order"), strings.Join(parts, ", "))
	if !s.wait || len(s.taken) == 0 {
		return
	}
	fmt.Fprintf(out, "%d ended: %s\n", len(s.taken), strings.Join(byState(s.states), ", "))
}

// byState returns the numbers of orders in each state as text. Error comes last.
func byState(orders map[core.State]int) (parts []string) {
	for _, state := range append(slices.Clone(bulk.States[1:]), core.Error) {
		if n := orders[state]; n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, state))
		}
	}
	return parts
}
