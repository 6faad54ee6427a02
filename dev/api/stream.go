package api

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const (
	groupLines   = 64      // largest number of orders in a group
	groupBytes   = 1 << 20 // largest size of a group, in bytes
	groupsAhead  = 4       // number of groups of one stream that run at once
	lineTimeout  = time.Minute
	busyPatience = time.Minute // longest time that a stream retries a busy backend
)

// LineResult is the result of one line of a stream.
type LineResult struct {
	Line     int        `json:"line" doc:"number of the line, from 1; blank lines count, but get no answer"`
	OrderID  string     `json:"orderId,omitempty" doc:"absent if it could not be read"`
	Accepted bool       `json:"accepted" doc:"stored and started"`
	Known    bool       `json:"known" doc:"the same order existed already; nothing was started twice"`
	State    core.State `json:"state,omitempty"`
	Notes    []string   `json:"notes,omitempty" nullable:"false" doc:"parts of the order that have no effect here, for people"`
	Error    *Problem   `json:"error,omitempty" doc:"reason why it was not accepted"`
	// Unattended has the same meaning as in Receipt.
	Unattended []view.Unattended `json:"unattended,omitempty" nullable:"false" doc:"request queues of its workflow that have no consumer"`
}

// line is a decoded line. A non-nil err means that the line is not submitted.
type line struct {
	number int
	order  message.SubmitOrder
	size   int
	err    error
}

// group is a set of lines that are submitted together. results is complete once done is closed.
type group struct {
	lines   []line
	results []LineResult
	done    chan struct{}
}

// submitStream reads lines and submits the orders in groups. Several groups run at once. submitStream writes
// the results in the sequence of the lines. It begins to write before the last line has come.
func (e *edge) submitStream(w http.ResponseWriter, r *http.Request) {
	ctx, cancel, err := e.submissions.begin(r.Context())
	if err != nil {
		writeProblem(w, problemOf(err))
		return
	}
	defer cancel()
	rc := http.NewResponseController(w)
	if err := rc.EnableFullDuplex(); err != nil && !errors.Is(err, http.ErrNotSupported) {
		writeProblem(w, internalProblem(err))
		return
	}
	// This deferred call runs before cancel. Otherwise cancel would set a read deadline, and the deadline
	// would break the next requests on this connection.
	defer wakeReader(ctx, rc)()
	w.Header().Set("Content-Type", linesType)
	w.WriteHeader(http.StatusOK)
	_ = rc.Flush()

	lines := make(chan line, groupLines)
	groups := make(chan *group, groupsAhead)
	go readLines(ctx, &patientReader{ctx, r.Body, rc}, lines)
	var broken error // set before groups is closed; read only afterwards
	go func() {
		defer close(groups)
		broken = port.Guard(nil, "grouping orders",
			func() error { e.submitGroups(ctx, lines, groups); return nil })
	}()

	out := newSpool(rc, w)
	for g := range groups {
		<-g.done
		out.add(g.results)
		if out.failed() {
			cancel() // stop, because the client no longer reads the results
		}
	}
	out.close()
	if out.failed() || broken != nil { // some lines have no result, so the stream must not look complete
		panic(http.ErrAbortHandler)
	}
}

// wakeReader ends a blocked read when ctx ends. The caller must call the returned function before the request
// ends. The returned function blocks until ctx can no longer change the read deadline.
func wakeReader(ctx context.Context, rc *http.ResponseController) func() {
	woken := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		_ = rc.SetReadDeadline(time.Now())
		close(woken)
	})
	return func() {
		if !stop() {
			<-woken
		}
	}
}

// patientReader gives each read its own time limit, because a stream may last for hours.
type patientReader struct {
	ctx  context.Context
	body io.Reader
	rc   *http.ResponseController
}

func (p *patientReader) Read(b []byte) (int, error) {
	_ = p.rc.SetReadDeadline(time.Now().Add(lineTimeout))
	// the deadline above may have replaced the deadline that wakeReader set
	if err := p.ctx.Err(); err != nil {
		_ = p.rc.SetReadDeadline(time.Now()) // net/http reads the rest of the body when the request ends
		return 0, err
	}
	return p.body.Read(b)
}

