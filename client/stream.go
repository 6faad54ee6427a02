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

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Result is the result of one order in SubmitMany or SubmitAll.
type Result struct {
	Receipt        // of a refused order: its OrderID, if it has a readable one, and its Notes
	Line     int   // number of the line in SubmitMany or of the order in SubmitAll, from 1
	Accepted bool  // whether the order was started or Queued
	Err      error `json:"-"` // *Error of a refused order; nil if the order was accepted
}

// SubmitMany submits orders from a stream of JSON Lines. Each line has the form SubmitOrder of the OpenAPI
// document. SubmitMany skips blank lines. It calls the function each once per order, in the sequence of the
// lines. If an order is refused, its Result contains the reason, and SubmitMany continues.
//
// If the connection breaks, SubmitMany connects again and repeats the orders without an answer. It returns an
// error if a read of the lines fails, if ctx ends, or if the server stays unreachable. After an error, it is
// unknown whether an order without a Result is stored. The caller may submit all orders again, because a
// repeated order has no further effect. If ctx ends, SubmitMany does not wait for a blocked read.
func (c *Client) SubmitMany(ctx context.Context, lines io.Reader, each func(Result)) error {
	return c.submitMany(ctx, linesOf(lines), each)
}

// SubmitAll is SubmitMany for orders in memory instead of lines.
func (c *Client) SubmitAll(ctx context.Context, orders iter.Seq[Order], each func(Result)) error {
	return c.submitMany(ctx, func(yield func(sending, error) bool) {
		number := 0
		for o := range orders {
			number++
			text, err := rawjson.Marshal(o)
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

// readLine returns a line without its line end. If the line is longer than message.MaxSubmission, readLine
// returns only a part of the line. The part is also longer, so the server refuses the order.
func readLine(in *bufio.Reader) ([]byte, error) {
	var text []byte
	for {
		part, err := in.ReadSlice('\n')
		if len(text) <= message.MaxSubmission {
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
		err := c.patiently(ctx, func(ctx context.Context) (bool, error) {
			before := m.answered.Load()
			err := m.connect(ctx, c, each)
			over = err == nil
			return m.answered.Load() > before, err
		})
		if err != nil {
			return fmt.Errorf("submitting orders (%d answered): %w", m.answered.Load(), err)
		}
	}
	return m.err // the method read has finished, because connect returned nil
}

type lineAnswer struct {
	Result
	Error *problem `json:"error"`
}

const linesType = "application/x-ndjson"

// maxAnswerLine is the maximum length of the answer to one order, in bytes.
const maxAnswerLine = 1 << 20

// Stream sends the orders that come from the function next, until next returns false. It calls the function
// answer for each result. Sending and reading run concurrently. Stream may call next a last time after Stream
// has returned.
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
				return // the connection is broken
			}
		}
	}()
	resp, err := h.send(ctx, http.MethodPost, "/v1/orders", contentType(linesType), body)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	for line, err := range wholeLines(ctx, resp, linesType, maxAnswerLine) {
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
