package main_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/verify/awsstub"
)

// Earlier versions: the last commit whose programs know calls only, and no schema but 1; and the last whose programs know no other
// input of an order (P51).
const (
	callsOnly    = "5f8bd84"
	noOtherInput = "b8f7d9c"
)

// plain and corrected are workflows that both versions know, the latter until an order of it is given another input (P51); asking is one
// that only the present one does.
const (
	plain = `workflow: plain
steps:
  seat: {agent: inventory, operation: reserve, timeout: 1m, onFailure: undo, undo: release, grade: fenced}
  pay: {agent: payment, operation: charge, after: [seat], timeout: 1m, onFailure: undo, undo: refund, grade: fenced}
`
	corrected = `workflow: corrected
steps:
  seat: {agent: inventory, operation: reserve, timeout: 1m, retry: {maxFailures: 1}, onFailure: stop, undo: release, grade: fenced}
  pay: {agent: payment, operation: charge, after: [seat], timeout: 1m, onFailure: stop, undo: refund, grade: fenced}
`
	asking = `workflow: asking
steps:
  seat: {agent: inventory, operation: reserve, timeout: 1m, onFailure: undo, undo: release, grade: fenced}
  agree: {approval: {question: "Go?", answers: ['yes', 'no'], timeout: 1h, onTimeout: undo}, after: [seat]}
  pay: {agent: payment, operation: charge, after: [agree], timeout: 1m, onFailure: undo, undo: refund, grade: fenced}
`
)

// source of an earlier version, in a folder of its own; the test is skipped where the history is not there.
func sourceOf(t *testing.T, commit string) string {
	t.Helper()
	root, err := filepath.Abs("../../..")
	if err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("git", "-C", root, "cat-file", "-e", commit+"^{commit}").CombinedOutput(); err != nil {
		t.Skipf("SKIPPED: NO OLD PROGRAM WAS RUN BESIDE THE PRESENT ONE, because this checkout has no history back to commit %s (%s); get it with: git fetch --unshallow", commit, bytes.TrimSpace(out))
	}
	archive, err := exec.Command("git", "-C", root, "archive", commit).Output()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	unpack := exec.Command("tar", "-x", "-C", dir)
	unpack.Stdin = bytes.NewReader(archive)
	if out, err := unpack.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return dir
}

// versions are a Scheduler of an earlier version and one of this, each in a process of its own, on the same tables and queues.
type versions struct {
	t *testing.T
	*awsstub.Stub
	old, present *awsstub.Function
	waiting      map[string][]string // messages by queue
	kept         int                 // messages of orders it does not know that the old one returned
	asked        map[string]int      // requests by order and step
	ended        map[string]bool
	stopped      []string // commands to orders that are to stop
	random       *rand.Rand
}

func start(t *testing.T, before string) *versions {
	t.Helper()
	v := &versions{t: t, Stub: awsstub.New(t), waiting: map[string][]string{}, asked: map[string]int{}, ended: map[string]bool{}, random: rand.New(rand.NewPCG(1, 2))}
	for table, key := range map[string]string{"orders": "OrderID", "tasks": "OrderID", "definitions": "Hash"} {
		v.Keep(table, key)
	}
	v.old = v.function(sourceOf(t, before), "old", plain, corrected)
	v.present = v.function("../../..", "present", plain, corrected, asking)
	return v
}

// function builds the Scheduler of a checkout, with these workflows in its package.
func (v *versions) function(checkout, name string, workflows ...string) *awsstub.Function {
	v.t.Helper()
	dir := v.t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "workflows"), 0o700); err != nil {
		v.t.Fatal(err)
	}
	for i, text := range workflows {
		file := filepath.Join(dir, fmt.Sprint(i, ".yaml"))
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			v.t.Fatal(err)
		}
		d, problems := source.LoadFile(file, source.Options{})
		if err := problems.Err(); err != nil {
			v.t.Fatal(err)
		}
		data, err := workflow.Encode(d)
		if err == nil {
			err = os.WriteFile(filepath.Join(dir, "workflows", fmt.Sprint(i, ".json")), data, 0o600)
		}
		if err != nil {
			v.t.Fatal(err)
		}
	}
	binary := filepath.Join(dir, "bootstrap")
	build := exec.Command("go", "build", "-o", binary, "./functions/scheduler/bootstrap")
	build.Dir = checkout
	if out, err := build.CombinedOutput(); err != nil {
		v.t.Fatalf("build the %s Scheduler: %v\n%s", name, err, out)
	}
	return awsstub.Start(v.t, binary, v.Variables(map[string]string{
		"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/23/[$LATEST]" + name, "LAMBDA_TASK_ROOT": dir,
		deployment.VarOrders: "orders", deployment.VarTasks: "tasks", deployment.VarDefinitions: "definitions", deployment.VarShards: "8",
		deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts", deployment.VarReplyTo: v.Queues("shop"),
		deployment.VarQueues: v.Queues("intake", "replies", "control", "quarantine", "requests-inventory", "requests-payment"),
	}))
}

// take hands a message to a function, and keeps it where it is returned to the queue.
func (v *versions) take(f *awsstub.Function, queue, body string) {
	v.t.Helper()
	newer := strings.Contains(body, "asking-") || v.given(body)
	var version string
	if newer && f == v.old {
		version = fmt.Sprint(v.task(body))
	}
	again := f.Invoke(events.SQSEvent{Records: []events.SQSMessage{{MessageId: "m", ReceiptHandle: "r", Body: body, EventSourceARN: "arn:aws:sqs:eu-central-1:1:" + queue}}})
	if len(again) > 0 {
		v.waiting[queue] = append(v.waiting[queue], body)
	}
	if newer && f == v.old {
		if len(again) == 0 || fmt.Sprint(v.task(body)) != version {
			v.t.Errorf("the old Scheduler kept %s, or changed its order", body)
		}
		v.kept++
	}
}

