package port_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A panic becomes an error, a line of the log with its stack, and one more of the count. Errors pass.
func TestGuard(t *testing.T) {
	var text bytes.Buffer
	log := slog.New(slog.NewTextHandler(&text, nil))
	failed := errors.New("failed")
	before := port.Panics()
	require.ErrorIs(t, port.Guard(log, "the part", func() error { return failed }), failed)
	require.Zero(t, text.Len())
	err := port.Guard(log, "the part", func() error { panic("boom") })
	require.Error(t, err)
	require.Equal(t, "the part panicked: boom", err.Error())
	require.Equal(t, before+1, port.Panics())
	for _, want := range []string{"level=ERROR", "the part panicked", "panic=boom", "guard_test.go"} {
		require.Contains(t, text.String(), want)
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
		require.Equal(t, 4, calls)
		ctx, end := context.WithCancel(t.Context())
		calls = 0
		port.Always(ctx, quiet, "the part", func() {
			if calls++; calls == 2 {
				end()
			}
			panic("boom")
		})
		require.Equal(t, 2, calls)
	})
}
