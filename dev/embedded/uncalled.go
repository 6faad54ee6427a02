package embedded

import (
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// uncalled records the operations that agents do not call at present, for example because of an open circuit
// breaker. It takes them from the agents' replies (P45, "not now" is not a failure). An operation whose
// service returns "not yet" counts as called, because the service works.
type uncalled struct {
	clock port.Clock
	log   *slog.Logger

	mu  sync.Mutex
	now map[string]waiting // operations that are not called at present, by agent and operation
	// time when the agent last began to call an operation again, by agent and operation
	worked map[string]core.Time
}

// waiting describes a period in which an agent does not call an operation. code and message state the reason.
type waiting struct {
	code, message string
	since         core.Time
	reported      bool
}

// settling is a time without alerts, after an agent has begun to call an operation again. In this time, old
// replies may still arrive.
const settling = core.Minute

// replied implements scheduler.Config.Replied. It logs one alert when a period without calls begins, for any
// number of waiting orders. The period ends only when a reply shows that the agent has called the service.
func (u *uncalled) replied(agent, operation string, r core.Reply) {
	name, now := "agent "+agent+" "+operation, core.TimeOf(u.clock.Now())
	// the message of an agent in a user's process may contain a token (P39, a token is an answer's
	// permission)
	message := core.RedactText(r.Message)
	u.mu.Lock()
	defer u.mu.Unlock()
	was, waits := u.now[name]
	switch {
	case r.Outcome == core.OutcomeRetryLater && core.Uncalled(r.Code):
		if !waits {
			was.since = now
		}
		worked, ever := u.worked[name]
		if !was.reported && (!ever || now.Sub(worked) > settling) {
			was.reported = true
			u.log.Error(
				"ALERT: an agent does not call its service, and its steps wait, uncounted, for up to "+
					"their maxQueueTime",
				"agent", agent, "operation", operation, "code", r.Code, "reason", message)
		}
		u.now[name] = waiting{r.Code, message, was.since, was.reported}
	case (r.Outcome != core.OutcomeRetryLater || r.Code == core.CodeNotYet) && waits:
		delete(u.now, name)
		u.worked[name] = now
		u.log.Info("an agent calls its service again", "agent", agent, "operation", operation, "since",
			was.since)
	}
}

func (u *uncalled) of(agent string) (all []view.NotCalled) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, w := range u.now {
		if operation, ours := strings.CutPrefix(name, "agent "+agent+" "); ours {
			all = append(all, view.NotCalled{Operation: operation, Code: w.code, Since: w.since})
		}
	}
	slices.SortFunc(all, func(a, b view.NotCalled) int { return strings.Compare(a.Operation, b.Operation) })
	return all
}

func (u *uncalled) check(checks map[string]string) {
	u.mu.Lock()
	defer u.mu.Unlock()
	for name, w := range u.now {
		checks[name] = fmt.Sprintf("%s since %s, its steps wait, uncounted: %s", w.code, w.since, w.message)
	}
}
