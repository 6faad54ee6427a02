package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// fill stores three orders: one running, one processed, one stopped.
func fill(b *backend) {
	at := core.TimeOf(noon)
	b.put(&protocol.Task{
		OrderID: "running", Workflow: "order", ProcessState: core.Processing, Created: at,
		Steps: []protocol.Step{{
			Name: "charge", State: core.Processing, Attempt: 2,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at.Add(core.Second)}, Failures: protocol.Failures{Do: 1},
		}},
	})
	b.put(&protocol.Task{
		OrderID: "processed", Workflow: "order", ProcessState: core.Processed,
		Created: at.Add(-core.Hour), End: protocol.End{At: at.Add(-core.Hour + 3*core.Second)},
		Steps: []protocol.Step{{
			Name: "charge", State: core.Processed, Attempt: 1,
			First: protocol.First{Nth: 1, At: at.Add(-core.Hour)}, Claim: protocol.Claim{At: at.Add(-core.Hour)},
			Finish: protocol.Finish{At: at.Add(-core.Hour + 3*core.Second)},
		}},
	})
	b.put(&protocol.Task{
		OrderID: "stopped", Workflow: "provision", ProcessState: core.Error, Phase: core.Forward,
		Commands: protocol.Commands{Number: 4}, Created: at.Add(20 * core.Second),
		End:    protocol.End{At: at.Add(25 * core.Second)},
		Reason: protocol.Reason{Code: "http-422", Text: "no such zone", Step: "zone"},
		Steps: []protocol.Step{{
			Name: "zone", State: core.Failed, Attempt: 1, First: protocol.First{
				Nth: 1,
				At:  at.Add(20 * core.Second),
			}, Claim: protocol.Claim{At: at.Add(20 * core.Second)},
			Error: &protocol.StepError{
				Code: "http-422", Message: "no such zone", At: at.Add(25 * core.Second),
				Attempt: 1,
			},
		}},
	})
}

func TestShow(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	r := c.run(t, "show", "stopped")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "show.txt")
	r = c.run(t, "show", "stopped", "--output", "json")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "show.json")
	r = c.run(t, "show", "stopped", "--messages")
	r.want(t, failure.OK, "Messages (UTC)", "received   order", "alert Error")
	require.NotContains(t, r.out, "Timeline")
	r = c.run(t, "show", "stopped", "--raw")
	stored, err := state.DecodeTask([]byte(r.out))
	require.NoError(t, err)
	require.Equal(t, "stopped", stored.OrderID)
	c.run(t, "show", "missing", "--raw").want(t, failure.NotFound, "there is no order missing", "stepkeeper list")
	c.run(t, "show", "missing").want(t, failure.NotFound, "there is no order missing", "stepkeeper list")
	c.terminal = true
	require.Contains(t, c.run(t, "show", "stopped").out, "\x1b[", "no colours on a terminal")
	require.NotContains(t, c.run(t, "show", "stopped", "--no-color").out, "\x1b[", "colours in spite of --no-color")
	require.NotContains(t, c.run(t, "show", "stopped", "--output", "json").out, "\x1b[", "colours in JSON")
}

// The output of show for an order that is being undone, and each line of watch, state what the order waits
// for (P21).
func TestUndoSaysWhatItWaitsFor(t *testing.T) {
	b := newBackend(noon)
	at := core.TimeOf(noon.Add(time.Minute))
	quiet := &protocol.Task{
		OrderID: "undoing", Workflow: "order", ProcessState: core.Compensating,
		Undo: protocol.Reversal{Why: protocol.WhyFailure}, Created: at,
		Steps: []protocol.Step{{
			Name: "charge", State: core.UndoWait, Attempt: 1,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at}, Stops: protocol.Stops{Do: at + 20_000},
			Wait: protocol.StepWait{At: at + 21_001}, CompleteBy: at + 51_001,
		}},
	}
	b.put(quiet)
	c := call{server: serve(t, b).URL}
	const wait = "charge is undone from 12:01:21.001 on (in 21.0s), when no call of it can take effect " +
		"any more"
	c.run(t, "show", "undoing").want(t, failure.OK, wait)
	watched := c
	watched.until = "undoing  " + wait
	watched.run(t, "watch", "undoing").want(t, failure.OK, watched.until)
	for _, next := range []struct {
		step protocol.Step
		want string
	}{
		{
			protocol.Step{State: core.Compensating, Claim: protocol.Claim{Undo: true}, CompleteBy: at + 40_000},
			"its undo waits until 12:01:40.000 (in 40.0s) at most: charge is being undone",
		},
		{
			protocol.Step{State: core.Processing, CompleteBy: at + 40_000},
			"its undo waits until 12:01:40.000 (in 40.0s) at most: charge is still being done",
		},
		{
			protocol.Step{State: core.UndoWait, Claim: protocol.Claim{Undo: true}, Wait: protocol.StepWait{At: at + 3000}},
			"its undo waits until 12:01:03.000 (in 3.0s): then the undo of charge is asked for again",
		},
	} {
		task := *quiet
		next.step.Name = "charge"
		next.step.Attempt = 2
		next.step.First.Nth = 1
		next.step.First.At = at
		next.step.Claim.At = at
		task.Steps = []protocol.Step{next.step}
		b.put(&task)
		c.run(t, "show", "undoing").want(t, failure.OK, next.want)
	}
}

