package port

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

var panics atomic.Int64

// Panics returns the number of panics that Guard and Always have caught in this process.
func Panics() int64 { return panics.Load() }

// Guard calls f. If f panics, Guard logs the panic with the stack, and returns an error. If log is nil, Guard
// uses the default logger.
//
// Every goroutine of the product runs in Guard or Always, because an unrecovered panic ends the process.
func Guard(log *slog.Logger, what string, f func() error) (err error) {
	defer func() {
		p := recover()
		if p == nil {
			return
		}
		panics.Add(1)
		if log == nil {
			log = slog.Default()
		}
		text := core.RedactText(fmt.Sprint(p))
		log.Error(what+" panicked; the process goes on", "panic", text, "stack", string(debug.Stack()))
		err = fmt.Errorf("%s panicked: %s", what, text)
	}()
	return f()
}

const alwaysPause = time.Second

// Always calls f. If f panics, Always calls f again after a pause. Always returns when f returns, or when ctx
// ends during a pause.
func Always(ctx context.Context, log *slog.Logger, what string, f func()) {
	for {
		err := Guard(log, what, func() error { f(); return nil })
		if err == nil || Sleep(ctx, alwaysPause) != nil {
			return
		}
	}
}
