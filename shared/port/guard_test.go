package port_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A panic becomes an error, a line of the log with its stack, and one more of the count. Errors pass.
func TestGuard(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	failed := errors.New("failed")
	before := port.Panics()
	if err := port.Guard(log, "the part", func() error { return failed }); !errors.Is(err, failed) ||
		text.Len() > 0 {
		t.Errorf("an error: %v, log %s", err, &text)
	}
	err := port.Guard(log, "the part", func() error { panic("boom") })
	if err == nil || err.Error() != "the part panicked: boom" || port.Panics() != before+1 {
		t.Errorf("a panic: %v, %d were counted", err, port.Panics()-before)
	}
	for _, want := range []string{"level=ERROR", "the part panicked", "panic=boom", "guard_test.go"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %s in %s", want, &text)
		}
	}
}

// A function that panics is called again until it returns, or until the context ends.
func TestAlways(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		quiet := slog.New(slog.DiscardHandler)
		calls := 0
		port.Always(t.Context(), quiet, "the part", func() {
			if calls++; calls < 4 {
				panic("boom")
			}
		})
		if calls != 4 {
			t.Errorf("%d calls, want 4", calls)
		}
		ctx, end := context.WithCancel(t.Context())
		calls = 0
		port.Always(ctx, quiet, "the part", func() {
			if calls++; calls == 2 {
				end()
			}
			panic("boom")
		})
		if calls != 2 {
			t.Errorf("%d calls, want 2", calls)
		}
	})
}