func TestShowNamesTheServer(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	url := serve(t, b).URL
	call{}.run(t, "show", "stopped", "--server", url).want(t, failure.OK,
		"stepkeeper --server "+url+" resubmit stopped")
}

// The list shows a document that cannot be read as unreadable, among the others.
func TestListShowsDamage(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	b.damaged = "processed"
	r := call{server: serve(t, b).URL}.run(t, "list")
	r.want(t, failure.OK)
	for _, want := range []string{
		"Processed (damaged)", "cannot be read; restore it", "running",
		"no such zone",
	} {
		require.Contains(t, r.out, want)
	}
	r = call{server: serve(t, b).URL}.run(t, "list", "--damaged", "--output", "json")
	r.want(t, failure.OK)
	orders := decodeLines(t, r.out)
	require.Len(t, orders, 1)
	require.Equal(t, "processed", orders[0]["orderId"])
}

// show names the receivers that could not get statuses, why, and when they are sent again.
func TestShowNamesUndeliveredStatuses(t *testing.T) {
	b := newBackend(noon)
	at := core.TimeOf(noon)
	b.put(&protocol.Task{
		OrderID: "o", Workflow: "order", ProcessState: core.Processing, Created: at,
		Undelivered: []core.Undelivered{
			{ReplyTo: "shop", First: 3, Reason: "it is unavailable\x1b[31m", Since: at, ResendAt: at.Add(core.Hour)},
			{ReplyTo: "desk", First: 1, Reason: "access is denied", Since: at},
		},
	})
	r := call{server: serve(t, b).URL}.run(t, "show", "o")
	r.want(t, failure.OK)
	_, text, found := strings.Cut(r.out, "Status undelivered\n")
	require.True(t, found, r.out)
	lines := strings.Split(text, "\n")
	require.Regexp(t, `^  shop: it is unavailable.*\[31m; from number 3 on, since .*, sent again .*13:00`, lines[0])
	require.NotContains(t, lines[0], "\x1b")
	require.Regexp(t, `^  desk: access is denied; from number 1 on, since .*, given up after 14 days$`, lines[1])
}

// An erased order still has the codes of its errors, but not their texts.
func TestAnErasedOrderShowsCodes(t *testing.T) {
	b := newBackend(noon)
	b.put(&protocol.Task{
		OrderID: "erased", Workflow: "order", ProcessState: core.Closed,
		Reason: protocol.Reason{Code: "http-422", Step: "zone"},
		Erased: &protocol.Erasure{By: "ann"},
		Steps: []protocol.Step{{
			Name: "zone", State: core.Failed, Attempt: 1, First: protocol.First{Nth: 1},
			Error: &protocol.StepError{Code: "http-422", Attempt: 1},
		}},
	})
	c := call{server: serve(t, b).URL}
	for command, want := range map[string]string{
		"list":         "zone http-422\n",
		"watch erased": "zone  Failed: http-422\n",
	} {
		require.Contains(t, c.run(t, strings.Fields(command)...).out, want, command)
	}
}

