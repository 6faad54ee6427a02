package sns_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/sns"
)

// hanging is an SNS that does not answer the first attempts, or any.
type hanging struct{ calls, most int }

func (h *hanging) RoundTrip(r *http.Request) (*http.Response, error) {
	h.calls++
	if h.calls <= h.most {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	const answer = `<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml"}},
		Body: io.NopCloser(strings.NewReader(answer)), Request: r,
	}, nil
}

// A publication outlives an attempt that gets no answer, and ends after ten seconds.
func TestTimeOfAPublication(t *testing.T) {
	for name, c := range map[string]struct {
		hangs, calls int
		ended        error
	}{
		"the first attempt hangs": {1, 2, nil},
		"all attempts hang":       {100, 3, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &hanging{most: c.hangs}
				config := awsstub.ConfigAt(t, "")
				config.HTTPClient = &http.Client{Transport: h}
				began := time.Now()
				err := sns.New(config, "arn:aws:sns:r:1:alerts").Send(context.Background(), message.Alert{})
				require.ErrorIs(t, err, c.ended)
				require.GreaterOrEqual(t, h.calls, c.calls)
				require.LessOrEqual(t, time.Since(began), 10*time.Second)
			})
		})
	}
}