// given: the message is one that gives another input, or is of an order that has been given one.
func (v *versions) given(body string) bool {
	return strings.Contains(body, "corrected-") && (strings.Contains(body, `"input"`) || !strings.Contains(body, `"workflow"`) && v.task(body)["Schema"]["N"] == "3")
}

func (v *versions) task(body string) awsstub.Item {
	var m struct{ Task string }
	if err := json.Unmarshal([]byte(body), &m); err != nil {
		v.t.Fatal(err)
	}
	return v.Item("tasks", m.Task)
}

// correct fails the first attempt of the first step, at which the order stops: the second one is then given another input.
func (v *versions) correct(r *message.Request, answer *message.Reply) {
	const input = `{"amount":7}`
	switch {
	case r.Step == "seat" && r.Attempt == 1:
		answer.Outcome, answer.Error = core.OutcomeFailed, &message.ReplyError{Code: "sold-out", Message: "none is left"}
		v.asked[r.OrderID+" "+r.Step]-- // it is asked again
		v.stopped = append(v.stopped, fmt.Sprintf(`{"schema":2,"kind":"resubmit","task":%q,"id":"r-1","step":"pay","input":%s,"by":"ann"}`, r.OrderID, input))
	case r.Step == "pay" && string(r.Input) != input:
		v.t.Errorf("%s: pay was asked for with %s", r.OrderID, r.Input)
	}
}

// agents answer all requests, as often as they come; the question of each order that has come to it is answered once.
func (v *versions) agents() {
	v.t.Helper()
	for _, agent := range []string{"inventory", "payment"} {
		for _, body := range v.Sent("requests-" + agent) {
			var r message.Request
			if err := json.Unmarshal([]byte(body), &r); err != nil {
				v.t.Fatal(err)
			}
			v.asked[r.OrderID+" "+r.Step]++
			answer := message.Reply{Schema: message.Schema, OrderID: r.OrderID, Run: r.Run, Step: r.Step, Agent: agent, Attempt: r.Attempt, Operation: r.Operation, Outcome: core.OutcomeDone}
			if strings.HasPrefix(r.OrderID, "corrected-") {
				v.correct(&r, &answer)
			}
			reply, err := json.Marshal(answer)
			if err != nil {
				v.t.Fatal(err)
			}
			v.waiting["replies"] = append(v.waiting["replies"], string(reply))
			if r.Step == "seat" && strings.HasPrefix(r.OrderID, "asking-") {
				v.waiting["control"] = append(v.waiting["control"], fmt.Sprintf(`{"schema":2,"kind":"answer","task":%q,"id":"a-1","step":"agree","round":1,"by":"ann","value":"yes"}`, r.OrderID))
			}
		}
	}
	for _, body := range v.Sent("shop") {
		var s message.Status
		if err := json.Unmarshal([]byte(body), &s); err != nil {
			v.t.Fatal(err)
		}
		if s.Kind == core.StatusCompleted {
			v.ended[s.OrderID] = true
		}
	}
	v.waiting["control"] = append(v.waiting["control"], v.Sent("control")...)
	v.stopped = slices.DeleteFunc(v.stopped, func(body string) bool {
		there := v.task(body)["ProcessState"]["S"] == string(core.Error)
		if there {
			v.waiting["control"] = append(v.waiting["control"], body)
		}
		return there
	})
}

// During a deploy, functions of two versions take from the same queues. Orders of workflows that both know may be handled by both
// in turns; the old one returns what belongs to others, and changes nothing of it.
func TestTwoVersionsOnOneStore(t *testing.T) {
	if testing.Short() {
		t.Skip("builds two programs")
	}
	t.Run("a workflow of a new kind", func(t *testing.T) { twoVersions(t, callsOnly, "asking") })
	t.Run("another input", func(t *testing.T) { twoVersions(t, noOtherInput, "corrected") })
}

// twoVersions runs orders that both know, and others of a workflow.
func twoVersions(t *testing.T, before, other string) {
	v := start(t, before)
	const orders = 20
	for i := range orders {
		submit := `{"schema":1,"orderId":"%s-%d","workflow":"%s","replyTo":"shop","order":{}}`
		v.take([]*awsstub.Function{v.old, v.present}[i%2], "intake", fmt.Sprintf(submit, "plain", i, "plain"))
		to := v.present
		if other == "corrected" {
			to = []*awsstub.Function{v.old, v.present}[i%2]
		}
		v.take(to, "intake", fmt.Sprintf(submit, other, i, other))
	}
	for round := 0; len(v.ended) < 2*orders; round++ {
		if round > 200 {
			t.Fatalf("%d of %d orders ended; waiting: %v", len(v.ended), 2*orders, v.waiting)
		}
		v.agents()
		now := v.waiting
		v.waiting = map[string][]string{}
		for _, queue := range []string{"control", "replies"} {
			for _, body := range now[queue] {
				v.take([]*awsstub.Function{v.old, v.present}[v.random.IntN(2)], queue, body)
			}
		}
	}
	if len(v.asked) != 4*orders || v.kept == 0 {
		t.Errorf("%d steps were asked for; the old Scheduler returned %d messages", len(v.asked), v.kept)
	}
	for step, n := range v.asked {
		if n != 1 {
			t.Errorf("%s was asked for %d times", step, n)
		}
	}
	if q := v.Sent("quarantine"); len(q) > 0 {
		t.Errorf("quarantined: %q", q)
	}
	t.Logf("%d orders ended; the old Scheduler returned %d messages of orders that it does not know", len(v.ended), v.kept)
}