// list finds the orders of which a deadline, their own or that of a step, passes within a time.
func TestListOfOrdersThatAreSoonLate(t *testing.T) {
	b := newBackend(noon)
	now := core.TimeOf(time.Now())
	step := func(state core.State, at core.Time) []protocol.Step {
		return []protocol.Step{{Name: "work", State: state, Attempt: 1, Late: protocol.Late{At: at, Seq: 1}}}
	}
	for id, task := range map[string]*protocol.Task{
		"soon": {Steps: step(core.Processing, now.Add(core.Hour))},
		"far":  {Steps: step(core.Processing, now.Add(50*core.Hour))},
		"own":  {Deadline: protocol.Deadline{At: now.Add(90 * core.Minute)}, Steps: step(core.Processing, now.Add(core.Day))},
		"done": {Steps: step(core.Processed, now.Add(core.Hour))},
		"none": {},
	} {
		task.OrderID = id
		task.Workflow = "order"
		task.ProcessState = core.Processing
		task.Created = now
		b.put(task)
	}
	c := call{server: serve(t, b).URL}
	for within, want := range map[string][]string{
		"80m": {"soon"}, "2h": {"own", "soon"}, "3d": {"far", "own", "soon"}, "1m": nil,
	} {
		r := c.run(t, "list", "--where", "late="+within, "--output", "json")
		r.want(t, failure.OK)
		var ids []string
		for _, o := range decodeLines(t, r.out) {
			ids = append(ids, o["orderId"].(string))
		}
		require.ElementsMatch(t, want, ids, within)
	}
	c.run(t, "list", "--where", "late=2h,workflow=order").want(t, failure.OK, "late in ")
	c.run(t, "list", "--where", "late=soon").want(t, failure.Usage, "write the time within which a deadline passes")
}

func TestList(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	r := c.run(t, "list")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "list.txt")
	r = c.run(t, "list", "--output", "json")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "list.jsonl")
	for _, x := range []struct{ flags, want string }{
		{"--where state=error", "stopped"},
		{"--where state=Processed", "processed"},
		{"--where workflow=provision", "stopped"},
		{"--where older=30m", "processed"},
		{"--where older=1d", ""},
		{"--limit 1", "stopped"},
		{"--limit 3", "stopped processed running"},
		{"--limit 1 --all", "stopped processed running"},
		{"--where workflow=provision,state=processed", ""},
		{"--where step=zone", "stopped"},
		{"--where code=http-422 --where state=error", "stopped"},
		{"--where code=nothing", ""},
		{"--where id=pro --limit 1", "processed"},
	} {
		r := c.run(t, append([]string{"list", "--output", "json"}, strings.Fields(x.flags)...)...)
		r.want(t, failure.OK)
		var ids []string
		for _, o := range decodeLines(t, r.out) {
			ids = append(ids, o["orderId"].(string))
		}
		require.Equal(t, x.want, strings.Join(ids, " "))
	}
	at := core.TimeOf(noon)
	b.put(&protocol.Task{
		OrderID: "half-undone", Workflow: "order", ProcessState: core.Error, Phase: core.Undoing,
		Created: at, End: protocol.End{At: at.Add(core.Second)},
		Reason: protocol.Reason{Step: "charge", Text: strings.Repeat("long ", 20)},
		Steps: []protocol.Step{{
			Name: "charge", State: core.UndoWait, Attempt: 1,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at},
		}},
	})
	c.run(t, "list", "--where", "id=half").want(t, failure.OK, "Error (undo)",
		"charge: "+strings.Repeat("long ", 19)+"long")
	screen := c
	screen.terminal = true
	screen.run(t, "list", "--where", "id=half").want(t, failure.OK,
		"charge: "+(strings.Repeat("long ", 20))[:32]+"…\n")
	c.run(t, "list", "--limit", "2").want(t, failure.OK, "2 shown, there are more")
	c.run(t, "list", "--where", "workflow=provision,state=processed").want(t, failure.OK, "no such orders")
	for _, format := range []string{"text", "json"} {
		for _, command := range []string{"list --where workflow=provisoin", "approvals --workflow provisoin"} {
			r := c.run(t, append(strings.Fields(command), "--output", format)...)
			r.want(t, failure.NotFound, `there is no workflow `, "provisoin", "did you mean provision?",
				"workflow list")
		}
	}
}

func TestWatchFollowsToTheEnd(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	c := call{server: serve(t, b).URL}
	c.run(t, "watch", "processed").want(t, failure.OK, "charge  Processed", "processed  Processed")
	c.run(t, "watch", "stopped").want(t, failure.NotProcessed, "zone  Failed: no such zone")
	c.run(t, "watch", "missing").want(t, failure.NotFound, "there is no order missing")
	c.run(t, "watch", "o 1").want(t, failure.Usage, `"o 1" is no order's ID`)
	r := c.run(t, "watch", "stopped", "--output", "json")
	r.want(t, failure.NotProcessed)
	docs := decodeLines(t, r.out)
	require.Len(t, docs, 1)
	require.Equal(t, "Error", docs[0]["state"])
	c.terminal = true
	r = c.run(t, "watch", "processed")
	r.want(t, failure.OK, "\x1b[H", "Timeline")

	done := make(chan result)
	c.terminal = false
	go func() { done <- c.run(t, "watch", "running") }()
	end := *b.tasks["running"]
	end.ProcessState = core.Processed
	end.End.At = core.TimeOf(noon)
	end.Steps = append([]protocol.Step(nil), end.Steps...)
	end.Steps[0].State = core.Processed
	b.put(&end)
	(<-done).want(t, failure.OK, "running  Processed")
}

func TestWatchTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(noon)
		fill(b)
		inProcess(t, b).run(t, "watch", "running", "--timeout", "2m").want(t, failure.General,
			"did not end within 2m0s")
	})
}

func TestWatchList(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	server := serve(t, b)
	for _, terminal := range []bool{false, true} {
		ctx, cancel := context.WithCancel(t.Context())
		c := call{server: server.URL, ctx: ctx, terminal: terminal}
		looks := 0
		b.mu.Lock() // a look that was interrupted may still be under way
		b.listed = func() {
			if looks++; looks == 5 {
				cancel()
			}
		}
		b.mu.Unlock()
		r := c.run(t, "watch", "--interval", "10ms")
		r.want(t, failure.OK, "stopped", "running")
		if !terminal {
			require.Equal(t, 1, strings.Count(r.out, "stopped"))
		}
	}
	// Each change is printed once.
	ctx, cancel := context.WithCancel(t.Context())
	looks := 0
	b.mu.Lock()
	b.listed = func() {
		running := *b.tasks["running"]
		switch looks++; looks {
		case 3:
			running.ProcessState = core.Compensating
		case 5:
			running.Run++
		case 7:
			cancel()
		}
		b.tasks["running"] = &running
	}
	b.mu.Unlock()
	r := call{server: server.URL, ctx: ctx}.run(t, "watch", "--interval", "10ms")
	var states []string
	for _, line := range strings.Split(r.out, "\n") {
		if _, state, is := strings.Cut(line, "  running  "); is {
			states = append(states, state)
		}
	}
	require.Equal(t, "Processing Compensating Compensating", strings.Join(states, " "))
	call{}.run(t, "watch").want(t, failure.Unreachable, "cannot be reached")
}

func TestServerFailures(t *testing.T) {
	for _, c := range []struct {
		status int
		body   string
		want   failure.Code
		text   string
	}{
		{
			404, `{"status":404,"code":"not-found","detail":"no such order"}`, failure.NotFound,
			"there is no order a",
		},
		{
			400, `{"status":400,"code":"invalid-request","detail":"path.id is wrong"}`, failure.Usage,
			"path.id is wrong",
		},
		{
			403, `{"status":403,"code":"forbidden","detail":"another origin"}`, failure.Refused,
			"another origin",
		},
		{
			503, `{"status":503,"code":"unavailable","detail":"the disk is full"}`, failure.Refused,
			"the disk is full",
		},
		{
			503, `{"status":503,"code":"store-damaged","detail":"page 7 is damaged"}`, failure.General,
			"order a: page 7 is damaged",
		},
		{500, `{"status":500,"code":"internal","detail":"see request 7"}`, failure.General, "see request 7"},
		{200, `<html>`, failure.Unreachable, "is it a Stepkeeper server?"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(c.status)
			_, _ = w.Write([]byte(c.body))
		}))
		call{server: server.URL}.run(t, "show", "a").want(t, c.want, c.text)
		server.Close()
	}
	call{}.run(t, "show", "a").want(t, failure.Unreachable, "stepkeeper dev", "--server")
	hangs := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer hangs.Close()
	call{server: hangs.URL}.run(t, "show", "a", "--timeout", "50ms").want(t, failure.Unreachable,
		"did not respond in time")
}

func TestSchedules(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	r := c.run(t, "schedules")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "schedules.txt")
	r = c.run(t, "schedules", "--output", "json")
	r.want(t, failure.OK)
	golden.Assert(t, r.out, "schedules.jsonl")
}

// What scrolls away cannot be replaced: a picture that changes has no more lines than the terminal has rows.
func TestWatchFitsTheTerminal(t *testing.T) {
	b := newBackend(noon)
	at := core.TimeOf(noon)
	long := protocol.Task{OrderID: "long", Workflow: "order", ProcessState: core.Processing, Created: at}
	for i := range 60 {
		long.Steps = append(long.Steps, protocol.Step{Name: fmt.Sprintf("step-%d", i), State: core.Pending})
	}
	b.put(&long)
	c := call{server: serve(t, b).URL, terminal: true, until: "more lines"}
	r := c.run(t, "watch", "long")
	picture, _, _ := strings.Cut(r.out, "\x1b[J")
	require.Contains(t, picture, "step-1", "the first steps are not shown")
	require.NotContains(t, picture, "step-59")
	require.Less(t, strings.Count(picture, "\n"), 40, "more lines than rows")
	require.Contains(t, picture, "a higher terminal has room for them")
}
