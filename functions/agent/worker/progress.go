package worker

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// progressInterval is the shortest interval between two reports of a step with a long timeout. It is
// slightly longer than the interval at which package core stores progress.
const progressInterval = 40 * time.Second

// reporter sends the progress of one handling. If the operation reports nothing for the step's timeout, the
// reporter ends the operation's context.
type reporter struct {
	h       *handling
	timeout time.Duration
	ending  *time.Timer

	mu   sync.Mutex
	sent time.Time
}

type reporterKey struct{}

var errNoProgress = errors.New("the operation reported no progress, and was ended")

// Progress reports that the operation of a step with a maxDuration is still running. The step's timeout
// starts again from now, but does not extend beyond stopBy (P43, long work reports progress).
//
// Progress may be called at any rate. It sends at most one report in 40 s, or in a third of the step's
// timeout if this third is shorter. Other calls do nothing. For a step without a maxDuration, it does
// nothing.
//
// percent is 0 to 100. The note is a text for people; at most 200 bytes are kept. An error means that the
// report was not sent. A later report may succeed, so do not end the operation because of an error.
func Progress(ctx context.Context, percent int, note string) error {
	r, ok := ctx.Value(reporterKey{}).(*reporter)
	if !ok || ctx.Err() != nil {
		return ctx.Err()
	}
	return r.report(ctx, min(max(percent, 0), 100), note)
}

// watched returns a context that ends if the operation reports nothing for the step's timeout.
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
	w := r.h.w
	now := r.h.w.Clock.Now()
	left := r.h.stop().Sub(now)
	if left <= 0 || port.Recent(r.sent, now, min(progressInterval, r.timeout/3)) {
		return nil
	}
	report := r.h.replyTo(message.Progress)
	report.Percent = percent
	report.Note = core.ShortNote(core.RedactText(note))
	if err := w.send(ctx, r.h.replies, report, min(w.SendTimeout, left)); err != nil {
		return err
	}
	r.sent = now
	r.ending.Reset(r.timeout)
	return nil
}
