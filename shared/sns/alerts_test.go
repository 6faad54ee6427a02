package sns_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

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

var alert = message.Alert{
	Kind: message.AlertFirst, Orders: 1,
	RaiseAlert: core.RaiseAlert{OrderID: "o-1", Workflow: "order", Step: "charge-payment", Message: "no funds"},
}.For("Shop", "--stack Shop")

// Mail is for people, and every other protocol gets what a program reads.
func TestAlert(t *testing.T) {
	p := &topic{}
	require.NoError(t, p.open(t, "arn:aws:sns:eu-central-1:1:alerts").Send(context.Background(), alert))
	in := p.sent[0]
	machine, err := alert.Encode()
	require.NoError(t, err)
	var byProtocol map[string]string
	require.NoError(t, json.Unmarshal([]byte(in.Get("Message")), &byProtocol))
	require.Equal(t, map[string]string{"default": string(machine), "email": alert.Text()}, byProtocol)
	require.Equal(t, "json", in.Get("MessageStructure"))
	require.Equal(t, "arn:aws:sns:eu-central-1:1:alerts", in.Get("TopicArn"))
	require.Equal(t, alert.Subject(), in.Get("Subject"))
}

// SNS refuses a subject that is too long or not plain text, which would keep the alert from being sent.
func TestSubject(t *testing.T) {
	for _, id := range []string{strings.Repeat("x", 128), "o\n1ü"} {
		p := &topic{}
		a := alert
		a.OrderID = id
		require.NoError(t, p.open(t, "t").Send(context.Background(), a))
		require.Regexp(t, `^Stepkeeper Shop: order, step charge-payment: order (x+|o\?1\? in Error)$`,
			p.sent[0].Get("Subject"))
		require.Less(t, len(p.sent[0].Get("Subject")), 100)
	}
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
