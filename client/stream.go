package client

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Result is the answer to one order of SubmitMany.
type Result struct {
	Line     int      // number of the line in SubmitMany, or of the order in SubmitAll; from 1
	OrderID  string   // "" if it could not be read
	Accepted bool     // stored and started, or Queued
	Known    bool     // the same order existed before
	Queued   bool     // the order is in the intake queue, as on AWS; its task shows the result
	Notes    []string // texts that name the parts of the order without effect in this deployment
	// Unattended has the same meaning as in a Receipt.
	Unattended []Unattended
	Err        error `json:"-"` // reason for the refusal, an *Error; nil if the order was accepted
}

// SubmitMany submits orders from a stream of JSON Lines. Each line has the form SubmitOrder of the OpenAPI
// document. Blank lines are skipped. It calls the function each once per order, in the sequence of the lines,
// never concurrently. A refused order is a Result, not an error, and does not affect the others.
//
// If the connection breaks, SubmitMany connects again and sends the orders without an answer again. It
// returns an error if reading fails, if ctx ends, or if the server stays unreachable. After an error, an
// order without a Result may or may not be stored. Sending all orders again is harmless. A read that blocks
// is abandoned when ctx ends.
func (c *Client) SubmitMany(ctx context.Context, lines io.Reader, each func(Result)) error {
	return c.submitMany(ctx, linesOf(lines), each)
}

// SubmitAll is SubmitMany for orders that a program makes.
func (c *Client) SubmitAll(ctx context.Context, orders iter.Seq[Order], each func(Result)) error {
	return c.submitMany(ctx, func(yield func(sending, error) bool) {
		number := 0
		for o := range orders {
			number++
			text, err := json.Marshal(o)
			if !yield(sending{number, text}, err) || err != nil {
				return
			}
		}
	}, each)
}

type sending struct {
	number int
	text   []byte
}

// linesOf yields the numbered lines without blank ones.
func linesOf(r io.Reader) iter.Seq2[sending, error] {
	return func(yield func(sending, error) bool) {
		in := bufio.NewReader(r)
		for number := 1; ; number++ {
			text, err := readLine(in)
			if len(bytes.TrimSpace(text)) > 0 && !yield(sending{number, text}, nil) {
				return
			}
			if errors.Is(err, io.EOF) {
				return
			}
			if err != nil {
				yield(sending{}, fmt.Errorf("reading line %d: %w", number, err))
				return
			}
		}
	}
}

// readLine returns a line without its end. It shortens a line that is over the limit to a length that the
// server still refuses.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(text) <= port.MaxOrder {
			text = append(text, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(text, "\r\n"), err
		}
	}
}

func (c *Client) submitMany(ctx context.Context, source iter.Seq2[sending, error], each func(Result)) error {
	m := &many{}
	m.change.L = &m.mu
	go m.read(source)
	defer m.locked(func() { m.over = true })
	for over := false; !over; {
		_, err := again(ctx, c, func(ctx context.Context) (struct{}, error) {
			before, started := m.answered.Load(), time.Now()
			err := m.connect(ctx, c, each)
			over = err == nil
			if repeatable(err) && (m.answered.Load() > before || brokenUse(started, err)) {
				err = nil // start again, with all attempts
			}
			return struct{}{}, err
		})
		if err != nil {
			return fmt.Errorf("submitting orders (%d answered): %w", m.answered.Load(), err)
		}
	}
	return m.err // the source has ended, because connect has returned nil
}

type lineAnswer struct {
	Result
	Error *problem `json:"error"`
}

const linesType = "application/x-ndjson"

// maxAnswerLine is the longest answer to one line, in bytes.
const maxAnswerLine = 1 << 20

// Stream sends the orders that next returns, until it returns false, and passes on the answers. It reads and
// writes at the same time. next may be called a last time after Stream has returned.
func (h *overHTTP) Stream(ctx context.Context, next func() ([]byte, bool), answer func(Result) error) error {
	body, feed := io.Pipe()
	defer body.Close()
	go func() {
		for {
			text, more := next()
			if !more {
				_ = feed.Close()
				return
			}
			if _, err := feed.Write(append(text[:len(text):len(text)], '\n')); err != nil {
				return // the connection is lost
			}
		}
	}()
	resp, err := h.send(ctx, http.MethodPost, "/v1/orders", linesType, body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for line, err := range wholeLines(ctx, resp.Body, maxAnswerLine) {
		if err != nil {
			return fmt.Errorf("stream of orders: %w", err)
		}
		var l lineAnswer
		if err := json.Unmarshal(line, &l); err != nil {
			return fmt.Errorf("%w in the stream of orders: %w", ErrAnswer, err)
		}
		if p := l.Error; p != nil {
			p.Error.RetryAfter = retryAfter(p.RetryAfter)
			l.Err = &p.Error
		}
		if err := answer(l.Result); err != nil {
			return err
		}
	}
	return nil
}
