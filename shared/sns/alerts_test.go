package sns_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sns"
)

// topic is a topic that accepts each message, or refuses each one.
type topic struct {
	sent    []url.Values
	refuses bool
}

// open returns the topic behind a server.
func (p *topic) open(t *testing.T, arn string) *sns.Topic {
	t.Helper()
	c := awsstub.Config(t, func(call awsstub.Call) (int, string) {
		if call.Action != "sns:Publish" || p.refuses {
			return http.StatusBadRequest,
				`<ErrorResponse><Error><Code>InvalidParameter</Code><Message>no topic</Message></Error></ErrorResponse>`
		}
		p.sent = append(p.sent, call.Form)
		return http.StatusOK, `<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`
	})
	return sns.New(c, arn)
}

var began = time.Date(2026, 11, 21, 2, 58, 0, 0, time.UTC)

var alert = message.Alert{
	Kind: message.AlertFirst, Orders: 1,
	Since: core.TimeOf(began.Add(2 * time.Minute)), Logs: "https://logs.example.com/o-1",
	RaiseAlert: core.RaiseAlert{
		OrderID: "o-1", Workflow: "order", Run: 1, Command: 3, Phase: "forward",
		Step:     "charge-payment",
		Attempts: 2, FirstTry: core.TimeOf(began), LastTry: core.TimeOf(began.Add(time.Minute)),
		Key: "o-1/1/charge-payment", Code: "declined", Message: "no funds",
		At:      core.TimeOf(began.Add(2 * time.Minute)),
		Accepts: core.Accepted{Resubmit: true, Undo: true},
	},
}.For("Shop", "--stack Shop")

// mail is the whole of what an operator reads.
const mail = `no funds (declined). More: stepkeeper --stack Shop show o-1

order    o-1
workflow order
in       Shop
phase    forward
step     charge-payment
attempts 2
tried    2026-11-21T02:58:00.000Z to 2026-11-21T02:59:00.000Z
key      o-1/1/charge-payment
code     declined
reason   no funds
run      1
stopped  2026-11-21T03:00:00.000Z
orders   1
since    2026-11-21T03:00:00.000Z
log      https://logs.example.com/o-1

Show it:
    stepkeeper --stack Shop show o-1

When the cause is fixed, continue:
    stepkeeper --stack Shop resubmit o-1

Undo the order:
    stepkeeper --stack Shop undo o-1
`

// machine is what a program reads.
const machine = `{"kind":"first","deployment":"Shop","orderId":"o-1","workflow":"order","run":1,"command":3,"phase":"forward","step":"charge-payment",` +
	`"attempts":2,"firstTry":"2026-11-21T02:58:00.000Z","lastTry":"2026-11-21T02:59:00.000Z","key":"o-1/1/charge-payment","code":"declined","message":"no funds",` +
	`"at":"2026-11-21T03:00:00.000Z","accepts":{"resubmit":true,"undo":true,"resolve":false},"orders":1,"since":"2026-11-21T03:00:00.000Z",` +
	`"logs":"https://logs.example.com/o-1","commands":["stepkeeper --stack Shop show o-1","stepkeeper --stack Shop resubmit o-1","stepkeeper --stack Shop undo o-1"]}`

func TestAlert(t *testing.T) {
	p := &topic{}
	require.NoError(t, p.open(t, "arn:aws:sns:eu-central-1:1:alerts").Send(context.Background(),
		alert))
	in := p.sent[0]
	var byProtocol map[string]string
	require.NoError(t, json.Unmarshal([]byte(in.Get("Message")), &byProtocol))
	require.Equal(t, "json", in.Get("MessageStructure"))
	require.Equal(t, "arn:aws:sns:eu-central-1:1:alerts", in.Get("TopicArn"))
	require.True(t, strings.HasPrefix(byProtocol["default"], strings.TrimSuffix(machine, "}")+`,"subject":"`))
	require.Equal(t, mail, byProtocol["email"])
	require.Equal(t, "Stepkeeper Shop: order, step charge-payment: order o-1 in Error since 2026-11-21 03:00 UTC",
		in.Get("Subject"))
}

