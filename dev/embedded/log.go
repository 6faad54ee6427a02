package embedded

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// linesPerMinute is the number of warnings and errors of one kind that are logged in a minute.
const linesPerMinute = 10

// bounded is a log handler that limits the warnings and errors of each kind. The kind is the message without the
// attributes. Without the limit, a full disk would log a line for each message that returns to its queue.
type bounded struct {
	slog.Handler
	lines *lines
}

type lines struct {
	mu     sync.Mutex
	minute time.Time
	logged map[string]int // number of lines in this minute, by kind
}

// Bounded returns a handler that limits the warnings and errors of each kind. A handler that does so already stays.
func Bounded(h slog.Handler) slog.Handler {
	if own, is := h.(bounded); is {
		return own
	}
	return bounded{h, &lines{logged: map[string]int{}}}
}

// Handle implements slog.Handler.
func (b bounded) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn && !b.lines.room(&r) {
		return nil
	}
	return b.Handler.Handle(ctx, r)
}

// room counts a line, and reports whether it is logged. It marks the last line of its kind in a minute.
func (l *lines) room(r *slog.Record) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if minute := r.Time.Truncate(time.Minute); !minute.Equal(l.minute) {
		l.minute = minute
		clear(l.logged)
	}
	l.logged[r.Message]++
	if l.logged[r.Message] == linesPerMinute {
		r.AddAttrs(slog.String("limit", "no more lines of this kind in this minute"))
	}
	return l.logged[r.Message] <= linesPerMinute
}

// WithAttrs implements slog.Handler.
func (b bounded) WithAttrs(attrs []slog.Attr) slog.Handler {
	return bounded{b.Handler.WithAttrs(attrs), b.lines}
}

// WithGroup implements slog.Handler.
func (b bounded) WithGroup(name string) slog.Handler {
	return bounded{b.Handler.WithGroup(name), b.lines}
}
