package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	status, _ := r.sendTo("intake", orderJSON("o-1"), "")
	require.Equal(t, 200, status)
	require.NotNil(t, r.backend.Seen("o-1"))
	r.sendTo("intake", `{"schema":1,"orderId":"bad","replyTo":"shop","color":1}`, "")
	r.sendTo("intake", "nonsense", "")
	r.sendTo("intake", strings.Replace(orderJSON("o-1"), "12.50", "1", 1), "")
	require.Len(t, r.backend.Rejected, 3)
	first := r.backend.Rejected[0]
	require.Equal(t, port.Intake, first.Queue)
	require.Contains(t, string(first.Body), `"replyTo":"shop"`)
	require.Error(t, first.Err)
	r.backend.Busy(1)
	status, typ := r.sendTo("intake", orderJSON("o-2"), "")
	require.Equal(t, 400, status)
	require.Equal(t, "RequestThrottled", typ)
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	status, typ = r.sendTo("intake", orderJSON("o-2"), "")
	require.Equal(t, 503, status)
	require.Equal(t, "ServiceUnavailable", typ)
	r.backend.Down(nil)
	status, typ = r.sendTo("intake", orderJSON("o-2"), `,"DelaySeconds":1`)
	require.Equal(t, 400, status)
	require.Equal(t, "InvalidParameterValue", typ)
	require.Nil(t, r.backend.Seen("o-2"))
	require.Len(t, r.backend.Rejected, 3)
}

func TestControlQueue(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	status, _ := r.sendTo("control", `{"schema":1,"kind":"undo","task":"o","id":"c-1","command":2}`,
		"")
	require.Equal(t, 200, status)
	want := message.Control{OrderID: "o", Event: core.Command{Name: core.UndoCommand, ID: "c-1", Number: 2}}
	got := r.backend.Commands
	require.Len(t, got, 1)
	require.Equal(t, want, got[0])
	for _, body := range []string{
		`{"schema":1,"kind":"wake","task":"o","run":0,"step":"charge","attempt":1}`, // the runtime's own
		`{"schema":1,"kind":"undo","task":"none","id":"c-2","command":0}`,           // unknown order
		`{"schema":1,"kind":"undo","task":"../o","id":"c-3","command":0}`,
		`nonsense`,
	} {
		status, _ := r.sendTo("control", body, "")
		require.Equal(t, 200, status, body)
	}
	require.Len(t, r.backend.Rejected, 4)
	r.backend.Verdict = func(message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{}, fmt.Errorf("shutting down: %w", port.ErrUnavailable)
	}
	status, _ = r.sendTo("control", `{"schema":1,"kind":"cancel","task":"o","id":"c-4"}`,
		"")
	require.Equal(t, 503, status, "unavailable")
}

// What an application may send beside its orders is a message to the intake queue, as on AWS.
func TestCommandsToTheIntakeQueue(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for _, body := range []string{
		`{"schema":1,"kind":"cancel","task":"o","id":"c-1"}`,
		`{"schema":1,"kind":"answer","task":"o","id":"c-2","round":1,"value":"yes","token":"x"}`,
	} {
		status, _ := r.sendTo("intake", body, "")
		require.Equal(t, 200, status, body)
	}
	got := r.backend.Commands
	require.Len(t, got, 2)
	require.Equal(t, message.Cancel, got[0].Kind())
	require.Equal(t, "x", got[1].Event.(core.Answered).Token)
	require.Empty(t, r.backend.Rejected)
	for _, body := range []string{
		`{"schema":1,"kind":"undo","task":"o","id":"c-3"}`,
		`{"schema":1,"kind":"answer","task":"o","id":"c-4","step":"ask","round":1,"value":"yes","by":"eve"}`,
	} {
		status, _ := r.sendTo("intake", body, "")
		require.Equal(t, 200, status, body)
	}
	require.Len(t, r.backend.Commands, 2)
	require.Len(t, r.backend.Rejected, 2)
	require.Contains(t, fmt.Sprint(r.backend.Rejected[0].Err), "to the control queue")
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
		status, typ := r.sendTo(queue, body, "")
		require.Equal(t, 400, status, queue)
		require.Equal(t, "InvalidParameterValue", typ, queue)
	}
	status, typ := r.sendTo("control", `{"schema":1,"kind":"cancel","task":"o","run":7,"id":"c-2"}`,
		"")
	require.Equal(t, 400, status)
	require.Equal(t, "InvalidParameterValue", typ)
	require.Nil(t, r.backend.Seen("x"))
	require.Empty(t, r.backend.Rejected)
	a := r.post("/v1/orders/o/cancel", `{"run":7}`)
	v := a.json(t)
	require.Equal(t, 409, a.status)
	require.EqualValues(t, "command-refused", v["code"])
	require.Contains(t, v["detail"].(string), "read the order again")
}
