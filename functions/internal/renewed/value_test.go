package renewed_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/internal/renewed"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A value is read when it is first asked for, within the time of the caller, and again when it is old. Where
// that fails what was read before stays, and it is tried again after ten seconds.
func TestValue(t *testing.T) {
	now := time.Now()
	got := 0
	stale := 0
	var fault error
	caller, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	v := &renewed.Value[*int]{
		Clock: port.ClockFunc(func() time.Time { return now }), Stale: func(error) { stale++ },
		Get: func(ctx context.Context) (*int, error) {
			if ends, bounded := ctx.Deadline(); !bounded || time.Until(ends) > time.Minute {
				t.Errorf("reading may last until %v", ends)
			}
			if fault != nil {
				return nil, fault
			}
			got++
			return &got, nil
		},
	}
	fault = errors.New("throttled")
	_, err := v.Read(caller, time.Hour)
	require.ErrorIs(t, err, fault)
	require.Zero(t, stale)
	for _, c := range []struct {
		after      time.Duration
		fault      error
		want, stay int
	}{
		{0, nil, 1, 0},
		{time.Hour - 1, nil, 1, 0},
		{1, nil, 2, 0},
		{time.Hour, fault, 2, 1},
		{10*time.Second - 1, nil, 2, 1},
		{1, nil, 3, 1},
		{time.Minute, nil, 3, 1},
	} {
		now = now.Add(c.after)
		fault = c.fault
		if w, err := v.Read(caller, time.Hour); w == nil || err != nil || got != c.want || stale != c.stay {
			t.Errorf("%+v: read %d times, %d times in vain, %v", c, got, stale, err)
		}
	}
}

// What cannot be read again, because its service does not answer, holds a reader up for two seconds at most,
// and no other one for ten.
func TestServiceThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		gets := 0
		v := &renewed.Value[int]{Clock: port.ClockFunc(time.Now), Get: func(ctx context.Context) (int, error) {
			if gets++; gets == 1 {
				return 1, nil
			}
			<-ctx.Done()
			return 0, ctx.Err()
		}}
		_, _ = v.Read(t.Context(), time.Minute)
		time.Sleep(time.Minute)
		for i, want := range []time.Duration{2 * time.Second, 0, 0} {
			began := time.Now()
			if got, err := v.Read(t.Context(), time.Minute); got != 1 || err != nil ||
				time.Since(began) != want {
				t.Errorf("reader %d: %d, %v, after %s", i, got, err, time.Since(began))
			}
		}
	})
}
