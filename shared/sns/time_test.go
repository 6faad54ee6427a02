package sns_test

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/sns"
)

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
				calls := 0
				config := awsstub.Config(t, func(awsstub.Call) (int, string) {
					calls++
					if calls <= c.hangs {
						return 0, ""
					}
					return http.StatusOK, `<PublishResponse><PublishResult><MessageId>m</MessageId></PublishResult></PublishResponse>`
				})
				began := time.Now()
				err := sns.New(config, "arn:aws:sns:r:1:alerts").Send(context.Background(), message.Alert{})
				require.ErrorIs(t, err, c.ended)
				require.GreaterOrEqual(t, calls, c.calls)
				require.LessOrEqual(t, time.Since(began), 10*time.Second)
			})
		})
	}
}
