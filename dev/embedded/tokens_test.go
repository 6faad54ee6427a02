package embedded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// linking sends tokens with its ask: for ann, and for each who has one.
const linking = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  approve:
    ask:
      agent: shop
      operation: ask
      input: {ann: '${ token("approve", "ann") }', either: '${ token("check") }'}
      timeout: 60s
    approval: {question: '${ "Pay <" + string(order.n) + ">?" }', show: {purpose: a train}, answers: ["yes", "no"], who: [ann, bob], timeout: 1h, onTimeout: undo}
  check:
    approval: {question: Right?, answers: ["yes", "no"], timeout: 1h, onTimeout: undo}
    after: [approve]
`

type tokens struct{ Ann, Either string }

// asked is a shop that keeps what it was sent.
func (w *fixture) asked() chan tokens {
	sent := make(chan tokens, 10)
	w.options.Operations = map[string]worker.Operations{
		"shop": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
			var in tokens
			err := json.Unmarshal(c.Input, &in)
			sent <- in
			return nil, err
		}}},
	}
	return sent
}

type site struct {
	t *testing.T
	*httptest.Server
}

func serveSite(t *testing.T, s *embedded.Runtime) site {
	server := httptest.NewServer(api.New(api.Config{Backend: s}))
	t.Cleanup(server.Close)
	return site{t, server}
}

func (s site) post(path, target, body string) (int, string) {
	s.t.Helper()
	if target == "" {
		return post(s.t, s.URL+path, "application/json", "", body)
	}
	return post(s.t, s.URL+path, "application/x-amz-json-1.0", target, body)
}

func untilStep(t *testing.T, s *embedded.Runtime, id, step string, state core.State) *protocol.Task {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	task, err := s.Wait(ctx, id, func(x *protocol.Task) bool { return x.Step(step).State == state })
	require.NoError(t, err)
	return task
}

// A file of keys that cannot be read is named, with what to do; then the folder is free again.
func TestKeysThatCannotBeRead(t *testing.T) {
	w := newFixture(t, "60s")
	closeRuntime(t, w.open())
	name := filepath.Join(w.options.Data, token.FileName)
	require.NoError(t, os.WriteFile(name, []byte("{"), 0o600))
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, name+": ")
	require.NoError(t, os.Remove(name))
	closeRuntime(t, w.open())
}

// Keys that others may use are refused only while a workflow makes tokens: at the start, and when its file
// comes later.
func TestKeysThatOthersMayUse(t *testing.T) {
	w := newFixture(t, "60s")
	closeRuntime(t, w.open())
	chmod := func(mode os.FileMode) {
		require.NoError(t, os.Chmod(filepath.Join(w.options.Data, token.FileName), mode))
	}
	chmod(0o644)
	r := w.open()
	w.write(linking)
	eventually(t, "the new file is refused", func() bool {
		all := r.Workflows(t.Context())
		return len(all) == 1 && strings.Contains(strings.Join(all[0].Problems, ""), "run chmod 600 on it")
	})
	closeRuntime(t, r)
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, "run chmod 600 on it")
	chmod(0o660) // Kubernetes sets these modes with fsGroup
	closeRuntime(t, w.open())
}

// P39, P12: an order keeps the key that it began with, so that what is sent again is the same; the key is in
// a file of the data folder and its tokens work after it was replaced.
func TestAnOrderKeepsItsKey(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(linking)
	sent := w.asked()
	work := w.options.Operations["shop"][worker.AnyOperation].Run
	down := make(chan struct{})
	w.options.Operations["shop"] = worker.Operations{
		worker.AnyOperation: {Run: func(ctx context.Context, c worker.Call) (any, error) {
			_, err := work(ctx, c)
			select {
			case <-down:
				return nil, err
			case <-ctx.Done(): // it ends with the process
				return nil, ctx.Err()
			}
		}},
	}
	s := w.open()
	submit(t, s, "o", "")
	first := <-sent
	closeRuntime(t, s)
	info, err := os.Stat(filepath.Join(w.options.Data, token.FileName))
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode().Perm())
	for len(sent) > 0 {
		<-sent
	}
	close(down)
	w.options.NewTokenKey = true
	s = w.open()
	defer closeRuntime(t, s)
	select {
	case again := <-sent:
		require.Equal(t, first, again)
	case <-time.After(patience):
		t.Fatal("nothing was sent again")
	}
	submit(t, s, "p", "")
	require.NotEqual(t, first.Ann[:8], (<-sent).Ann[:8])
	untilStep(t, s, "o", "approve", core.Waiting)
	code, _ := post(t, serveSite(t, s).URL+"/answer/o/"+first.Ann, "application/x-www-form-urlencoded", "",
		"round=1&value=yes")
	require.Equal(t, 200, code)
}

// repeating is linking with a call that has tokens, and an output that shows what it said.
var repeating = strings.Replace(linking, "clockSkew: 10ms}", "clockSkew: 10ms}\n  plain: {queueAllowance: 60s, clockSkew: 10ms}", 1) + `  echo:
    agent: plain
    operation: echo
    grade: plain
    input: {ann: '${ token("check", "ann") }', link: '${ "https://example.org/answer/" + orderId + "/" + token("check") }'}
    after: [check]
    timeout: 60s
    onFailure: stop
    undo: none
    retry: {maxFailures: 1, backoff: {initial: 20ms, max: 100ms}}
