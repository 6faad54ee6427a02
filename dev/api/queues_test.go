package api_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// sendTo sends one message as an SDK does, and answers the status and the error's type.
func (r *rig) sendTo(queue, body string, more string) (int, string) {
	r.Helper()
	text := fmt.Sprintf(`{"QueueUrl":"%s/000000000000/%s","MessageBody":%q%s}`, r.url, queue, body, more)
	a := r.do("POST", "/", "application/x-amz-json-1.0", text, "X-Amz-Target", "AmazonSQS.SendMessage")
	typ, _ := a.json(r.T)["__type"].(string)
	return a.status, strings.TrimPrefix(typ, "com.amazonaws.sqs#")
}

// TestIntakeQueue: a message is acknowledged when it is committed (P27), or reported to be refused.
func TestIntakeQueue(t *testing.T) {
	r := newRig(t)
	if status, typ := r.sendTo("intake", orderJSON("o-1"), ""); status != 200 ||
		r.backend.Seen("o-1") == nil {
		t.Fatalf("%d %s", status, typ)
	}
	r.sendTo("intake", `{"schema":1,"orderId":"bad","replyTo":"shop","color":1}`, "")
	r.sendTo("intake", "nonsense", "")
	r.sendTo("intake", strings.Replace(orderJSON("o-1"), "12.50", "1", 1), "")
	if n := len(r.backend.Rejected); n != 3 {
		t.Fatalf("%d messages rejected, want 3", n)
	}
	first := r.backend.Rejected[0]
	if first.Queue != port.Intake || !strings.Contains(string(first.Body), `"replyTo":"shop"`) || first.Err == nil {
		t.Errorf("the application of a refused order cannot be notified: %+v", first)
	}
	r.backend.Busy(1)
	if status, typ := r.sendTo("intake", orderJSON("o-2"), ""); status != 400 || typ != "RequestThrottled" {
		t.Errorf("busy: %d %s", status, typ)
	}
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	if status, typ := r.sendTo("intake", orderJSON("o-2"), ""); status != 503 || typ != "ServiceUnavailable" {
		t.Errorf("disk full: %d %s", status, typ)
	}
	r.backend.Down(nil)
	if status, typ := r.sendTo("intake", orderJSON("o-2"), `,"DelaySeconds":1`); status != 400 ||
		typ != "InvalidParameterValue" {
		t.Errorf("delay: %d %s", status, typ)
	}
	if r.backend.Seen("o-2") != nil || len(r.backend.Rejected) != 3 {
		t.Error("what was not acknowledged was stored or rejected all the same")
	}
}

func TestControlQueue(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	if status, typ := r.sendTo("control", `{"schema":1,"kind":"undo","task":"o","id":"c-1","command":2}`,
		""); status != 200 {
		t.Fatalf("%d %s", status, typ)
	}
	want := message.Control{OrderID: "o", Event: core.Command{Name: core.UndoCommand, ID: "c-1", Number: 2}}
	if got := r.backend.Commands; len(got) != 1 || !reflect.DeepEqual(got[0], want) {
		t.Errorf("commands: %+v", got)
	}
	for _, body := range []string{
		`{"schema":1,"kind":"wake","task":"o","run":0,"step":"charge","attempt":1}`, // the runtime's own
		`{"schema":1,"kind":"undo","task":"none","id":"c-2","command":0}`,           // unknown order
		`{"schema":1,"kind":"undo","task":"../o","id":"c-3","command":0}`,
		`nonsense`,
	} {
		if status, typ := r.sendTo("control", body, ""); status != 200 {
			t.Errorf("%s: %d %s", body, status, typ)
		}
	}
	if n := len(r.backend.Rejected); n != 4 {
		t.Errorf("%d rejected, want 4", n)
	}
	r.backend.Verdict = func(message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{}, fmt.Errorf("shutting down: %w", port.ErrUnavailable)
	}
	if status, typ := r.sendTo("control", `{"schema":1,"kind":"cancel","task":"o","id":"c-4"}`,
		""); status != 503 {
		t.Errorf("unavailable: %d %s", status, typ)
	}
}

