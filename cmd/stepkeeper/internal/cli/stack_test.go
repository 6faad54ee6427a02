package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// onStack calls the program against a stack that is not on AWS.
func onStack(w *stacktest.Deployment, in string) call {
	return call{in: in, openStack: func(_ context.Context, name string, o aws.Options,
		opts ...client.Option,
	) (*client.Client, error) {
		if name != "Shop" || o.Region != "eu-central-1" {
			return nil, fmt.Errorf("stack %s in %s: %w", name, o.Region, aws.ErrNoStack)
		}
		return w.Client(opts...), nil
	}}
}

// With --stack the commands work as with --server, and have the same exit codes.
func TestCommandsOnAStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stacktest.New(t, stacktest.Memory())
		line := func(id, workflow, end string) string {
			return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":%q,"order":{"end":%q}}`+"\n", id, workflow,
				end)
		}
		run := func(in string, args ...string) result {
			return onStack(w, in).run(t, append(args, "--stack", "Shop", "--region", "eu-central-1")...)
		}
		run(line("o-0", "order", ""), "submit", "-").want(t, failure.OK, "o-0: accepted (queued)\n")
		run(line("o-1", "order", ""), "submit", "--wait", "-").want(t, failure.OK, "o-1: accepted, Processed\n")
		// A queued order does not exist yet. Submitting it again, which is harmless, waits until it exists.
		run(line("o-2", "order", "fail"), "submit", "-").want(t, failure.OK, "o-2: accepted (queued)")
		run(line("o-2", "order", "fail"), "submit", "--wait", "-").want(t, failure.NotProcessed,
			"o-2: accepted, Compensated")

		w.Broken.Store(true)
		run(line("o-4", "halt", ""), "submit", "--wait", "-").want(t, failure.NotProcessed,
			"o-4: accepted, Error")
		run("", "show", "o-4").want(t, failure.OK, "stepkeeper --stack Shop --region eu-central-1 resubmit o-4",
			"card was declined", "History")
		run("", "show", "o-4", "--messages").want(t, failure.OK, "received order", "sent alert Error",
			"sent request reserve to shop, attempt 1")
		run("", "show", "o-4", "--output", "json").want(t, failure.OK, `"kind": "alert"`)
		run("", "list", "--where", "state=Error").want(t, failure.OK, "o-4")
		w.Broken.Store(false)
		run("", "resubmit", "o-4").want(t, failure.OK, "o-4: resubmit accepted\n")
		run("", "watch", "o-4").want(t, failure.OK, "o-4  Processed")
		run(line("q-1", "ask", "x"), "submit", "-").want(t, failure.OK, "q-1: accepted (queued)\n")
		for { // until the Scheduler has taken it from the queue
			asked, err := w.Client().Get(t.Context(), "q-1")
			if err == nil && asked.Steps[0].State == core.Waiting {
				break
			}
			time.Sleep(time.Second)
		}
		w.Parts.Outputs.Workflows = map[string]string{"Order": "67d6291b301412df4a6ca7808aeafac9"}
		for _, command := range []string{"approvals --workflow nope", "list --where workflow=nope"} {
			run("", strings.Fields(command)...).want(t, failure.NotFound,
				`there is no workflow "nope", and no order of it`, "look at what was deployed in the stack Shop")
		}
		run("", "approvals", "--workflow", "order").want(t, failure.OK, "no approval is open")
		run("", "approvals").want(t, failure.OK, "May q-1 go on?")
		run("", "approvals", "--output", "json").want(t, failure.OK, "May q-1 go on?", `"show":{"end":"x"}`)
		run("", "show", "q-1").want(t, failure.OK, "May q-1 go on?")
		run("", "show", "tpyo").want(t, failure.NotFound, "there is no order tpyo",
			"stepkeeper --stack Shop --region eu-central-1 list")

		r := run(line("o-5", "order", ""), "submit", "--output", "json", "-")
		r.want(t, failure.OK)
		l := decodeLines(t, r.out)[0]
		require.Equal(t, true, l["accepted"])
		require.Equal(t, true, l["queued"])
		require.Equal(t, false, l["known"])
		require.Equal(t, false, l["ended"])
		w.Parts.Outputs.Finished = false
		r = run("", "list")
		require.Equal(t, failure.OK, r.code)
		require.Contains(t, r.err, "ended orders are not listed")
	})
}

