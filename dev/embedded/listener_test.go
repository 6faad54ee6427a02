package embedded_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// The listener for answers serves the pages behind links, and nothing else.
func TestTheListenerForAnswers(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(linking)
	links := w.asked()
	w.options.AnswersListen = "127.0.0.1:0"
	server, _ := w.run()
	status, answer := post(t, server.Address+"/v1/orders", "application/json", "",
		`{"schema":1,"orderId":"o-1","workflow":"pair","order":{"n":1}}`)
	require.Equal(t, http.StatusAccepted, status, answer)
	link := <-links
	for path, want := range map[string]int{
		"/answer/o-1/" + link.Ann: http.StatusOK, "/answer/o-1/x" + link.Ann: http.StatusForbidden,
		"/answer/o-2/" + link.Ann: http.StatusForbidden, "/": http.StatusNotFound, "/v1/orders": http.StatusNotFound,
	} {
		resp, err := http.Get(server.Answers + path)
		require.NoError(t, err)
		page, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, path)
		require.Equal(t, want == http.StatusOK, strings.Contains(string(page), "Pay &lt;1&gt;?"), path)
	}
	status, page := post(t, server.Answers+"/answer/o-1/"+link.Ann, "application/x-www-form-urlencoded", "",
		"round=1&value=yes", "Origin", "null", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, page, "Your answer was taken")
}

// An agent that calls AWS runs inside the process. It calls the user's endpoint, signed for the Region of its
// target.
func TestAnAgentOnAWS(t *testing.T) {
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE", "AWS_ACCESS_KEY_ID"} {
		t.Setenv(name, "")
	}
	calls := make(chan string, 10)
	aws := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls <- r.URL.Path + " " + r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"reserved":1}`)
	}))
	defer aws.Close()
	w := newFixture(t, "5s")
	w.outside()
	w.agents("shop: {aws: {invoke: 'arn:aws:lambda:eu-west-3:111122223333:function:reserve'}}")
	t.Setenv("AWS_ENDPOINT_URL", "nowhere")
	_, err := embedded.Open(t.Context(), w.options)
	require.ErrorContains(t, err, `agent shop: endpoint "nowhere" is no address`, "another endpoint")
	t.Setenv("AWS_ENDPOINT_URL", aws.URL)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	task := wait(t, s, "one")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Equal(t, `{"first":{"reserved":1}}`, string(task.Output))
	call := <-calls
	require.Contains(t, call, "function:reserve/invocations")
	require.Contains(t, call, "/eu-west-3/lambda/")
}
