package sns_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	sdk "github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/sns"
)

// hanging is an SNS whose first attempt hangs.
type hanging struct{ calls int }

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	if h.calls++; h.calls == 1 {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	const answer = `<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// A publication outlives an attempt that gets no answer.
func TestAnAttemptThatHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		env := map[string]string{"AWS_REGION": "r", "AWS_ACCESS_KEY_ID": "id",
			"AWS_SECRET_ACCESS_KEY": "secret"}
		h := &hanging{}
		c, err := wire.Environment(func(name string) (string, bool) { v, set := env[name]; return v, set })
		if err != nil {
			t.Fatal(err)
		}
		c.HTTPClient = &http.Client{Transport: h}
		topic := sns.New(sdk.NewFromConfig(c).Publish, "arn:aws:sns:r:1:alerts")
		err = topic.Send(context.Background(), message.Alert{})
		if err != nil || h.calls != 2 {
			t.Errorf("%d attempts: %v", h.calls, err)
		}
	})
}
