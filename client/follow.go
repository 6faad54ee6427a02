package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Follow answers each new version of a task, the present one first, until the order has ended or
// the loop is left. Versions that follow each other quickly may be left out, the last one never.
// A broken connection is taken up again. An error is the last element.
func (c *Client) Follow(ctx context.Context, id string) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		var seen int64
		for over := false; !over; {
			_, err := again(ctx, c, func(ctx context.Context) (struct{}, error) {
				var err error
				seen, over, err = c.followOnce(ctx, id, seen, yield)
				return struct{}{}, err
			})
			if err != nil {
				yield(nil, err)
				return
			}
		}
	}
}

// followOnce follows over one connection. It fails only if that brought nothing.
func (c *Client) followOnce(ctx context.Context, id string, after int64, yield func(*Task, error) bool) (seen int64, over bool, err error) {
	started := time.Now()
	seen = after
	for t, err := range c.via.Follow(ctx, id, after) {
		switch {
		case err == nil:
			seen = t.Version
			if !yield(t, nil) || t.Ended {
				return seen, true, nil
			}
		case repeatable(err) && (seen > after || brokenUse(started, err)):
			return seen, false, nil
		default:
			return seen, false, err
		}
	}
	return seen, false, nil
}

// maxEvent is the longest line of a stream of events, in bytes.
const maxEvent = 4 << 20

func (h *overHTTP) Follow(ctx context.Context, id string, after int64) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		resp, err := h.send(ctx, http.MethodGet, path(id, "/events?after="+strconv.FormatInt(after, 10)), "", nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, maxEvent)
		for in.Scan() {
			data, ok := strings.CutPrefix(in.Text(), "data: ")
			if !ok {
				continue
			}
			t := new(Task)
			if err := json.Unmarshal([]byte(data), t); err != nil {
				yield(nil, fmt.Errorf("%w in the stream of order %q: %w", ErrAnswer, id, err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		err = in.Err()
		if err == nil {
			err = io.ErrUnexpectedEOF
		}
		if errors.Is(err, bufio.ErrTooLong) {
			yield(nil, fmt.Errorf("%w in the stream of order %q: %w", ErrAnswer, id, err))
			return
		}
		yield(nil, broken(ctx, err))
	}
}
