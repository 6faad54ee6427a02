package client_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// midLine cuts off each of the first responses after a number of bytes. Later responses arrive whole. A cut
// response ends with the error of net/http for a connection that is lost within a chunk. For a negative
// number it ends like a response of unknown length.
type midLine struct {
	http.RoundTripper
	after []int
	cuts  int
}

func (m *midLine) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := m.RoundTripper.RoundTrip(req)
	if err == nil && m.cuts < len(m.after) {
		n := m.after[m.cuts]
		end := io.ErrUnexpectedEOF
		if n < 0 {
			n = -n
			end = io.EOF
		}
		resp.Body = &cutBody{io.LimitReader(resp.Body, int64(n)), resp.Body, end}
		m.cuts++
	}
	return resp, err
}

type cutBody struct {
	io.Reader
	io.Closer
	end error
}

func (c *cutBody) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	if err == io.EOF {
		err = c.end
	}
	return n, err
}

func cutting(after ...int) (*midLine, client.Option) {
	m := &midLine{RoundTripper: http.DefaultTransport, after: after}
	return m, client.WithHTTPClient(&http.Client{Transport: m})
}

// A call continues after a connection that is lost in the middle of a response line, as after any other loss.
func TestSubmitManyContinuesAfterACutLine(t *testing.T) {
	const n = 40
	cut, option := cutting(1, 150, -30, -120)
	r := newRig(t, option)
	seen := 0
	err := r.client.SubmitMany(r.ctx, strings.NewReader(lines(n)), func(got client.Result) {
		require.Equal(t, seen+1, got.Line)
		require.Equal(t, fmt.Sprintf("o-%d", seen), got.OrderID)
		require.True(t, got.Accepted, "answer %d: %+v", seen, got)
		require.NoError(t, got.Err)
		seen++
	})
	require.NoError(t, err)
	require.Equal(t, n, seen)
	require.Equal(t, 4, cut.cuts)
}

func TestFollowContinuesAfterACutLine(t *testing.T) {
	cut, option := cutting(100, -100)
	r := newRig(t, option)
	_, err := over(t, r).Submit(r.ctx, order("o"))
	require.NoError(t, err)
	r.backend.End("o")
	var states []core.State
	for x, err := range r.client.Follow(r.ctx, "o") {
		require.NoError(t, err)
		states = append(states, x.State)
	}
	require.Equal(t, []core.State{core.Processed}, states)
	require.Equal(t, 2, cut.cuts)
}

// over returns a client of the same server that gets whole responses.
func over(t *testing.T, r *rig) *client.Client {
	t.Helper()
	c, err := client.New(r.url)
	require.NoError(t, err)
	return c
}
