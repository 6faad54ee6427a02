package wiring_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/bootstrap/wiring"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
)

// Secrets are read with the first batch, within its time, and again when they are old.
func TestSecretsGrowOld(t *testing.T) {
	now := time.Now()
	made := 0
	var fault error
	batch, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	l := &wiring.Lazy{Renew: true, Now: func() time.Time { return now }, Log: slog.New(slog.DiscardHandler),
		Make: func(ctx context.Context) (*worker.Worker, error) {
			if ends, bounded := ctx.Deadline(); !bounded || time.Until(ends) > time.Minute {
				t.Errorf("reading the secrets may last until %v", ends)
			}
			if fault != nil {
				return nil, fault
			}
			made++
			return &worker.Worker{}, nil
		}}
	fault = errors.New("throttled")
	if _, err := l.Worker(batch); !errors.Is(err, fault) {
		t.Errorf("nothing could be made: %v", err)
	}
	fault = nil
	for _, c := range []struct {
		after time.Duration
		fault error
		want  int
	}{{0, nil, 1}, {time.Minute, nil, 1}, {20 * time.Minute, nil, 2}, {20 * time.Minute, errors.New("throttled"), 2}, {0, nil, 3}} {
		now, fault = now.Add(c.after), c.fault
		if w, err := l.Worker(batch); w == nil || err != nil || made != c.want {
			t.Errorf("%+v: made %d times, %v", c, made, err)
		}
	}
}
