package embedded_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

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
	server, stop := w.run()
	order := `{"schema":1,"orderId":"o","workflow":"pair","replyTo":"shop","order":{"n":1}}`
	status, answer := post(t, server.Address+"/v1/orders", "application/json", "", order)
	require.Equal(t, 202, status, answer)
	handle := receivedHandle(t, server.Address)
	receipt := handle[:strings.LastIndexByte(handle, '.')]
	for _, guessed := range []string{receipt, receipt + ".", receipt + ".AAAAAAAAAAAAAAAAAAAAAA", "", "."} {
		require.Equal(t, http.StatusBadRequest, deleted(t, server.Address, guessed), guessed)
	}
	stop()
	server, _ = w.run()
	require.Equal(t, http.StatusOK, deleted(t, server.Address, handle))
}

const statusQueue = `{"QueueUrl":"http://x/000000000000/status-shop"`

func receivedHandle(t *testing.T, address string) string {
	t.Helper()
	var out struct {
		Messages []struct{ ReceiptHandle string }
	}
	_, body := post(t, address, "application/x-amz-json-1.0", "AmazonSQS.ReceiveMessage",
		statusQueue+`,"WaitTimeSeconds":20}`)
	require.NoError(t, json.Unmarshal([]byte(body), &out))
	require.Len(t, out.Messages, 1)
	return out.Messages[0].ReceiptHandle
}

func deleted(t *testing.T, address, handle string) (status int) {
	t.Helper()
	status, _ = post(t, address, "application/x-amz-json-1.0", "AmazonSQS.DeleteMessage",
		statusQueue+`,"ReceiptHandle":"`+handle+`"}`)
	return status
}

// post sends a request; target is the header of SQS's protocol.
func post(t *testing.T, address, contentType, target, body string, headers ...string) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, address, strings.NewReader(body))
	require.NoError(t, err)
	r.Header.Set("Content-Type", contentType)
	if target != "" {
		r.Header.Set("X-Amz-Target", target)
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	require.NoError(t, err)
	return res.StatusCode, string(all)
}
