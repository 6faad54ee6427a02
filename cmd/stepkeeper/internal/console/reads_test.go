package console_test

import (
	"context"
	"io"
	"net/http"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// listedServer counts the listings of a server.
type listedServer struct {
	*apitest.Backend
	listings atomic.Int64
}

func (l *listedServer) List(ctx context.Context, q port.Query) ([]view.Summary, string, error) {
	l.listings.Add(1)
	return l.Backend.List(ctx, q)
}

// listedStack counts the listings of a stack.
type listedStack struct {
	*memory.Store
	listings atomic.Int64
}

func (l *listedStack) List(ctx context.Context, q port.Query) (port.Page, error) {
	l.listings.Add(1)
	return l.Store.List(ctx, q)
}

// watched opens the overview of a deployment, and reads its stream for a time.
func watched(t *testing.T, c *client.Client, open time.Duration) {
	t.Helper()
	h := pagesOf(c)
	shown(t, h, "/", http.StatusOK)
	ctx, stop := context.WithTimeout(t.Context(), open)
	defer stop()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://127.0.0.1/live/", nil)
	require.NoError(t, err)
	answer, err := stacktest.Transport(t, h).RoundTrip(r)
	require.NoError(t, err)
	defer func() { _ = answer.Body.Close() }()
	_, err = io.Copy(io.Discard, answer.Body)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	synctest.Wait()
}

// The overview has three listings. A page reads a server when something has changed, at most once a second,
// and each 15 seconds, and it reads a stack each 5 seconds. Nobody reads for a page that is not open.
func TestListingsOfAnOpenOverview(t *testing.T) {
	const page = 3
	const open = 20*time.Second - time.Millisecond
	server := func(t *testing.T, change time.Duration) int64 {
		backend := &listedServer{Backend: apitest.New()}
		backend.Submit(t.Context(), []message.SubmitOrder{{OrderID: "o", Workflow: "order"}})
		c := clientOf(t, api.New(api.Config{Backend: backend}))
		go func() {
			for port.Sleep(t.Context(), change) == nil {
				backend.Change("o", func(*protocol.Task) {})
			}
		}()
		watched(t, c, open)
		counted := backend.listings.Load()
		time.Sleep(time.Minute)
		require.Equal(t, counted, backend.listings.Load(), "listings after the page was closed")
		return counted
	}
	stack := func(t *testing.T) int64 {
		store := &listedStack{Store: memory.NewStore(1)}
		watched(t, aws.Over(aws.Parts{Tasks: store, Definitions: memory.NewDefinitions()}), open)
		counted := store.listings.Load()
		time.Sleep(time.Minute)
		require.Equal(t, counted, store.listings.Load(), "listings after the page was closed")
		return counted
	}
	for name, c := range map[string]struct {
		listings func(t *testing.T) int64
		want     int64
	}{
		"server without changes":              {func(t *testing.T) int64 { return server(t, time.Hour) }, 3 * page},
		"server with a change each 7 s":       {func(t *testing.T) int64 { return server(t, 7*time.Second) }, 4 * page},
		"server with 100 changes each second": {func(t *testing.T) int64 { return server(t, 10*time.Millisecond) }, 21 * page},
		"stack":                               {stack, 5 * page},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { require.Equal(t, c.want, c.listings(t)) })
		})
	}
}
