package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// progressInterval is how often progress is sent at most, where the step's timeout is not short: a little
// less often than the core writes it.
const progressInterval = 40 * time.Second

// reporter sends the progress of one handling. A handling that does not report ends with the step's timeout.
type reporter struct {
	h       *handling
	timeout time.Duration
	ending  *time.Timer

	mu   sync.Mutex
	sent time.Time
}

type reporterKey struct{}

var errNoProgress = errors.New("the operation reported no progress, and was ended")

// Progress reports that the operation is still at work, for a step with a maxDuration: it gets the step's
// timeout again from now on, never past stopBy (P43). It may be called as often as is convenient: a report is
// sent every 40 s, or every third of a shorter timeout, and a call in between does nothing. Of any other step
// it does nothing. Percent is 0 to 100; of the note, which is shown to people, 200 bytes are kept. An error
// means that this report was not sent, and that a later one may be; it is no reason to end the operation.
func Progress(ctx context.Context, percent int, note string) error {
	r, ok := ctx.Value(reporterKey{}).(*reporter)
	if !ok || ctx.Err() != nil {
		return ctx.Err()
	}
	return r.report(ctx, min(max(percent, 0), 100), note)
}

// watched is a context that ends when nothing was reported for the step's timeout.
func (h *handling) watched(ctx context.Context) (watched context.Context, end func()) {
	if !h.long() {
		return ctx, func() {}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	r := &reporter{h: h, timeout: h.req.Timeout.Std()}
	//nolint:forbidigo // a context goes by the machine's clock, whatever the Clock shows
	r.ending = time.AfterFunc(r.timeout, func() { cancel(errNoProgress) })
	return context.WithValue(ctx, reporterKey{}, r), func() {
		r.ending.Stop()
		cancel(nil)
	}
}

func (r *reporter) report(ctx context.Context, percent int, note string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	w, now := r.h.w, r.h.w.Clock.Now()
	left := r.h.stop().Sub(now)
	if left <= 0 || !r.sent.IsZero() && now.Sub(r.sent) < min(progressInterval, r.timeout/3) {
		return nil
	}
	q := r.h.req
	report := replyID{q.OrderID, q.Run, q.Step, q.Attempt, 0}.reply(w.Agent, message.Progress)
	report.Percent, report.Note = percent, core.ShortNote(core.RedactText(note))
	if err := w.send(ctx, w.Replies, report, min(w.SendTimeout, left)); err != nil {
		return err
	}
	r.sent = now
	r.ending.Reset(r.timeout)
	return nil
}
