package incident_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

func uncalled(code string) core.Reply {
	return core.Reply{Outcome: core.OutcomeRetryLater, Code: code, Message: "no rights"}
}

// outages are the codes of the open outages, by agent and operation. The steps of those that have ended are woken.
func (d *desk) outages() map[string]string {
	d.t.Helper()
	all, err := d.Outages(marked)
	require.NoError(d.t, err)
	codes := map[string]string{}
	for _, o := range all {
		if o.Ended != 0 {
			d.wakes++
			require.NoError(d.t, d.Woken(marked, o))
			continue
		}
		codes[o.Agent+" "+o.Operation] = o.Code
	}
	return codes
}

// P45: a reply of an agent that could not call opens an outage. One that shows a call ends it, and its steps
// are woken once. A service that answers not-yet is called; a request that came too late shows no call.
func TestRepliesThatOpenAndEndAnOutage(t *testing.T) {
	d := newDesk(t, nil)
	done := core.Reply{Outcome: core.OutcomeDone}
	for i, c := range []struct {
		reply  core.Reply
		waited bool
		ended  bool
		open   string
	}{
		{done, false, false, ""},
		{done, true, false, ""}, // there is no outage
		{uncalled(core.CodeUnauthorized), false, false, core.CodeUnauthorized},
		{uncalled(core.CodeBreakerOpen), true, false, core.CodeUnauthorized}, // noted within ten seconds
		{uncalled(core.CodeQueue), true, false, core.CodeUnauthorized},
		{done, false, true, ""},
		{done, true, false, ""},
		{uncalled(core.CodeBreakerOpen), false, false, core.CodeBreakerOpen},
		{uncalled(core.CodeNotYet), true, true, ""},
		{uncalled(core.CodeBreakerOpen), false, false, core.CodeBreakerOpen},
		{core.Reply{Outcome: core.OutcomeFailed, Code: "http-422"}, true, true, ""},
	} {
		before := d.wakes
		d.Replied(marked, "mail", "send", c.reply, c.waited)
		require.Equal(t, c.open, d.outages()["mail send"], "reply %d", i)
		require.Equal(t, c.ended, d.wakes > before, "reply %d", i)
	}
	d.want("each was short")
	d.sweepAfter(time.Hour)
	d.want("each was short")
}

// P45: probes that fail with 5xx leave an outage open: it has one beginning, and its alert. After refused
// credentials a call that fails shows that they are accepted now.
func TestFailedProbesDoNotEndAnOutage(t *testing.T) {
	d := newDesk(t, nil)
	failed := core.Reply{Outcome: core.OutcomeRetryLater, Code: "http-503"}
	began := core.TimeOf(d.now)
	d.Replied(marked, "mail", "send", uncalled(core.CodeBreakerOpen), false)
	for range 4 {
		d.sweepAfter(10 * time.Second)
		d.Replied(marked, "mail", "send", failed, true)
		d.Replied(marked, "mail", "send", uncalled(core.CodeBreakerOpen), true)
	}
	all, err := d.Outages(marked)
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Equal(t, began, all[0].Since)
	require.Zero(t, all[0].Ended)
	require.Len(t, d.published, 1)
	d.Replied(marked, "mail", "send", core.Reply{Outcome: core.OutcomeDone}, true)
	require.Empty(t, d.outages())

	d.Replied(marked, "print", "page", uncalled(core.CodeUnauthorized), false)
	d.Replied(marked, "print", "page", failed, true)
	require.Empty(t, d.outages())
}

// Another process has seen the outage. Here only a step that has waited shows its end.
func TestAnOutageThatAnotherProcessHasSeen(t *testing.T) {
	d := newDesk(t, nil)
	d.Replied(marked, "mail", "send", uncalled(core.CodeBreakerOpen), false)
	other := newDesk(t, func(c *incident.Config) { c.Records = d.records })
	done := core.Reply{Outcome: core.OutcomeDone}
	other.Replied(marked, "mail", "send", done, false)
	require.Len(t, d.outages(), 1)
	other.Replied(marked, "mail", "send", done, true)
	require.Empty(t, d.outages())
	d.Replied(marked, "mail", "send", done, true)
	require.Empty(t, d.outages())
	require.Equal(t, 1, d.wakes)
}

// An outage that lasts for half a minute has one alert, and one when it is over. The alert names the agent and
// the operation, and no token.
func TestAlertsOfAnOutage(t *testing.T) {
	d := newDesk(t, nil)
	secret, err := token.Fixed(false).Token("00000000", "o-1", core.TokenOf{Step: "approve", Person: "ann"})
	require.NoError(t, err)
	r := uncalled(core.CodeUnauthorized)
	r.Message += " for " + secret
	d.Replied(marked, "mail", "send", r, false)
	for range 4 {
		d.sweepAfter(5 * time.Second)
	}
	d.want("too soon")
	d.sweepAfter(10 * time.Second)
	require.Len(t, d.published, 1)
	a := d.published[0]
	require.Equal(t, "agent mail, operation send, is not called since 2026-11-21 03:00 UTC, and its steps wait",
		a.Title())
	require.Equal(t, "no rights for (token)", a.RaiseAlert.Message)
	d.want("after half a minute", "first 0")
	for range 60 {
		d.Replied(marked, "mail", "send", r, true)
		d.sweepAfter(5 * time.Minute)
	}
	d.want("while it lasts")
	d.Replied(marked, "mail", "send", core.Reply{Outcome: core.OutcomeDone}, true)
	require.Empty(t, d.outages())
	d.sweepAfter(time.Second)
	require.Equal(t, "agent mail, operation send, is called again", d.published[0].Title())
	d.want("it is over", "over 0")
	require.Zero(t, d.whole, "open orders were read")
}

// An agent that is not deployed is one outage for all its operations. The first reply after a call ends it.
func TestTheOutageOfAnAbsentAgent(t *testing.T) {
	d := newDesk(t, nil)
	d.Replied(marked, "mail", "send", uncalled(core.CodeNoAgent), false)
	d.Replied(marked, "mail", "recall", uncalled(core.CodeNoAgent), false)
	require.Equal(t, map[string]string{"mail ": core.CodeNoAgent}, d.outages())
	d.sweepAfter(time.Minute)
	require.Equal(t, "agent mail is not called since 2026-11-21 03:00 UTC, and its steps wait",
		d.published[0].Title())
	d.Replied(marked, "mail", "recall", core.Reply{Outcome: core.OutcomeDone}, true)
	require.Empty(t, d.outages())
}

// An outage whose steps have all gone ends by itself.
func TestAnOutageThatNobodyWaitsFor(t *testing.T) {
	d := newDesk(t, nil)
	d.Replied(marked, "mail", "send", uncalled(core.CodeBreakerOpen), false)
	d.sweepAfter(time.Minute)
	d.want("it lasts", "first 0")
	d.sweepAfter(time.Hour)
	d.want("a step may have to wait for an hour")
	d.sweepAfter(10 * time.Minute)
	d.want("later", "over 0")
	require.Empty(t, d.outages())
}
