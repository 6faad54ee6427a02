package soak_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Times of faults.
const (
	quietPatience = 10 * time.Second // wait until running calls at a service end
	// settleTime is longer than any call, so that the calls of a frozen process, or of one whose clock
	// jumped, have ended.
	settleTime   = 1200 * time.Millisecond
	fullPatience = 20 * time.Second // wait until the engine notices a full disk
)

// injector executes a plan.
type injector struct {
	*site
	say func(format string, args ...any)

	counts map[string]int
	// orders that were cancelled before any process knew them, to detect a full disk
	probes []string
}

// run executes the faults of the plan one after the other, and ends with the last.
func (t *injector) run(ctx context.Context, all []processFault) error {
	began := time.Now()
	for _, h := range all {
		if err := port.Sleep(ctx, time.Until(began.Add(h.At))); err != nil {
			return err
		}
		t.AtWork()
		h.At = time.Since(began).Round(100 * time.Millisecond)
		t.say("%s", h)
		if err := h.run(t, ctx, h); err != nil {
			return fmt.Errorf("%s: %w", h.what, err)
		}
		t.counts[h.what]++
	}
	return nil
}

// killEngine kills the engine and starts it again.
func (t *injector) killEngine(ctx context.Context, _ processFault) error {
	if err := t.Kill(); err != nil {
		return err
	}
	t.front.CloseClientConnections()
	_, err := t.Start(ctx)
	return err
}

func (t *injector) killAgent(ctx context.Context, h processFault) error {
	if err := t.agents[h.Who].Kill(); err != nil {
		return err
	}
	_, err := t.agents[h.Who].Start(ctx)
	return err
}

func (t *injector) cutEngine(context.Context, processFault) error {
	t.front.CloseClientConnections()
	return nil
}

func (t *injector) freezeEngine(ctx context.Context, h processFault) error {
	return t.freeze(ctx, t.Engine, h.For)
}

func (t *injector) freeze(ctx context.Context, p *process.Process, d time.Duration) error {
	if err := freeze(p); err != nil {
		return err
	}
	return errors.Join(port.Sleep(ctx, d), thaw(p))
}

// freezeAgent freezes an agent. When the agent continues, it may send a call that it had prepared. A service
// without a fence gives no guarantee about such a late call, so such a service is out of order meanwhile.
func (t *injector) freezeAgent(ctx context.Context, h processFault) error {
	p := t.agents[h.Who]
	if h.Who == services.Inventory {
		return t.freeze(ctx, p, h.For)
	}
	if err := freeze(p); err != nil {
		return err
	}
	err := port.Sleep(ctx, h.For)
	return errors.Join(err, t.quietly(ctx, []string{h.Who},
		func() error { return errors.Join(thaw(p), port.Sleep(ctx, settleTime)) }))
}

// quietly waits until no call runs at these services, and calls do while they take no new call.
func (t *injector) quietly(ctx context.Context, names []string, do func() error) error {
	for _, name := range names {
		t.Fleet.BeginOutage(name)
	}
	defer func() {
		for _, name := range names {
			t.Fleet.EndOutage(name)
		}
	}()
	for _, name := range names {
		for end := time.Now().Add(quietPatience); t.Fleet.Busy(name) > 0; {
			if time.Now().After(end) {
				return fmt.Errorf("calls of %s do not end", name)
			}
			if err := port.Sleep(ctx, 5*time.Millisecond); err != nil {
				return err
			}
		}
	}
	return do()
}

// almostNothing is the size limit for the files of a process with a full disk, in bytes. A limit at the size
// of the largest file would often have no effect, because the database writes over its own log again.
const almostNothing = 4096

func (t *injector) fullEngine(ctx context.Context, h processFault) error {
	return t.fullDisk(ctx, t.Engine, h.For, t.felt)
}

func (t *injector) fullAgent(ctx context.Context, h processFault) error {
	return t.fullDisk(ctx, t.agents[h.Who], h.For, nil)
}

// fullDisk limits the size of a process's files to almost nothing, for a time after the process notices. felt
// waits until the process notices. It is nil if that cannot be observed.
func (t *injector) fullDisk(ctx context.Context, p *process.Process, d time.Duration,
	felt func(context.Context) error,
) error {
	if err := limitFiles(p, almostNothing); err != nil {
		return fmt.Errorf(
			"NO FULL DISK CAN BE MADE HERE, and a soak without one proves less than it says: %w", err)
	}
	var err error
	if felt != nil {
		err = felt(ctx)
	}
	if err == nil {
		err = port.Sleep(ctx, d)
	}
	return errors.Join(err, limitFiles(p, noLimit))
}

// probePrefix is the prefix of the IDs of orders that detect a full disk.
const probePrefix = "probe-"

// felt asks the engine to store something until it reports that it cannot.
func (t *injector) felt(ctx context.Context) error {
	for end := time.Now().Add(fullPatience); time.Now().Before(end); {
		id := fmt.Sprint(probePrefix, len(t.probes))
		t.probes = append(t.probes, id)
		one, cancel := context.WithTimeout(ctx, 2*time.Second)
		// the engine remembers a command to an unknown order (P17, a cancel is kept)
		_, err := t.once.Cancel(one, id)
		cancel()
		if errors.Is(err, client.ErrUnavailable) {
			return nil
		}
		if err := port.Sleep(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the engine goes on storing with a full disk")
}

func (t *injector) clockAhead(ctx context.Context, h processFault) error {
	return t.skew(ctx, skewOfClock, h.For)
}

func (t *injector) clockBehind(ctx context.Context, h processFault) error {
	return t.skew(ctx, -skewOfClock, h.For)
}

func (t *injector) leapForward(ctx context.Context, _ processFault) error {
	return t.leap(ctx, leapAhead)
}

func (t *injector) leapBack(ctx context.Context, _ processFault) error {
	return t.leap(ctx, -leapBehind)
}

// skew makes the engine's clock differ from all others, within the declared limit.
func (t *injector) skew(ctx context.Context, by, d time.Duration) error {
	return errors.Join(t.setClocks(by), port.Sleep(ctx, d), t.setClocks(0))
}

// leap moves all clocks at once. The waiting time after which a service without a fence can get no more calls
// then ends too early, so no call may run meanwhile.
func (t *injector) leap(ctx context.Context, by time.Duration) error {
	return t.quietly(ctx, []string{services.Payment, services.Shipping}, func() error {
		t.base.Add(int64(by))
		return errors.Join(t.setClocks(0), port.Sleep(ctx, settleTime+time.Second))
	})
}
