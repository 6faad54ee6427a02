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
	"math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Follow yields the present version of a task and then each new version, until the order ends. It may skip
// versions that follow each other quickly, but never the last version. If the connection breaks, it connects
// again. After an error it yields nothing more.
func (c *Client) Follow(ctx context.Context, id string) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		var seen int64
		for over := false; !over; {
			err := c.patiently(ctx, func(ctx context.Context) (bool, error) {
				before := seen
				for t, err := range c.via.Follow(ctx, id, seen) {
					if err != nil {
						return seen > before, err
					}
					seen = t.Version
					over = !yield(t, nil) || t.Ended
					if over {
						return true, nil
					}
				}
				return seen > before, nil
			})
			if err != nil && !over { // the caller may have ended ctx with its last look
				yield(nil, err)
				return
			}
		}
	}
}

// Changes yields nil when a page about the order, or about all orders if id is "", should be read again. The
// first nil comes at once. For a server, the next come after changes, at most one each second, and each 15
// seconds. For a stack, one comes each 5 seconds. If the connection breaks, Changes yields the error, connects
// again with growing pauses, and yields nil. It ends only when ctx ends or the caller stops.
func (c *Client) Changes(ctx context.Context, id string) iter.Seq[error] {
	return func(yield func(error) bool) {
		pause := firstPause
		for ctx.Err() == nil {
			for err := range c.via.Changes(ctx, id) {
				if ctx.Err() != nil || !yield(err) {
					return
				}
				if err == nil {
					pause = firstPause
				}
			}
			if port.Sleep(ctx, pause+rand.N(pause)) != nil { //nolint:gosec // the jitter is no secret
				return
			}
			pause = min(2*pause, longestPause)
		}
	}
}

// silence is how long a stream of changes may be silent before it counts as broken.
const silence = 45 * time.Second

func (h *overHTTP) Changes(ctx context.Context, id string) iter.Seq[error] {
	return func(yield func(error) bool) {
		reading, cancel := context.WithCancel(ctx)
		defer cancel()
		silent := time.AfterFunc(silence, cancel)
		defer silent.Stop()
		resp, err := h.send(reading, http.MethodGet, "/v1/changes?order="+url.QueryEscape(id), nil, nil)
		if err != nil {
			yield(err)
			return
		}
		defer resp.Body.Close()
		for line, err := range wholeLines(ctx, resp, eventsType, maxEvent) {
			silent.Reset(silence)
			if err == nil && string(line) != "event: changed" {
				continue
			}
			if !yield(err) || err != nil {
				return
			}
		}
		yield(broken(ctx, io.ErrUnexpectedEOF)) // the server ends the stream only if its process ends
	}
}

const eventsType = "text/event-stream"

// maxEvent is the maximum length of a line in a stream of events, in bytes.
const maxEvent = 4 << 20

func (h *overHTTP) Follow(ctx context.Context, id string, after int64) iter.Seq2[*Task, error] {
	return func(yield func(*Task, error) bool) {
		resp, err := h.send(ctx, http.MethodGet, path(id, "/events?after="+strconv.FormatInt(after, 10)), nil,
			nil)
		if err != nil {
			yield(nil, err)
			return
		}
		defer resp.Body.Close()
		for line, err := range wholeLines(ctx, resp, eventsType, maxEvent) {
			data, ok := bytes.CutPrefix(line, []byte("data: "))
			if err == nil && !ok {
				continue
			}
			t := new(Task)
			if err == nil {
				err = json.Unmarshal(data, t)
				if err != nil {
					err = fmt.Errorf("%w: %w", ErrAnswer, err)
				}
			}
			if err != nil {
				yield(nil, fmt.Errorf("stream of order %q: %w", id, err))
				return
			}
			if !yield(t, nil) {
				return
			}
		}
		yield(nil, broken(ctx, io.ErrUnexpectedEOF)) // the server ends the stream only if its process ends
	}
}

// wholeLines yields the lines of a stream without their line ends. It omits a last line without a line end,
// because the line may be incomplete. A yielded line is valid until the next iteration. After an error,
// wholeLines yields nothing more. A response of another media type does not come from a Stepkeeper server: its
// missing lines are no broken connection.
func wholeLines(ctx context.Context, resp *http.Response, media string, longest int) iter.Seq2[[]byte, error] {
	return func(yield func([]byte, error) bool) {
		got := resp.Header.Get("Content-Type")
		if !strings.HasPrefix(got, media) {
			yield(nil, fmt.Errorf("%w: its Content-Type is %q instead of %s", ErrAnswer, got, media))
			return
		}
		in := bufio.NewScanner(resp.Body)
		in.Buffer(nil, longest)
		in.Split(func(data []byte, _ bool) (int, []byte, error) { return bufio.ScanLines(data, false) })
		for in.Scan() {
			if !yield(in.Bytes(), nil) {
				return
			}
		}
		switch err := in.Err(); {
		case errors.Is(err, bufio.ErrTooLong):
			yield(nil, fmt.Errorf("%w: a line is longer than %d bytes", ErrAnswer, longest))
		case err != nil:
			yield(nil, broken(ctx, err))
		}
	}
}