func readLines(ctx context.Context, body io.Reader, lines chan<- line) {
	defer close(lines)
	in := bufio.NewReaderSize(body, 64<<10)
	for number, ended := 1, error(nil); ended == nil; number++ {
		l := line{}
		blank := false
		err := port.Guard(nil, "reading orders", func() error {
			l, blank, ended = nextLine(in, number)
			return nil
		})
		ended = cmp.Or(err, ended)
		if ended != nil && !errors.Is(ended, io.EOF) {
			l = line{err: problem(http.StatusBadRequest, CodeInvalid,
				"the stream broke off here (%v); send the rest again, known orders are harmless", ended)}
			blank = ctx.Err() != nil
		}
		l.number = number
		if blank {
			continue
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
	}
}

// nextLine reads and decodes a line. It returns io.EOF with the last line. If the line is too long or is not
// an order, l.err is set. blank reports whether the line has only white space.
func nextLine(in *bufio.Reader, number int) (l line, blank bool, err error) {
	var text []byte
	long := false
	for err = bufio.ErrBufferFull; errors.Is(err, bufio.ErrBufferFull); {
		var part []byte
		part, err = in.ReadSlice('\n')
		if len(text)+len(part) > message.MaxSubmission+2 { // two bytes more for the line end
			long = true
			text = nil
		}
		if !long {
			text = append(text, part...)
		}
	}
	if number == 1 {
		text = bytes.TrimPrefix(text, []byte("\xef\xbb\xbf"))
	}
	text = bytes.TrimRight(text, "\r\n")
	switch {
	case long:
		l.err = problem(http.StatusRequestEntityTooLarge, message.CodeTooLarge,
			"the line has more than %d bytes and was skipped, and an order may have %d; store large data "+
				"elsewhere and send a reference", message.MaxSubmission, port.MaxOrder)
	case len(bytes.TrimSpace(text)) == 0:
		return l, true, err
	default:
		l.size = len(text)
		l.order, l.err = message.DecodeSubmit(text)
	}
	return l, false, err
}

// submitGroups divides the lines into groups, and submits the groups. A group contains the lines that are
// ready, up to the limits of a group. If two lines have the same order ID, the second line waits for the
// result of the first line.
func (e *edge) submitGroups(ctx context.Context, lines <-chan line, groups chan<- *group) {
	var pending []*group
	onTheWay := map[string]bool{}
	settle := func(keep int) {
		for len(pending) > keep {
			<-pending[0].done
			for _, l := range pending[0].lines {
				if l.err == nil {
					delete(onTheWay, l.order.OrderID)
				}
			}
			pending = pending[1:]
		}
	}
	next, more := <-lines
	for more {
		if next.err == nil && onTheWay[next.order.OrderID] {
			settle(0)
		}
		g := &group{done: make(chan struct{})}
		next, more = g.fill(next, lines, onTheWay)
		settle(groupsAhead - 1)
		pending = append(pending, g)
		go func() {
			defer close(g.done)
			if err := port.Guard(nil, "submitting orders",
				func() error { e.submitGroup(ctx, g); return nil }); err != nil {
				g.fail(err)
			}
		}()
		groups <- g // cannot block for ever, because the receiver runs until groups is closed
		if more && next.number == 0 {
			next, more = <-lines
		}
	}
	settle(0)
}

// fill adds the first line and all lines that are ready, up to the limits of a group. It stops at a line
// whose order ID is already in progress, and returns this line as next. Otherwise the number of next is 0.
func (g *group) fill(first line, lines <-chan line, onTheWay map[string]bool) (next line, more bool) {
	size := 0
	for l := first; ; {
		g.lines = append(g.lines, l)
		size += l.size
		if l.err == nil {
			onTheWay[l.order.OrderID] = true
		}
		if len(g.lines) == groupLines || size >= groupBytes {
			return line{}, true
		}
		var ok bool
		select {
		case l, ok = <-lines:
			if !ok {
				return line{}, false
			}
			if l.err == nil && onTheWay[l.order.OrderID] {
				return l, true
			}
		default:
			return line{}, true
		}
	}
}

// submitGroup submits the readable lines. While the backend is busy, it submits orders again, for up to
// busyPatience.
func (e *edge) submitGroup(ctx context.Context, g *group) {
	g.results = make([]LineResult, len(g.lines))
	var open []int // indexes of the lines without a final result
	for i, l := range g.lines {
		g.results[i].Line = l.number
		g.results[i].OrderID, _ = l.order.Known()
		if l.err != nil {
			g.results[i].Error = problemOf(l.err)
		} else {
			open = append(open, i)
		}
	}
	for waited := time.Duration(0); len(open) > 0; {
		orders := make([]message.SubmitOrder, len(open))
		for k, i := range open {
			orders[k] = g.lines[i].order
		}
		var again []int
		pause := time.Duration(0)
		for k, result := range e.backend.Submit(ctx, orders) {
			i := open[k]
			var full *BusyError
			if errors.As(result.Err, &full) && waited < busyPatience {
				// the next attempt replaces the result below
				again = append(again, i)
				pause = max(pause, full.RetryAfter)
			}
			g.results[i] = answerOf(g.lines[i].number, result, g.results[i].OrderID)
		}
		open = again
		if len(open) > 0 && port.Sleep(ctx, pause) != nil {
			waited = busyPatience // the stream has ended, so there is only one more attempt
		}
		waited += pause
	}
}

// fail sets the error of every line without a result.
func (g *group) fail(err error) {
	for i := range g.results {
		if !g.results[i].Accepted && g.results[i].Error == nil {
			g.results[i].Error = problemOf(err)
		}
	}
}

func answerOf(number int, r SubmitResult, orderID string) LineResult {
	if r.Err != nil {
		return LineResult{Line: number, OrderID: orderID, Error: problemOf(r.Err)}
	}
	return LineResult{
		Line: number, OrderID: orderID, Accepted: true, Known: r.Known, State: r.State,
		Notes: r.Notes, Unattended: r.Unattended,
	}
}

func appendLines(b []byte, results []LineResult) []byte {
	for i := range results {
		text, err := rawjson.Marshal(&results[i])
		if err != nil { // cannot happen, because results contain only texts and numbers
			continue
		}
		b = append(append(b, text...), '\n')
	}
	return b
}
