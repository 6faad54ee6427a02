package sns_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sns"
)

var _ port.Alerts = (*sns.Alerts)(nil)

type topic struct {
	sent []sdk.PublishInput
	err  error
}

func (p *topic) Publish(ctx context.Context, in *sdk.PublishInput, _ ...func(*sdk.Options)) (*sdk.PublishOutput, error) {
	if _, bounded := ctx.Deadline(); !bounded {
		return nil, errors.New("the call has no time limit")
	}
	p.sent = append(p.sent, *in)
	return &sdk.PublishOutput{}, p.err
}

var alert = core.RaiseAlert{OrderID: "o-1", Workflow: "order", Run: 1, Command: 3, Phase: "forward", Step: "charge-payment",
	Attempts: 2, Key: "o-1/1/charge-payment", Code: "declined", Message: "no funds", At: core.TimeOf(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC)),
	Accepts: core.Accepted{Resubmit: true, Undo: true}}

// mail is the whole of what an operator reads.
const mail = `Order o-1 of workflow order has stopped and waits for an operator.

phase    forward
step     charge-payment
attempts 2
key      o-1/1/charge-payment
code     declined
reason   no funds
run      1
since    2026-11-21T03:00:00.000Z

Look at it:
    stepkeeper --stack Shop show o-1

When the cause is fixed, go on:
    stepkeeper --stack Shop resubmit o-1

To reverse all of it:
    stepkeeper --stack Shop undo o-1
`

func TestRaise(t *testing.T) {
	p := &topic{}
	if err := sns.New(p.Publish, "arn:aws:sns:eu-central-1:1:alerts", "--stack Shop", 0).Raise(context.Background(), alert); err != nil {
		t.Fatal(err)
	}
	in := p.sent[0]
	var byProtocol map[string]string
	if err := json.Unmarshal([]byte(*in.Message), &byProtocol); err != nil || *in.MessageStructure != "json" || *in.TopicArn != "arn:aws:sns:eu-central-1:1:alerts" {
		t.Fatalf("%v %s", err, *in.Message)
	}
	var got struct {
		core.RaiseAlert
		Commands []string `json:"commands"`
	}
	want := []string{"stepkeeper --stack Shop show o-1", "stepkeeper --stack Shop resubmit o-1", "stepkeeper --stack Shop undo o-1"}
	if err := json.Unmarshal([]byte(byProtocol["default"]), &got); err != nil || got.RaiseAlert != alert || !slices.Equal(got.Commands, want) {
		t.Errorf("machines read %+v, %v", got, err)
	}
	if byProtocol["email"] != mail {
		t.Errorf("people read\n%s\nnot\n%s", byProtocol["email"], mail)
	}
}

// SNS refuses a subject that is too long or not plain text, which would keep the alert from being sent.
func TestSubject(t *testing.T) {
	for _, id := range []string{"o-1", strings.Repeat("x", 128), "o\n1ü"} {
		p := &topic{}
		a := alert
		a.OrderID = id
		if err := sns.New(p.Publish, "t", "", 0).Raise(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		s := *p.sent[0].Subject
		if len(s) >= 100 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("subject %q", s)
		}
	}
}

func TestRaiseFails(t *testing.T) {
	if err := sns.New((&topic{err: errors.New("throttled")}).Publish, "t", "", 0).Raise(context.Background(), alert); !errors.Is(err, port.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
