package sns_test

import (
	"context"
	"encoding/json"
	"errors"
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

var alert = core.RaiseAlert{OrderID: "o-1", Workflow: "order", Run: 1, Command: 3, Phase: "forward", Step: "charge-payment", Code: "declined", Message: "no funds", At: core.TimeOf(time.Date(2026, 11, 21, 3, 0, 0, 0, time.UTC))}

func TestRaise(t *testing.T) {
	p := &topic{}
	if err := sns.New(p.Publish, "arn:aws:sns:eu-central-1:1:alerts", 0).Raise(context.Background(), alert); err != nil {
		t.Fatal(err)
	}
	in := p.sent[0]
	var byProtocol map[string]string
	if err := json.Unmarshal([]byte(*in.Message), &byProtocol); err != nil || *in.MessageStructure != "json" || *in.TopicArn != "arn:aws:sns:eu-central-1:1:alerts" {
		t.Fatalf("%v %s", err, *in.Message)
	}
	var got core.RaiseAlert
	if err := json.Unmarshal([]byte(byProtocol["default"]), &got); err != nil || got != alert {
		t.Errorf("machines read %+v, %v", got, err)
	}
	for _, want := range []string{"Order o-1 of workflow order", "charge-payment", "no funds", "stepkeeper resubmit o-1"} {
		if !strings.Contains(byProtocol["email"], want) {
			t.Errorf("people do not read %q in\n%s", want, byProtocol["email"])
		}
	}
}

// SNS refuses a subject that is too long or not plain text, which would keep the alert from anybody.
func TestSubject(t *testing.T) {
	for _, id := range []string{"o-1", strings.Repeat("x", 128), "o\n1ü"} {
		p := &topic{}
		a := alert
		a.OrderID = id
		if err := sns.New(p.Publish, "t", 0).Raise(context.Background(), a); err != nil {
			t.Fatal(err)
		}
		s := *p.sent[0].Subject
		if len(s) >= 100 || strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("subject %q", s)
		}
	}
}

func TestRaiseFails(t *testing.T) {
	if err := sns.New((&topic{err: errors.New("throttled")}).Publish, "t", 0).Raise(context.Background(), alert); !errors.Is(err, port.ErrUnavailable) {
		t.Errorf("%v", err)
	}
}
