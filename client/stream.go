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

type lineAnswer struct {
	Result
	Error *problem `json:"error"`
}

const linesType = "application/x-ndjson"

// maxAnswerLine is the maximum length of the answer to one order, in bytes.
const maxAnswerLine = 1 << 20

// Batches returns the limits of SubmitBatch. A server takes the orders of a batch concurrently, but those with the
// same ID one after another. So one batch at a time is submitted.
func (h *overHTTP) Batches() (orders, atOnce int) { return 1024, 1 }

// SubmitBatch sends the orders as one stream, and reads the stream of results.
func (h *overHTTP) SubmitBatch(ctx context.Context, orders [][]byte) (results []Result, err error) {
	body := append(bytes.Join(orders, []byte("\n")), '\n')
	resp, err := h.send(ctx, http.MethodPost, "/v1/orders", contentType(linesType), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	for line, err := range wholeLines(ctx, resp, linesType, maxAnswerLine) {
		if err != nil {
			return results, fmt.Errorf("stream of orders: %w", err)
		}
		var l lineAnswer
		if err := json.Unmarshal(line, &l); err != nil {
			return results, fmt.Errorf("%w in the stream of orders: %w", ErrAnswer, err)
		}
		if len(results) == len(orders) {
			return results, fmt.Errorf("%w: more answers than orders", ErrAnswer)
		}
		if p := l.Error; p != nil {
			p.Error.RetryAfter = retryAfter(p.RetryAfter)
			l.Err = &p.Error
		}
		results = append(results, l.Result)
	}
	if len(results) < len(orders) {
		err = fmt.Errorf("%w: the stream ended before all orders were answered", ErrConnection)
	}
	return results, err
}