// undoneMail and undoneMachine are the whole texts of an alert of an order that was undone.
const undoneMail = `no funds (declined). Nothing waits for an operator. More: stepkeeper --stack Shop show o-1

order    o-1
workflow order
in       Shop
step     charge-payment
code     declined
reason   no funds
run      1
undone   2026-11-21T03:00:00.000Z
since    2026-11-21T03:00:00.000Z

Show it:
    stepkeeper --stack Shop show o-1

List all undone orders:
    stepkeeper --stack Shop list --where state=Compensated,workflow=order

When the cause is fixed, start it again:
    stepkeeper --stack Shop resubmit o-1
`

const undoneMachine = `{"kind":"first","deployment":"Shop","orderId":"o-1","workflow":"order","run":1,"command":3,"phase":"","undone":true,"step":"charge-payment","code":"declined","message":"no funds",` +
	`"at":"2026-11-21T03:00:00.000Z","accepts":{"resubmit":true,"undo":false,"resolve":false},"orders":0,"since":"2026-11-21T03:00:00.000Z",` +
	`"commands":["stepkeeper --stack Shop show o-1","stepkeeper --stack Shop list --where state=Compensated,workflow=order","stepkeeper --stack Shop resubmit o-1"]}`

func TestAlertOfAnUndo(t *testing.T) {
	at := core.TimeOf(began.Add(2 * time.Minute))
	a := message.Alert{Kind: message.AlertFirst, Since: at, RaiseAlert: core.RaiseAlert{
		OrderID:  "o-1",
		Workflow: "order", Run: 1, Command: 3, Undone: true, Step: "charge-payment",
		Code: "declined", Message: "no funds", At: at, Accepts: core.Accepted{Resubmit: true},
	}}
	p := &topic{}
	require.NoError(t, p.open(t, "t").Send(context.Background(), a.For("Shop", "--stack Shop")))
	var byProtocol map[string]string
	require.NoError(t, json.Unmarshal([]byte(p.sent[0].Get("Message")), &byProtocol))
	require.Equal(t, undoneMail, byProtocol["email"])
	require.Contains(t, byProtocol["default"], strings.TrimSuffix(undoneMachine, "}"))
	require.Equal(t, "Stepkeeper Shop: order, step charge-payment: order o-1 was undone", p.sent[0].Get("Subject"))
}

// SNS refuses a subject that is too long or not plain text, which would keep the alert from being sent.
func TestSubject(t *testing.T) {
	for _, id := range []string{"o-1", strings.Repeat("x", 128), "o\n1ü"} {
		p := &topic{}
		a := alert
		a.OrderID = id
		require.NoError(t, p.open(t, "t").Send(context.Background(), a))
		s := p.sent[0].Get("Subject")
		if id == "o-1" && s != "Stepkeeper Shop: order, step charge-payment: order o-1 in Error since 2026-11-21 03:00 UTC" || len(s) >= 100 ||
			strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("subject %q", s)
		}
	}
}

// A process that belongs to no deployment names none.
func TestSubjectWithoutADeployment(t *testing.T) {
	p := &topic{}
	a := alert
	a.Deployment = ""
	require.NoError(t, p.open(t, "t").Send(context.Background(), a))
	require.Equal(t, "Stepkeeper: order, step charge-payment: order o-1 in Error since 2026-11-21 03:00 UTC",
		p.sent[0].Get("Subject"))
}

func TestAlertThatIsNotTaken(t *testing.T) {
	refusing := (&topic{refuses: true}).open(t, "t")
	err := refusing.Send(context.Background(), alert)
	require.ErrorIs(t, err, port.ErrUnavailable)
	require.ErrorContains(t, err, "no topic")
	over, cancel := context.WithCancel(context.Background())
	cancel()
	require.ErrorIs(t, (&topic{}).open(t, "t").Send(over, alert), context.Canceled)
}
