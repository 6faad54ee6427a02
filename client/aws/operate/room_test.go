package operate_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
)

// The concurrency that the deployment's functions need is compared with the account's limits, and a missing
// right is reported.
func TestRoom(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	c := newCloud(t)
	c.outputs = golden(t)
	limit := 10
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !strings.Contains(r.URL.Path, "account-settings"):
			c.ServeHTTP(w, r)
		case limit == 0:
			w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"Message":"ann is not authorized to perform: lambda:GetAccountSettings"}`)
		default:
			fmt.Fprintf(w, `{"AccountLimit":{"ConcurrentExecutions":%d}}`, limit)
		}
	}))
	t.Cleanup(server.Close)
	o := aws.Options{Region: "eu-central-1", Endpoint: server.URL}
	const needs = 3*5 + 4*5 + 1 // mappings of the Scheduler and of four agents, and the Supervisor
	room, err := operate.RoomOf(t.Context(), "Shop", o)
	require.NoError(t, err)
	require.Equal(t, 10, room.Limit)
	require.Equal(t, needs, room.Needs)
	limit = 0
	_, err = operate.RoomOf(t.Context(), "Shop", o)
	require.ErrorIs(t, err, client.ErrForbidden)
	require.ErrorContains(t, err, "lambda:GetAccountSettings")
	require.NotContains(t, err.Error(), "attach the policy")
	_, err = operate.RoomOf(t.Context(), "None", o)
	require.ErrorIs(t, err, aws.ErrNoStack)
}