// Once an order has run the workflow, submit checks orders before it sends them. Before that the Scheduler
// refuses them.
func TestSubmitToAStackChecksTheSchema(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	def, _ := source.Parse("order.yaml", []byte(stacktest.Workflows["order"]), source.Options{})
	w.Parts.Outputs.Workflows = map[string]string{"Order": def.Hash}
	submit := func(id, order string, flags ...string) result {
		text := fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"order","order":%s}`, id, order)
		return onStack(w, text).run(t, append([]string{
			"submit", "-", "--stack", "Shop", "--region",
			"eu-central-1",
		}, flags...)...)
	}
	const mismatch = "the order does not match the schema of the workflow order: at /end it is a number, " +
		"not a text"
	_, err := w.Client().OrderSchema(t.Context(), "order")
	require.ErrorIs(t, err, client.ErrNotFound, "before the first order")
	submit("o-1", `{"end":""}`, "--wait").want(t, failure.OK, "o-1: accepted, Processed")
	submit("o-2", `{"end":7}`).want(t, failure.Usage, "standard input:1: o-2: not sent: "+mismatch)
	require.NotContains(t, submit("o-1", `{"end":7}`).err, "not sent", "an order that exists was not left to the Scheduler")
}

func TestStackFlags(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	onStack(w, "").run(t, "show", "o", "--stack", "Shpo", "--region", "eu-central-1").want(t, failure.NotFound,
		"no such stack")
	for _, x := range []struct {
		code failure.Code
		err  error
		want string
	}{
		{
			failure.Refused, &client.Error{
				Status: http.StatusForbidden, Code: "forbidden",
				Detail: "the permission cloudformation:DescribeStacks on stack Shop is missing",
			},
			"DescribeStacks",
		},
		{
			failure.Usage, client.Errorf(http.StatusBadRequest, aws.CodeNoConfiguration, "no AWS region is set"),
			"--region",
		},
		{
			failure.Unreachable, fmt.Errorf("%w: no route", client.ErrConnection),
			"the stack Shop cannot be reached",
		},
		{
			failure.Refused, client.Errorf(http.StatusTooManyRequests, "busy", "cloudformation:DescribeStacks is throttled"),
			"stack Shop: the stack accepts nothing now: cloudformation:DescribeStacks is throttled",
		},
		{
			failure.General, client.Errorf(http.StatusBadRequest, "ResourceInUseException", "it is in use"),
			"the stack cannot be used: it is in use",
		},
		{failure.Unreachable, context.DeadlineExceeded, "the stack Shop did not respond in time"},
		{failure.General, errors.New("its outputs are of version \"2\""), "version \"2\""},
	} {
		c := call{openStack: func(context.Context, string, aws.Options, ...client.Option) (
			*client.Client, error,
		) {
			return nil, x.err
		}}
		c.run(t, "show", "o", "--stack", "Shop").want(t, x.code, x.want)
	}
	for status, want := range map[int]string{
		http.StatusInternalServerError: "list of orders: the server answered 500 Internal Server Error\n  the logs of " +
			"the stack's functions say more",
		http.StatusServiceUnavailable: "list of orders: the stack accepts nothing now",
	} {
		server := httptest.NewServer(
			http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
		c := call{openStack: func(context.Context, string, aws.Options, ...client.Option) (*client.Client, error) {
			return client.New(server.URL, client.WithRetry(1, time.Second))
		}}
		require.Contains(t, c.run(t, "list", "--stack", "Shop").err, want)
		server.Close()
	}
}

// A command whose verdict is late is queued, not unreachable: it is reported with its ID, and that ID
// asks for the verdict again.
func TestCommandWithoutAVerdictOnAStack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := stacktest.New(t, stacktest.Memory())
		run := func(args ...string) result {
			return onStack(w, "").run(t, append(args, "--stack", "Shop", "--region", "eu-central-1")...)
		}
		onStack(w, `{"schema":1,"orderId":"o","workflow":"order","order":{"end":"never"}}`).run(t, "submit", "-",
			"--stack", "Shop", "--region", "eu-central-1").want(t, failure.OK)
		// wait until the order is known
		for _, err := w.Client().Get(t.Context(), "o"); err != nil; _, err = w.Client().Get(t.Context(), "o") {
			require.ErrorIs(t, err, client.ErrNotFound)
		}
		w.Held.Store(true)
		r := run("cancel", "o", "--timeout", "2s")
		r.want(t, failure.General, "order o: command ", "is queued, and has no verdict yet",
			"--command-id ")
		_, rest, _ := strings.Cut(r.err, "--command-id ")
		id := strings.Fields(rest)[0]
		w.Held.Store(false)
		run("cancel", "o", "--command-id", id).want(t, failure.OK, "o: cancel accepted")
		run("show", "o", "--output", "json").want(t, failure.OK, `"id": "`+id+`"`)
		run("cancel", "o", "p", "--command-id", id).want(t, failure.Usage,
			"--command-id belongs to one command of one order")
	})
}

// states holds the state of each event source mapping by its UUID; "" if reading it is forbidden.
type states map[string]string

func (s states) answer(c awsstub.Call) (int, string) {
	if strings.HasSuffix(c.Path, "/account-settings") {
		return http.StatusOK, fmt.Sprintf(`{"AccountLimit":{"ConcurrentExecutions":10,"TotalCodeSize":%d},`+
			`"AccountUsage":{"TotalCodeSize":%d}}`, 10<<20, 1<<20)
	}
	state := s[path.Base(c.Path)]
	if c.Action != "lambda:GET" || state == "" {
		return http.StatusForbidden, `{"code":"AccessDeniedException","message":"ann may not"}`
	}
	return http.StatusOK, fmt.Sprintf(`{"State":%q,"LastModified":%d}`, state, noon.Add(20*time.Second).Unix())
}

// looked are queues that may be looked at. Two requests are seen to wait and one to be in flight, whatever
// the agent of the stack has taken until then.
type looked struct {
	aws.Queues
	all *memory.Queues
}

type lookedAt struct{ port.Queue }

func (lookedAt) Depth(context.Context) (port.Depth, error) {
	return port.Depth{Visible: 2, InFlight: 1}, nil
}

func (q looked) Queue(name string) (port.Queue, error) {
	if name == port.Intake || name == port.Control {
		return q.Queues.Queue(name)
	}
	found, err := q.all.Queue(name)
	return lookedAt{found}, err
}

// An agent whose mapping is disabled is reported with the words of `dev` and by the same commands: show,
// list, submit, and smoke before its first order.
func TestUnattendedAgentOnAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Outputs.Requests = map[string]string{"shop": "url"}
	w.Parts.Outputs.Mappings = map[string]string{port.Intake: "m-intake", port.Requests("shop"): "m-shop"}
	w.Parts.Queues = looked{w.Parts.Queues, w.Queues}
	w.Parts.Unattended = time.Nanosecond
	mappings := states{"m-intake": "Enabled", "m-shop": "Disabled"}
	config := awsstub.Config(t, mappings.answer)
	w.Parts.Config = &config
	run := func(in string, args ...string) result {
		return onStack(w, in).run(t, append(args, "--stack", "Shop", "--region", "eu-central-1")...)
	}
	line := func(id string) string {
		return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"order","order":{"end":"never"}}`+"\n", id)
	}
	const reported = "queue requests-shop has had no consumer for 40.0s, 2 messages waiting: its event " +
		"source mapping is " +
		"disabled; " +
		"enable it with `stepkeeper --stack Shop --region us-east-1 aws resume`, which starts the whole stack"
	r := run(line("o-1")+line("o-2"), "submit", "-")
	r.want(t, failure.OK, reported)
	require.Equal(t, 1, strings.Count(r.err, "no consumer"))
	// wait until the order is known
	for _, err := w.Client().Get(t.Context(), "o-1"); err != nil; _,
		err = w.Client().Get(t.Context(), "o-1") {
		require.ErrorIs(t, err, client.ErrNotFound)
	}
	run("", "show", "o-1").want(t, failure.OK, reported)
	first := func(output, member string) any {
		unattended := decodeLines(t, output)[0]["unattended"].([]any)
		return unattended[0].(map[string]any)[member]
	}
	require.EqualValues(t, 2, first(run(line("o-3"), "submit", "--output", "json", "-").out, "waiting"))
	require.Equal(t, "shop", first(run("", "list", "--output", "json").err, "agent"))
	require.Equal(t, "its event source mapping is disabled",
		first(run("", "doctor", "--smoke", "--orders", "1", "--output", "json").out, "reason"))

	// A queue that may not be read gets one warning.
	mappings["m-shop"] = ""
	const unknown = "not known whether something takes from requests-shop: the permission " +
		"lambda:GetEventSourceMapping on the event source mapping of requests-shop is missing"
	for _, args := range [][]string{{"submit", "-"}, {"list"}, {"show", "o-1"}, {"doctor", "--smoke", "--orders", "1"}} {
		r := run(line("o-5")+line("o-6"), args...)
		r.want(t, failure.OK, "warning: "+unknown)
		require.Equal(t, 1, strings.Count(r.err, "not known"), "%v", args)
		require.NotContains(t, r.out+r.err, "no consumer", "%v", args)
	}
	require.Contains(t, decodeLines(t, run("", "list", "--output", "json").err)[0]["warning"], unknown)
	require.Contains(t, decodeLines(t, run("", "show", "o-1", "--output", "json").out)[0]["unchecked"], unknown)
}
