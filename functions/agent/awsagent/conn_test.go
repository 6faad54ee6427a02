package awsagent_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// A kept connection can be broken, as after a freeze of the function. A call that cannot be repeated uses a new one,
// because nobody would know whether it had its effect.
func TestConnections(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*worker.Call)
		want   int
	}{
		"idempotent":         {func(c *worker.Call) { c.Grade = core.Idempotent }, 1},
		"plain":              {func(c *worker.Call) { c.Grade = core.Plain }, 2},
		"point of no return": {func(c *worker.Call) { c.PointOfNoReturn = true }, 2},
	} {
		t.Run(name, func(t *testing.T) {
			var mu sync.Mutex
			from := map[string]bool{}
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				mu.Lock()
				defer mu.Unlock()
				from[r.RemoteAddr] = true
				_, _ = io.WriteString(w, "{}")
			}))
			t.Cleanup(srv.Close)
			cfg := awsstub.ConfigAt(t, srv.URL)
			for range 2 {
				_, f := run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"), call(c.change))
				require.Nil(t, f)
			}
			require.Len(t, from, c.want)
		})
	}
}
