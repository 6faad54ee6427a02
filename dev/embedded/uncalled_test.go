package embedded

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// P45: the operator is notified once that a service is not called. A refusal that was overtaken by a success
// reports nothing; one that comes again later does. A service that answers not-yet works.
func TestWhenTheOperatorIsNotifiedOfAnUncalledService(t *testing.T) {
	clock := memory.NewClock(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	var log bytes.Buffer
	u := &uncalled{clock: clock, log: slog.New(slog.NewTextHandler(&log, nil)), now: map[string]waiting{},
		worked: map[string]core.Time{}}
	secret, err := token.Fixed(false).Token("00000000", "o-1", core.TokenOf{Step: "approve", Person: "ann"})
	if err != nil {
		t.Fatal(err)
	}
	refused := core.Reply{Outcome: core.OutcomeRetryLater, Code: core.CodeUnauthorized,
		Message: "no rights for " + secret}
	done := core.Reply{Outcome: core.OutcomeDone}
	notYet := core.Reply{Outcome: core.OutcomeRetryLater, Code: core.CodeNotYet}
	for i, c := range []struct {
		reply  core.Reply
		after  time.Duration
		alerts int // until then
		waits  bool
	}{
		{done, 0, 0, false}, {notYet, 0, 0, false}, {refused, 0, 1, true}, {refused, time.Hour, 1, true},
		{done, 0, 1, false},
		{refused, time.Second, 1, true}, {done, 0, 1, false}, {refused, 2 * time.Minute, 2, true},
		{refused, 0, 2, true},
		{notYet, 0, 2, false}, {notYet, time.Hour, 2, false},
	} {
		clock.Advance(c.after)
		u.replied("shop", "first", c.reply)
		checks := map[string]string{}
		u.check(checks)
		if reported := strings.Count(log.String(), "ALERT"); reported != c.alerts ||
			(len(checks) > 0) != c.waits {
			t.Errorf("reply %d: reported %d times, health %v; want %d, %v", i, reported, checks, c.alerts,
				c.waits)
		}
		shown := log.String() + fmt.Sprint(checks)
		if strings.Contains(shown, secret) || c.waits && !strings.Contains(shown, "no rights for (token)") {
			t.Errorf("reply %d: its token or its reason is shown wrongly: %s", i, shown) // P39
		}
		of := u.of("shop")
		if (len(of) == 1 && of[0].Operation == "first" && of[0].Code == core.CodeUnauthorized &&
			of[0].Since != 0) != c.waits || len(u.of("sho")) > 0 {
			t.Errorf("reply %d: the statistics say %+v; want %v", i, of, c.waits)
		}
	}
}