// What an application may send beside its orders is a message to the intake queue, as on AWS.
func TestCommandsToTheIntakeQueue(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for _, body := range []string{
		`{"schema":1,"kind":"cancel","task":"o","id":"c-1"}`,
		`{"schema":1,"kind":"answer","task":"o","id":"c-2","round":1,"value":"yes","token":"x"}`,
	} {
		if status, typ := r.sendTo("intake", body, ""); status != 200 {
			t.Errorf("%s: %d %s", body, status, typ)
		}
	}
	if got := r.backend.Commands; len(got) != 2 || got[0].Kind() != message.Cancel ||
		got[1].Event.(core.Answered).Token != "x" || len(r.backend.Rejected) != 0 {
		t.Errorf("commands %+v, rejected %+v", got, r.backend.Rejected)
	}
	for _, body := range []string{
		`{"schema":1,"kind":"undo","task":"o","id":"c-3"}`,
		`{"schema":1,"kind":"answer","task":"o","id":"c-4","step":"ask","round":1,"value":"yes","by":"eve"}`,
	} {
		if status, typ := r.sendTo("intake", body, ""); status != 200 {
			t.Errorf("%s: %d %s", body, status, typ)
		}
	}
	if len(r.backend.Commands) != 2 || len(r.backend.Rejected) != 2 ||
		!strings.Contains(fmt.Sprint(r.backend.Rejected[0].Err), "to the control queue") {
		t.Errorf("commands %+v, rejected %+v", r.backend.Commands, r.backend.Rejected)
	}
}

func TestQueueURLsAreThoseOfTheRequest(t *testing.T) {
	r := newRig(t)
	a := r.do("POST", "/", "application/x-amz-json-1.0", `{"QueueName":"intake"}`, "X-Amz-Target",
		"AmazonSQS.GetQueueUrl")
	if got := a.json(t)["QueueUrl"]; got != r.url+"/000000000000/intake" {
		t.Errorf("the URL is %v", got)
	}
	a = r.do("POST", "/000000000000/intake", "application/x-amz-json-1.0",
		`{"QueueUrl":"intake","MessageBody":"nonsense"}`, "X-Amz-Target", "AmazonSQS.SendMessage")
	if a.status != 200 {
		t.Errorf("at the queue's own path: %d %s", a.status, a.body)
	}
}

// What its sender must not send again as it is answered so, and is neither carried out nor kept: a
// newer schema, of which nothing is known here, and a command ahead of its order.
func TestQueuesRefuseWhatIsAhead(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	r.backend.Verdict = func(c message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{}, fmt.Errorf("task %q: %w", c.OrderID, core.ErrStale)
	}
	for queue, body := range map[string]string{
		"intake":  strings.Replace(orderJSON("x"), `"schema":1`, `"schema":2`, 1),
		"control": `{"schema":2,"kind":"cancel","task":"o","id":"c-1"}`,
	} {
		if status, typ := r.sendTo(queue, body, ""); status != 400 || typ != "InvalidParameterValue" {
			t.Errorf("schema 2 to %s: %d %s", queue, status, typ)
		}
	}
	if status, typ := r.sendTo("control", `{"schema":1,"kind":"cancel","task":"o","run":7,"id":"c-2"}`,
		""); status != 400 || typ != "InvalidParameterValue" {
		t.Errorf("a run ahead: %d %s", status, typ)
	}
	if r.backend.Seen("x") != nil || len(r.backend.Rejected) != 0 {
		t.Errorf("%+v", r.backend.Rejected)
	}
	a := r.post("/v1/orders/o/cancel", `{"run":7}`)
	if v := a.json(t); a.status != 409 || v["code"] != "command-refused" ||
		!strings.Contains(v["detail"].(string), "read the order again") {
		t.Errorf("over HTTP: %d %s", a.status, a.body)
	}
}
