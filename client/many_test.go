package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func lines(n int) string {
	var b strings.Builder
	for i := range n {
		text, _ := json.Marshal(order(fmt.Sprintf("o-%d", i)))
		b.Write(append(text, '\n'))
	}
	return b.String()
}

// Each order is reported once and in order, however often the connection breaks.
func TestSubmitManyReportsEachOrderOnceOverBrokenConnections(t *testing.T) {
	const n = 3000
	r := newRig(t)
	r.cut.left.Store(2000)
	// the server counts, because it replies faster than the client would count
	r.cut.then.Store(80_000)
	seen := 0
	err := r.client.SubmitMany(r.ctx, strings.NewReader(lines(n)), func(got client.Result) {
		require.NoError(t, got.Err)
		require.True(t, got.Accepted)
		require.Equal(t, seen+1, got.Line)
		require.Equal(t, fmt.Sprintf("o-%d", seen), got.OrderID)
		seen++
	})
	require.NoError(t, err)
	require.Equal(t, n, seen)
	require.GreaterOrEqual(t, r.cut.cuts.Load(), int64(3))
}

func TestSubmitManyReportsBadLines(t *testing.T) {
	r := newRig(t)
	in := "\n" + lines(1) + "nonsense\n" + strings.Repeat("x", 2*message.MaxSubmission) + "\n\n" +
		strings.TrimSpace(lines(1))
	in += "\n" + strings.Replace(lines(1), "12", "13", 1)
	want := []struct {
		line int
		code string
		kind error
	}{
		{2, "", nil},
		{3, "not-json", client.ErrInvalid},
		{4, "too-large", client.ErrInvalid},
		{6, "", nil},
		{7, "other-content", client.ErrRefused},
	}
	var got []client.Result
	require.NoError(t, r.client.SubmitMany(r.ctx, strings.NewReader(in),
		func(x client.Result) { got = append(got, x) }))
	require.Len(t, got, len(want))
	for i, w := range want {
		var e *client.Error
		code := ""
		if errors.As(got[i].Err, &e) {
			code = e.Code
		}
		require.Equal(t, w.line, got[i].Line)
		require.Equal(t, w.code, code)
		require.ErrorIs(t, got[i].Err, w.kind)
		require.Equal(t, w.code == "", got[i].Accepted)
	}
	require.True(t, got[3].Known, "the order that was there")
}

func TestSubmitManyRepeatsOrdersOfAFullServer(t *testing.T) {
	r := newRig(t)
	r.backend.Fail(3, fmt.Errorf("disk full: %w", port.ErrUnavailable))
	accepted := 0
	err := r.client.SubmitMany(r.ctx, strings.NewReader(lines(3)), func(x client.Result) {
		if x.Accepted && x.Err == nil {
			accepted++
		}
	})
	require.NoError(t, err)
	require.Equal(t, 3, accepted)
}

func TestSubmitManyEndsWithItsReaderOrContext(t *testing.T) {
	r := newRig(t)
	require.NoError(t, r.client.SubmitMany(r.ctx, strings.NewReader(""),
		func(client.Result) { t.Error("an answer to nothing") }))
	broken := io.MultiReader(strings.NewReader(lines(2)), iotest.ErrReader(errors.New("tape torn")))
	n := 0
	err := r.client.SubmitMany(r.ctx, broken, func(client.Result) { n++ })
	require.Equal(t, 2, n)
	require.ErrorContains(t, err, "tape torn")
	ctx, cancel := context.WithCancel(r.ctx)
	endless, feed := io.Pipe()
	go io.WriteString(feed, lines(1))
	err = r.client.SubmitMany(ctx, endless, func(client.Result) { cancel() })
	require.ErrorIs(t, err, context.Canceled, "after the end of its context")
	feed.Close()
}

// unreachable takes longer to fail than a connection has to last to be taken up again with all attempts.
type unreachable struct{}

func (unreachable) RoundTrip(r *http.Request) (*http.Response, error) {
	time.Sleep(6 * time.Second)
	return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("i/o timeout")}
}

// If the server is never reachable, each call ends after the time of WithRetry, however slowly each attempt
// fails.
func TestCallsEndIfTheServerIsUnreachable(t *testing.T) {
	for name, call := range map[string]func(context.Context, *client.Client) error{
		"SubmitMany": func(ctx context.Context, c *client.Client) error {
			return c.SubmitMany(ctx, strings.NewReader(lines(1)), func(client.Result) {})
		},
		"Wait": func(ctx context.Context, c *client.Client) error {
			_, err := c.Wait(ctx, "o-0")
			return err
		},
		"Run": func(ctx context.Context, c *client.Client) error {
			_, err := c.Run(ctx, order("o-0"))
			return err
		},
		"Follow": func(ctx context.Context, c *client.Client) (last error) {
			for _, err := range c.Follow(ctx, "o-0") {
				last = err
			}
			return last
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				option := client.WithHTTPClient(&http.Client{Transport: unreachable{}})
				c, err := client.New("http://127.0.0.1:1", option, client.WithRetry(100, time.Minute))
				require.NoError(t, err)
				began := time.Now()
				err = call(ctx, c)
				require.ErrorIs(t, err, client.ErrConnection)
				require.LessOrEqual(t, time.Since(began), 2*time.Minute)
			})
		})
	}
}