output: {asked: "${ steps.echo.output }"}
`

// repeater is a service that says what it was sent, as its output or, of orders called failing, as its
// failure.
type repeater struct {
	mu   sync.Mutex
	sent []string // the last part of each token
}

func (r *repeater) run(_ context.Context, c worker.Call) (any, error) {
	var in map[string]string
	if err := json.Unmarshal(c.Input, &in); err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, text := range in {
		r.sent = append(r.sent, text[strings.LastIndexByte(text, '.')+1:])
	}
	text := string(c.Input)
	if c.OrderID == "failing" && c.Name == "echo" {
		return nil, worker.Permanent(
			worker.WithCode(errors.New("cannot handle "+text+" or "+url.QueryEscape(text)), "bad "+in["ann"]))
	}
	return map[string]any{"seen": in, "raw": text, "url": url.QueryEscape(text)}, nil
}

func (r *repeater) token() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return "00000000.MC9hcHByb3ZlL2Fubg." + r.sent[0]
}

// P39: a service that repeats its input, and people who put a token into their words, get it neither into the
// store nor into what is shown or logged: as output, as failure, as reason, as value, as name, as code.
func TestARepeatedTokenIsNotKept(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(repeating)
	r := &repeater{}
	service := worker.Operations{worker.AnyOperation: {Run: r.run}}
	w.options.Operations = map[string]worker.Operations{"shop": service, "plain": service}
	var log bytes.Buffer
	w.options.Log = slog.New(slog.NewJSONHandler(&log, nil))
	s := w.open()
	c, err := client.New(serveSite(t, s).URL)
	require.NoError(t, err)
	var kept []string
	for _, id := range []string{"o", "failing"} {
		submit(t, s, id, "")
		untilStep(t, s, id, "approve", core.Waiting)
		token := r.token()
		kept = append(kept, reasonOf(t, c, id, client.Reply{
			Step: "approve", Value: "yes", By: "bob",
			Reason: "as " + token + " says",
		}))
		untilStep(t, s, id, "check", core.Waiting)
		kept = append(kept, reasonOf(t, c, id, client.Reply{Step: "check", Value: token, By: "bob"}),
			reasonOf(t, c, id, client.Reply{Step: "check", Value: "yes", By: token, Reason: token}))
		if wait(t, s, id).ProcessState == core.Error {
			_, err := c.Close(t.Context(), id, "eve "+token, token)
			require.NoError(t, err)
		}
		task, _, err := s.Task(t.Context(), id)
		stored, _ := json.Marshal(task)
		shown, getErr := c.Get(t.Context(), id)
		document, _ := json.Marshal(shown)
		require.NoError(t, err)
		require.NoError(t, getErr)
		require.Contains(t, string(document), "(token)")
		kept = append(kept, string(stored), string(document))
	}
	closeRuntime(t, s)
	for _, text := range append(kept, log.String(), filesOf(t, w.options.Data)) {
		for _, mac := range r.sent {
			require.Negative(t, strings.Index(text, mac), "a token is kept")
		}
	}
}

func reasonOf(t *testing.T, c *client.Client, id string, r client.Reply) string {
	t.Helper()
	v, err := c.Answer(t.Context(), id, r)
	require.NoError(t, err)
	return v.Reason
}

// filesOf is what stands in the database of a data folder.
func filesOf(t *testing.T, folder string) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*.db*"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	var all strings.Builder
	for _, name := range files {
		data, err := os.ReadFile(name)
		require.NoError(t, err)
		all.Write(data)
	}
	return all.String()
}
