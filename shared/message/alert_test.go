package message_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// An alert names the commands that its order accepts, ready to be run, and no others.
func TestCommandsOfAnAlert(t *testing.T) {
	for name, c := range map[string]struct {
		phase   core.Phase
		accepts core.Accepted
		options string
		want    []string
	}{
		"past its point of no return": {
			core.Forward,
			core.Accepted{Resubmit: true},
			"--stack Shop/Engine",
			[]string{
				"stepkeeper --stack Shop/Engine show o-1",
				"stepkeeper --stack Shop/Engine resubmit o-1",
			},
		},
		"a key may be forgotten": {
			core.Forward,
			core.Accepted{Undo: true, Resolve: true},
			"--server http://127.0.0.1:8377",
			[]string{
				"stepkeeper --server http://127.0.0.1:8377 show o-1",
				"stepkeeper --server http://127.0.0.1:8377 undo o-1",
				"stepkeeper --server http://127.0.0.1:8377 resolve o-1 pay happened",
				"stepkeeper --server http://127.0.0.1:8377 resolve o-1 pay not-happened",
			},
		},
		"while it is undone": {
			core.Undoing,
			core.Accepted{Resubmit: true, Undo: true, Resolve: true},
			"",
			[]string{
				"stepkeeper show o-1", "stepkeeper resubmit o-1", "stepkeeper resolve o-1 pay happened",
				"stepkeeper resolve o-1 pay undone",
			},
		},
		"nothing": {core.Forward, core.Accepted{}, "", []string{"stepkeeper show o-1"}},
	} {
		a := message.Alert{Kind: message.AlertFirst, Orders: 1, RaiseAlert: core.RaiseAlert{
			OrderID: "o-1",
			Step:    "pay", Phase: c.phase, Accepts: c.accepts,
		}}.For("Shop", c.options)
		if !slices.Equal(a.Commands, c.want) {
			t.Errorf("%s: %q, want %q", name, a.Commands, c.want)
		}
	}
}

// If many orders have stopped, the commands are for all of them. At the end of an incident there are none.
func TestCommandsForMany(t *testing.T) {
	of := func(kind message.AlertKind, orders int, step string) []string {
		return message.Alert{
			Kind: kind, Orders: orders,
			RaiseAlert: core.RaiseAlert{
				OrderID: "o-1", Workflow: "order", Step: step, Code: "declined",
				Accepts: core.Accepted{Resubmit: true},
			},
		}.For("Shop", "--stack Shop").Commands
	}
	many := []string{
		"stepkeeper --stack Shop show o-1",
		"stepkeeper --stack Shop list --where state=Error,workflow=order,step=pay,code=declined",
		"stepkeeper --stack Shop resubmit --where workflow=order,step=pay,code=declined --reason " +
			"fixed --dry-run",
		"stepkeeper --stack Shop resubmit --where workflow=order,step=pay,code=declined --reason " +
			"fixed --canary 5",
	}
	if got := of(message.AlertReminder, 7, "pay"); !slices.Equal(got, many) {
		t.Errorf("%q", got)
	}
	if got := of(message.AlertReminder, 1, "pay"); !slices.Equal(got,
		[]string{"stepkeeper --stack Shop show o-1", "stepkeeper --stack Shop resubmit o-1"}) {
		t.Errorf("%q", got)
	}
	if got := of(message.AlertReminder, 7, ""); !strings.HasSuffix(got[1],
		"--where state=Error,workflow=order,code=declined") || !strings.Contains(got[2],
		"--where workflow=order,code=declined ") {
		t.Errorf("%q", got)
	}
	if got := of(message.AlertOver, 0, "pay"); got == nil || len(got) > 0 {
		t.Errorf("%q", got)
	}
}

// An agent chooses the code, so it is quoted: in a shell it is one word.
func TestCommandsOfOddCodes(t *testing.T) {
	of := func(code string) []string {
		return message.Alert{Kind: message.AlertReminder, Orders: 2, RaiseAlert: core.RaiseAlert{
			OrderID:  "o-1",
			Workflow: "order", Step: "pay", Code: code,
		}}.For("", "").Commands
	}
	got := of("it's; rm -rf $HOME\n")
	if want := `stepkeeper list --where 'state=Error,workflow=order,step=pay,code=it'\''s; rm -rf $HOME'`; got[1] != want {
		t.Errorf("%s, want %s", got[1], want)
	}
	if want := `stepkeeper resubmit --where 'workflow=order,step=pay,code=it'\''s; rm -rf $HOME' --reason fixed --dry-run`; got[2] != strings.Replace(want, "$HOME'", "$HOME'", 1) {
		t.Errorf("%s, want %s", got[2], want)
	}
	if got := of("~root"); !strings.HasSuffix(got[1], "code=~root'") {
		t.Errorf("a shell would make a folder of the code: %q", got)
	}
	if got := of("no, never"); len(got) != 2 || !strings.HasSuffix(got[1], "step=pay") {
		t.Errorf("--where cannot say a comma: %q", got)
	}
}

