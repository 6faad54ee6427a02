package embedded_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// A receipt from before a restart neither deletes nor extends the request that was sent again.
func TestReceiptsOfAnEarlierProcess(t *testing.T) {
	w := newFixture(t, "5m")
	w.outside()
	var old, present []port.Delivery
	var err error
	for _, got := range []*[]port.Delivery{&old, &present} {
		s := w.open()
		if len(old) == 0 {
			submit(t, s, "o", "")
		}
		q, err1 := s.Queue(port.Requests("shop"))
		require.NoError(t, err1)
		*got, err = q.Receive(t.Context(), 1, 20*time.Second, time.Minute)
		require.NoError(t, err)
		require.Len(t, *got, 1)
		if len(present) > 0 {
			_ = q.Delete(t.Context(), []string{old[0].Receipt})
			require.Error(t, q.Extend(t.Context(), []port.Extension{{Receipt: old[0].Receipt}})[0])
			d, err := q.Depth(t.Context())
			require.NoError(t, err)
			require.Equal(t, 1, d.InFlight)
		}
		closeRuntime(t, s)
	}
}

// The receipt handles of a queue that is kept are accepted after a restart; those that are guessed never.
func TestReceiptHandlesOutliveARestart(t *testing.T) {
	w := newFixture(t, "5s")
	w.options.Listen = "127.0.0.1:0"
	var handle string
	for n := range 2 {
		ctx, stop := context.WithCancel(t.Context())
		started := make(chan string, 1)
		ended := make(chan error, 1)
		w.options.Ready = func(s embedded.Started) { started <- s.Address }
		go func() { ended <- embedded.Run(ctx, w.options) }()
		address := ""
		select {
		case address = <-started:
		case err := <-ended:
			t.Fatal(err)
		}
		if n == 0 {
			order := `{"schema":1,"orderId":"o","workflow":"pair","replyTo":"shop","order":{"n":1}}`
			status, _ := post(t, address+"/v1/orders", "application/json", "", order)
			require.Equal(t, 2, status/100)
			handle = receivedHandle(t, address)
			receipt := handle[:strings.LastIndexByte(handle, '.')]
			for _, guessed := range []string{
				receipt, receipt + ".", receipt + ".AAAAAAAAAAAAAAAAAAAAAA", "",
				".",
			} {
				status, _ := deleted(t, address, guessed)
				require.Equal(t, http.StatusBadRequest, status, guessed)
			}
		} else if status, body := deleted(t, address, handle); status != http.StatusOK {
			t.Errorf("the handle from before the restart: %d %s", status, body)
		}
		stop()
		require.NoError(t, <-ended)
	}
}

const statusQueue = `{"QueueUrl":"http://x/000000000000/status-shop"`

func receivedHandle(t *testing.T, address string) string {
	t.Helper()
	var out struct {
		Messages []struct{ ReceiptHandle string }
	}
	_, body := post(t, address, "application/x-amz-json-1.0", "AmazonSQS.ReceiveMessage",
		statusQueue+`,"WaitTimeSeconds":20}`)
	require.NoError(t, json.Unmarshal(body, &out))
	require.Len(t, out.Messages, 1)
	return out.Messages[0].ReceiptHandle
}

func deleted(t *testing.T, address, handle string) (status int, body []byte) {
	t.Helper()
	return post(t, address, "application/x-amz-json-1.0", "AmazonSQS.DeleteMessage",
		statusQueue+`,"ReceiptHandle":"`+handle+`"}`)
}

func post(t *testing.T, address, contentType, target, body string) (status int, answer []byte) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	answer, err = io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, answer
}
