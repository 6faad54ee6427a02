package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/stack"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
)

// onStack calls the program against a stack that is not on AWS.
func onStack(w *stacktest.World, in string) call {
	return call{in: in, openStack: func(_ context.Context, name string, o stack.Options, opts ...client.Option) (*client.Client, error) {
		if name != "Shop" || o.Region != "eu-central-1" {
			return nil, fmt.Errorf("stack %s in %s: %w", name, o.Region, stack.ErrNoStack)
		}
		return w.Client(opts...), nil
	}}
}

// The same commands as with --server, with the same exit codes.
func TestCommandsOnAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	line := func(id, workflow, end string) string {
		return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":%q,"order":{"end":%q}}`+"\n", id, workflow, end)
	}
	run := func(in string, args ...string) result {
		return onStack(w, in).run(t, append(args, "--stack", "Shop", "--region", "eu-central-1")...)
	}
	run(line("o-0", "order", ""), "submit", "-").want(t, failure.OK, "o-0: accepted (queued)\n")
	run(line("o-1", "order", ""), "submit", "--wait", "-").want(t, failure.OK, "o-1: accepted, Processed\n")
	run(line("o-1", "order", "fail"), "submit", "--wait", "-").want(t, failure.Refused, "with the ID \"o-1\" and other content")
	run(line("o-2", "order", "fail")+"nonsense\n", "submit", "-").want(t, failure.Usage, "standard input:2: not sent")
	// Queued is not there yet: submitting it again, which is harmless, waits until it is.
	run(line("o-2", "order", "fail"), "submit", "--wait", "-").want(t, failure.NotProcessed, "o-2: Compensated")
	run("", "watch", "o-2").want(t, failure.NotProcessed, "o-2  Compensated")
	run(line("o-3", "order", "fail"), "submit", "--wait", "-").want(t, failure.NotProcessed, "o-3: Compensated")

	w.Broken.Store(true)
	run(line("o-4", "halt", ""), "submit", "--wait", "-").want(t, failure.NotProcessed, "o-4: Error")
	run("", "show", "o-4").want(t, failure.OK, "stepkeeper --stack Shop --region eu-central-1 resubmit o-4", "card was declined")
	run("", "list", "--state", "Error").want(t, failure.OK, "o-4")
	run("", "undo", "o-4", "--command", "7").want(t, failure.Refused, "o-4: undo refused: the task has had another command")
	w.Broken.Store(false)
	run("", "resolve", "o-4", "zone", "happened").want(t, failure.NotFound, "its steps are reserve, charge")
	run("", "resubmit", "o-4").want(t, failure.OK, "o-4: resubmit accepted\n")
	run("", "watch", "o-4").want(t, failure.OK, "o-4  Processed")
	run("", "cancel", "o-4").want(t, failure.Refused, "o-4: cancel refused")
	run("", "cancel", "tpyo").want(t, failure.NotFound, "add --unknown")
	run("", "cancel", "early", "--unknown").want(t, failure.OK, "early: cancel accepted")
	run("", "show", "tpyo").want(t, failure.NotFound, "there is no order tpyo", "stepkeeper --stack Shop --region eu-central-1 list")

	r := run(line("o-5", "order", ""), "submit", "--output", "json", "-")
	r.want(t, failure.OK)
	if l := decodeLines(t, r.out)[0]; l["accepted"] != true || l["queued"] != true || l["known"] != false || l["ended"] != false {
		t.Errorf("%v", l)
	}
	w.Parts.Outputs.Finished = false
	if r := run("", "list"); r.code != failure.OK || !strings.Contains(r.err, "ended orders are not listed") {
		t.Errorf("%+v", r)
	}
}

func TestStackFlags(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	for _, x := range []struct {
		code failure.Code
		args string
		want string
	}{
		{failure.Usage, "show o --stack Shop --server http://127.0.0.1:1", "--stack and --server are given together"},
		{failure.Usage, "show o --region eu-central-1", "--region is that of a stack"},
		{failure.Usage, "workflow list --stack Shop --region eu-central-1", "inside its functions"},
		{failure.NotFound, "show o --stack Shpo --region eu-central-1", "no such stack"},
	} {
		onStack(w, "").run(t, strings.Fields(x.args)...).want(t, x.code, x.want)
	}
	for _, x := range []struct {
		code failure.Code
		err  error
		want string
	}{
		{failure.Refused, &client.Error{Status: http.StatusForbidden, Detail: "the permission cloudformation:DescribeStacks on stack Shop is missing"}, "DescribeStacks"},
		{failure.Usage, &client.Error{Status: http.StatusBadRequest, Detail: "no AWS region is set"}, "--region"},
		{failure.Unreachable, fmt.Errorf("%w: no route", client.ErrConnection), "the stack Shop cannot be reached"},
		{failure.Unreachable, context.DeadlineExceeded, "the stack Shop did not answer in time"},
		{failure.General, errors.New("its outputs are of version \"2\""), "version \"2\""},
	} {
		c := call{openStack: func(context.Context, string, stack.Options, ...client.Option) (*client.Client, error) {
			return nil, x.err
		}}
		c.run(t, "show", "o", "--stack", "Shop").want(t, x.code, x.want)
	}
	w.Held.Store(true)
	onStack(w, `{"schema":1,"orderId":"o","workflow":"order","order":{}}`).run(t, "submit", "--wait", "-", "--timeout", "100ms", "--stack", "Shop", "--region", "eu-central-1").
		want(t, failure.Unreachable, "the stack Shop did not answer in time", "1 orders were acknowledged before this")
}

// A command whose verdict is late is queued, not unreachable: it is told with its ID, and that ID
// asks for the verdict again.
func TestCommandWithoutAVerdictOnAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	run := func(args ...string) result {
		return onStack(w, "").run(t, append(args, "--stack", "Shop", "--region", "eu-central-1")...)
	}
	onStack(w, `{"schema":1,"orderId":"o","workflow":"order","order":{"end":"never"}}`).run(t, "submit", "-", "--stack", "Shop", "--region", "eu-central-1").want(t, failure.OK)
	for _, err := w.Client().Get(t.Context(), "o"); err != nil; _, err = w.Client().Get(t.Context(), "o") { // until it is known
		if !errors.Is(err, client.ErrNotFound) {
			t.Fatal(err)
		}
	}
	w.Held.Store(true)
	r := run("cancel", "o", "--timeout", "100ms")
	r.want(t, failure.General, "order o: command ", "is queued, and its verdict has not come yet", "--command-id ")
	_, rest, _ := strings.Cut(r.err, "--command-id ")
	id := strings.Fields(rest)[0]
	w.Held.Store(false)
	run("cancel", "o", "--command-id", id).want(t, failure.OK, "o: cancel accepted")
	run("show", "o", "--output", "json").want(t, failure.OK, `"id": "`+id+`"`)
	run("cancel", "o", "p", "--command-id", id).want(t, failure.Usage, "--command-id belongs to one command of one order")
}
