package cli

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// fill stores three orders: one running, one processed, one stopped.
func fill(b *backend) {
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "running", Workflow: "order", ProcessState: core.Processing, Created: at,
		Steps: []protocol.Step{{
			Name: "charge", State: core.Processing, Attempt: 2,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at.Add(core.Second)}, Failures: protocol.Failures{Do: 1},
		}},
	})
	b.Put(&protocol.Task{
		OrderID: "processed", Workflow: "order", ProcessState: core.Processed,
		Created: at.Add(-core.Hour), End: protocol.End{At: at.Add(-core.Hour + 3*core.Second)},
		Steps: []protocol.Step{{
			Name: "charge", State: core.Processed, Attempt: 1,
			First: protocol.First{Nth: 1, At: at.Add(-core.Hour)}, Claim: protocol.Claim{At: at.Add(-core.Hour)},
			Finish: protocol.Finish{At: at.Add(-core.Hour + 3*core.Second)},
		}},
	})
	b.Put(&protocol.Task{
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

// Each line of watch states what the undo of an order waits for (P21). TestNotesOfOrdersAndSteps has the texts.
func TestUndoSaysWhatItWaitsFor(t *testing.T) {
	b := newBackend(noon)
	at := core.TimeOf(noon.Add(time.Minute))
	b.Put(&protocol.Task{
		OrderID: "undoing", Workflow: "order", ProcessState: core.Compensating,
		Undo: protocol.Reversal{Why: protocol.WhyFailure}, Created: at,
		Steps: []protocol.Step{{
			Name: "charge", State: core.UndoWait, Attempt: 1,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at}, Stops: protocol.Stops{Do: at + 20_000},
			Wait: protocol.StepWait{At: at + 21_001}, CompleteBy: at + 51_001,
		}},
	})
	c := call{server: serve(t, b).URL, until: "undoing  charge is undone from 12:01:21.001 on (in 21.0s), when"}
	c.run(t, "watch", "undoing").want(t, failure.General, c.until, "interrupted")
}

func TestShowNamesTheServer(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	url := serve(t, b).URL
	call{}.run(t, "show", "stopped", "--server", url).want(t, failure.OK,
		"stepkeeper --server "+url+" resubmit stopped")
}

// A document that cannot be read is shown as unreadable, in the list among the others.
func TestDamageIsShown(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	b.Damaged = "processed"
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
	b.Damaged = "none"
	call{server: serve(t, b).URL}.run(t, "list", "--damaged").want(t, failure.OK,
		"no order was set aside; `stepkeeper list --all` reads every order")
	b.Damaged = "processed"
	call{server: serve(t, b).URL}.run(t, "show", "processed").want(t, failure.OK,
		"the document is not JSON; restore it from a backup", "restore it from a backup, or end it with close")
}

// An erased order still has the codes of its errors, but not their texts.
func TestAnErasedOrderShowsCodes(t *testing.T) {
	b := newBackend(noon)
	b.Put(&protocol.Task{
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
		b.Put(task)
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
	c.run(t, "list", "--where", "late=soon").want(t, failure.Usage, "late is")
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
		switch looks++; looks {
		case 3:
			b.Change("running", func(t *protocol.Task) { t.ProcessState = core.Compensating })
		case 5:
			b.Change("running", func(t *protocol.Task) { t.Run++ })
		case 7:
			cancel()
		}
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

// What scrolls away cannot be replaced: a picture that changes has no more lines than the terminal has rows.
func TestWatchFitsTheTerminal(t *testing.T) {
	b := newBackend(noon)
	at := core.TimeOf(noon)
	long := protocol.Task{OrderID: "long", Workflow: "order", ProcessState: core.Processing, Created: at}
	for i := range 60 {
		long.Steps = append(long.Steps, protocol.Step{Name: fmt.Sprintf("step-%d", i), State: core.Pending})
	}
	b.Put(&long)
	c := call{server: serve(t, b).URL, terminal: true, until: "more lines"}
	r := c.run(t, "watch", "long")
	picture, _, _ := strings.Cut(r.out, "\x1b[J")
	require.Contains(t, picture, "step-1", "the first steps are not shown")
	require.NotContains(t, picture, "step-59")
	require.Less(t, strings.Count(picture, "\n"), 40, "more lines than rows")
	require.Contains(t, picture, "a higher terminal has room for them")
}

// Each answer of a server has an exit code and says what to do. TestStackFlags has those of a stack.
func TestServerFailures(t *testing.T) {
	for body, x := range map[string]struct {
		status int
		code   failure.Code
		want   string
	}{
		`{"code":"not-found","detail":"no such order"}`:          {404, failure.NotFound, "there is no order a"},
		`{"code":"invalid-request","detail":"path.id is wrong"}`: {400, failure.Usage, "path.id is wrong"},
		`{"code":"forbidden","detail":"another origin"}`:         {403, failure.Refused, "another origin"},
		`{"code":"other-content","detail":"it is another one"}`:  {409, failure.Refused, "order a: refused: it is another one"},
		`{"code":"unavailable","detail":"the disk is full"}`:     {503, failure.Refused, "the server accepts nothing now: the disk is full"},
		`{"code":"store-damaged","detail":"page 7 is damaged"}`:  {503, failure.General, "order a: page 7 is damaged"},
		`{"code":"internal","detail":"see request 7"}`:           {500, failure.General, "see request 7"},
		`<html>`:        {200, failure.Unreachable, "is it a Stepkeeper server?"},
		`<html></html>`: {404, failure.Unreachable, "is it a Stepkeeper server?"},
	} {
		server := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(x.status)
			_, _ = w.Write([]byte(body))
		})
		call{via: stacktest.Transport(t, server)}.run(t, "show", "a").want(t, x.code, x.want)
	}
	hangs := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	call{via: stacktest.Transport(t, hangs)}.run(t, "show", "a", "--timeout", "50ms").want(t, failure.Unreachable,
		"order a: the server http://127.0.0.1:1 did not respond in time\n")
}

func TestList(t *testing.T) {
	b := newBackend(noon)
	fill(b)
	at := core.TimeOf(noon)
	b.Put(&protocol.Task{
		OrderID: "half-undone", Workflow: "order", ProcessState: core.Error, Phase: core.Undoing,
		Created: at, End: protocol.End{At: at.Add(core.Second)},
		Reason: protocol.Reason{Step: "charge", Text: strings.Repeat("long ", 20)},
		Steps: []protocol.Step{{
			Name: "charge", State: core.UndoWait, Attempt: 1,
			First: protocol.First{Nth: 1, At: at},
			Claim: protocol.Claim{At: at},
		}},
	})
	c := call{server: serve(t, b).URL}
	for flags, want := range map[string]string{
		"--where state=error":                        "half-undone stopped",
		"--where state=Processed":                    "processed",
		"--where workflow=provision":                 "stopped",
		"--where older=30m":                          "processed",
		"--where older=1d":                           "",
		"--limit 1":                                  "half-undone",
		"--limit 4":                                  "half-undone processed running stopped",
		"--limit 1 --all":                            "half-undone processed running stopped",
		"--where workflow=provision,state=processed": "",
		"--where step=zone":                          "stopped",
		"--where code=http-422 --where state=error":  "stopped",
		"--where code=nothing":                       "",
		"--where id=pro --limit 1":                   "processed",
	} {
		r := c.run(t, append([]string{"list", "--output", "json"}, strings.Fields(flags)...)...)
		r.want(t, failure.OK)
		var ids []string
		for _, o := range decodeLines(t, r.out) {
			ids = append(ids, o["orderId"].(string))
		}
		require.Equal(t, want, strings.Join(ids, " "), flags)
	}
	c.run(t, "list", "--where", "id=half").want(t, failure.OK, "Error (undo)",
		"charge: "+strings.Repeat("long ", 19)+"long")
	c.terminal = true
	c.run(t, "list", "--where", "id=half").want(t, failure.OK, "charge: "+(strings.Repeat("long ", 20))[:32]+"…\n")
}
