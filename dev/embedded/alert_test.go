package embedded_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
)

// alertLines are those of a log as they are written.
type alertLines struct {
	mu    sync.Mutex
	alert chan []byte
}

func (l *alertLines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if bytes.Contains(line, []byte("ALERT")) {
		select {
		case l.alert <- bytes.Clone(line):
		default:
		}
	}
	return len(line), nil
}

// An order that stops is told by the log with all that is known of it, and with the commands that it
// accepts, for this very server.
func TestAlertIsLogged(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.Replace(fmt.Sprintf(pair, "5s"), "second, after: [first], timeout: 5s, onFailure: undo", "second, after: [first], timeout: 5s, onFailure: stop", 1))
	w.shop.refuse.Store(true)
	log := &alertLines{alert: make(chan []byte, 1)}
	ready := make(chan string, 1)
	w.options.Log, w.options.Listen = slog.New(slog.NewJSONHandler(log, nil)), "127.0.0.1:0"
	w.options.Ready = func(s embedded.Started) { ready <- s.Address }
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- embedded.Run(ctx, w.options) }()
	defer func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}()
	server := <-ready
	answer, err := http.Post(server+"/v1/orders", "application/json", strings.NewReader(`{"schema":1,"orderId":"o-1","workflow":"pair","order":{"n":1}}`))
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	var line []byte
	select {
	case line = <-log.alert:
	case <-time.After(patience):
		t.Fatal("no alert")
	}
	var got map[string]any
	if err := json.Unmarshal(line, &got); err != nil {
		t.Fatal(err)
	}
	if since, _ := got["since"].(string); !regexp.MustCompile(`^20\d\d-.*Z$`).MatchString(since) {
		t.Errorf("since %q", since)
	}
	delete(got, "time")
	delete(got, "since")
	want := map[string]any{
		"level": "ERROR", "msg": "ALERT: a task needs the operator", "task": "o-1", "workflow": "pair", "phase": "forward", "step": "second",
		"attempts": "1", "key": "o-1/0/second", "code": "failed", "reason": "no such thing", "run": "0",
		"commands": []any{"stepkeeper --server " + server + " show o-1", "stepkeeper --server " + server + " resubmit o-1", "stepkeeper --server " + server + " undo o-1"},
	}
	if a, b := fmt.Sprint(got), fmt.Sprint(want); a != b {
		t.Errorf("logged\n%s\nwant\n%s", a, b)
	}
}