// TestTitlesOfAlerts checks what a lock screen shows of each kind of alert.
func TestTitlesOfAlerts(t *testing.T) {
	for _, c := range []struct {
		kind        message.AlertKind
		orders      int
		step        string
		title, text string
	}{
		{
			message.AlertFirst, 1, "pay",
			"order, step pay: order o-1 in Error since 2026-11-21 03:00 UTC",
			"no funds (declined). More: stepkeeper show o-1",
		},
		{
			message.AlertReminder, 7, "", "order: 7 orders still in Error since 2026-11-21 03:00 UTC",
			"no funds (declined). More: stepkeeper show o-1",
		},
		{
			message.AlertReminder, 1, "pay",
			"order, step pay: order o-1 still in Error since 2026-11-21 03:00 UTC",
			"no funds (declined). More: stepkeeper show o-1",
		},
		{
			message.AlertOver, 0, "pay", "order, step pay: no order in Error any more",
			"Ended: no funds (declined).",
		},
	} {
		a := message.Alert{
			Kind: c.kind, Orders: c.orders, Since: 1_795_230_000_000,
			RaiseAlert: core.RaiseAlert{
				OrderID: "o-1", Workflow: "order", Step: c.step,
				Code: "declined", Message: "no funds",
			},
		}.For("Shop", "")
		if got := a.Title(); got != c.title {
			t.Errorf("%q, want %q", got, c.title)
		}
		if !strings.HasPrefix(a.Text(), c.text) {
			t.Errorf("%q, want %q", a.Text(), c.text)
		}
	}
}

// Unknown parts of an alert are left out.
func TestFactsOfAnAlert(t *testing.T) {
	a := message.Alert{Since: 1, RaiseAlert: core.RaiseAlert{
		OrderID: "o-1", Phase: core.Forward,
		Code: "deadline", Message: "it has passed", Run: 2,
	}}.For("", "")
	want := []message.Fact{
		{Name: "phase", Value: "forward"},
		{Name: "code", Value: "deadline"},
		{Name: "reason", Value: "it has passed"},
		{Name: "run", Value: "2"},
		{Name: "since", Value: core.Time(1).String()},
	}
	if got := a.Facts(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	a.FirstTry = 2
	a.LastTry = 2
	a.At = 3
	a.Orders = 4
	a.Logs = "https://x"
	a.Deployment = "Shop"
	for _, want := range []message.Fact{
		{Name: "tried", Value: core.Time(2).String()},
		{
			Name:  "stopped",
			Value: core.Time(3).String(),
		},
		{Name: "orders", Value: "4"},
		{Name: "log", Value: "https://x"},
		{Name: "in", Value: "Shop"},
	} {
		if !slices.Contains(a.Facts(), want) {
			t.Errorf("%+v lack %+v", a.Facts(), want)
		}
	}
	a.LastTry = 9
	if !slices.Contains(a.Facts(),
		message.Fact{Name: "tried", Value: core.Time(2).String() + " to " + core.Time(9).String()}) {
		t.Errorf("%+v", a.Facts())
	}
}

// An alert of the intake names no order, and states where to look.
func TestAlertsOfTheIntake(t *testing.T) {
	for kind, c := range map[message.AlertKind]struct {
		title, text string
		commands    int
	}{
		message.AlertFirst: {
			"new orders are refused since 1970-01-01 00:00 UTC",
			"3 orders are active (busy). More: stepkeeper doctor", 2,
		},
		message.AlertReminder: {
			"new orders are still refused since 1970-01-01 00:00 UTC",
			"3 orders are active (busy). More: stepkeeper doctor", 2,
		},
		message.AlertOver: {"new orders are accepted again", "Ended: 3 orders are active (busy).", 0},
	} {
		a := message.Alert{
			Kind: kind, Intake: true, Since: 1,
			RaiseAlert: core.RaiseAlert{Code: "busy", Message: "3 orders are active", At: 2},
		}.For("Shop", "")
		want := []message.Fact{
			{Name: "in", Value: "Shop"},
			{Name: "code", Value: "busy"},
			{Name: "reason", Value: "3 orders are active"},
			{Name: "since", Value: core.Time(1).String()},
		}
		if a.Title() != c.title || !strings.HasPrefix(a.Text(), c.text) || !slices.Equal(a.Facts(), want) {
			t.Errorf("%s: %q, %q, %+v", kind, a.Title(), a.Text(), a.Facts())
		}
		if len(a.Commands) != c.commands || c.commands > 0 && a.Commands[0] != "stepkeeper doctor" {
			t.Errorf("%s: commands %q", kind, a.Commands)
		}
	}
}

// The JSON of an alert carries a line and a text for people beside the members for programs.
func TestAlertsForPeopleAndPrograms(t *testing.T) {
	a := message.Alert{Kind: message.AlertFirst, Orders: 1, RaiseAlert: core.RaiseAlert{
		OrderID:  "o-1",
		Workflow: "trip", Step: "book", Code: "failed", Message: "no seat",
	}}.For("Shop", "--stack Shop")
	body, err := a.Encode()
	require.NoError(t, err)
	var got map[string]any
	require.NoError(t, json.Unmarshal(body, &got))
	require.Equal(t, a.Subject(), got["subject"])
	require.Equal(t, a.Text(), got["text"])
	require.Equal(t, "o-1", got["orderId"])
	require.Equal(t, "Shop", got["deployment"])
	require.Contains(t, got["subject"], "Stepkeeper Shop: ")
}
