package operate_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
)

// switches is a stack with mappings, a schedule and a rule that can be switched.
type switches struct {
	*cloud
	config sdk.Config

	mu     sync.Mutex
	states map[string]string // by the ID of a mapping, and of "schedule" and "rule"
	slow   string            // mapping that reports once that it changes
	inUse  string            // mapping that somebody else changes while the next request arrives
	denied string            // part of the path or target of a request that is denied
	broken string            // part of the path of a request whose connection breaks
	update map[string]any    // last update of the schedule
}

// schedule is what EventBridge Scheduler reports. The State is added.
const schedule = `{"Name":"Shop-Sweeps","GroupName":"default","ScheduleExpression":"rate(1 minute)",` +
	`"FlexibleTimeWindow":{"Mode":"OFF"},"Description":"sweeps","Target":{"Arn":"arn:supervisor",` +
	`"RoleArn":"arn:role","Input":"{}","RetryPolicy":{"MaximumRetryAttempts":2}},"State":%q}`

func newSwitches(t *testing.T) *switches {
	t.Helper()
	environment(t)
	s := &switches{cloud: newCloud(t), states: map[string]string{
		"m-intake":  "Enabled",
		"m-payment": "Enabled", "schedule": "ENABLED",
	}}
	s.outputs = golden(t)
	maps.DeleteFunc(s.outputs, func(key, _ string) bool { return strings.HasPrefix(key, "EngineMappings") })
	s.outputs["EngineMappings"] = "intake=m-intake,requests-mail=,requests-payment=m-payment"
	s.outputs["EngineRequestsMailUrl"] = "https://x/m"
	s.outputs["EngineRequestsMailDeadUrl"] = "https://x/d"
	s.outputs["EngineScheduleName"] = "Shop-Sweeps"
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	c, err := aws.Configure(t.Context(), aws.Options{Endpoint: server.URL, Region: "eu-central-1"})
	require.NoError(t, err)
	s.config = c
	return s
}

func (s *switches) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	target := r.Header.Get("X-Amz-Target")
	what := r.Method + " " + r.URL.Path + " " + target
	var in map[string]any
	switch {
	case s.broken != "" && strings.Contains(what, s.broken):
		panic(http.ErrAbortHandler)
	case s.denied != "" && strings.Contains(what, s.denied):
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"ann is not authorized"}`)
	case strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings/"):
		id := path.Base(r.URL.Path)
		if s.inUse == id && r.Method == http.MethodPut {
			s.inUse = ""
			w.Header().Set("X-Amzn-Errortype", "ResourceInUseException")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"message":"it is in use"}`)
			return
		}
		if r.Method == http.MethodPut {
			_ = json.NewDecoder(r.Body).Decode(&in)
			s.states[id] = map[any]string{true: "Enabled", false: "Disabled"}[in["Enabled"]]
		}
		state := s.states[id]
		if s.slow == id && r.Method == http.MethodPut {
			s.slow = ""
			state = "Disabling"
		}
		fmt.Fprintf(w, `{"UUID":%q,"State":%q}`, id, state)
	case strings.HasPrefix(r.URL.Path, "/schedules/") && r.Method == http.MethodGet:
		fmt.Fprintf(w, schedule, s.states["schedule"])
	case strings.HasPrefix(r.URL.Path, "/schedules/"):
		s.update = nil
		_ = json.NewDecoder(r.Body).Decode(&s.update)
		s.states["schedule"] = fmt.Sprint(s.update["State"])
		fmt.Fprint(w, `{"ScheduleArn":"arn:schedule"}`)
	case strings.HasSuffix(target, "EnableRule"), strings.HasSuffix(target, "DisableRule"):
		s.states["rule"] = strings.TrimSuffix(target[strings.LastIndex(target, ".")+1:], "Rule")
	default:
		s.cloud.ServeHTTP(w, r)
	}
}

// Pause switches the schedule and all mappings off, and Resume switches them on again, also those that were
// switched off by hand. An update of the schedule repeats all that the schedule has.
func TestPauseAndResume(t *testing.T) {
	s := newSwitches(t)
	s.slow = "m-payment"
	s.inUse = "m-payment"
	s.states["m-intake"] = "Disabled"
	want := operate.Switched{
		Schedule: "Shop-Sweeps", Queues: []string{"intake", "requests-payment"},
		External: []string{"requests-mail"},
	}
	for range 2 { // the second call finds everything done
		done, err := operate.Pause(t.Context(), s.config, "Shop")
		require.NoError(t, err)
		require.Empty(t, cmp.Diff(want, done))
		require.Equal(t, map[string]string{
			"m-intake": "Disabled", "m-payment": "Disabled",
			"schedule": "DISABLED",
		}, s.states)
	}
	done, err := operate.Resume(t.Context(), s.config, "Shop")
	require.NoError(t, err)
	require.Empty(t, cmp.Diff(want, done))
	require.Equal(t, map[string]string{"m-intake": "Enabled", "m-payment": "Enabled", "schedule": "ENABLED"},
		s.states)
	var whole map[string]any
	require.NoError(t, json.Unmarshal(fmt.Appendf(nil, schedule, "ENABLED"), &whole))
	delete(whole, "Name") // it is in the path
	delete(s.update, "ClientToken")
	require.Empty(t, cmp.Diff(whole, s.update))
}

// A stack with a rule instead of a schedule is switched by its rule.
func TestPauseByRule(t *testing.T) {
	s := newSwitches(t)
	delete(s.outputs, "EngineScheduleName")
	s.outputs["EngineRuleName"] = "Shop-Rule"
	done, err := operate.Pause(t.Context(), s.config, "Shop")
	require.NoError(t, err)
	require.Equal(t, "Shop-Rule", done.Schedule)
	require.Equal(t, "Disable", s.states["rule"])
	_, err = operate.Resume(t.Context(), s.config, "Shop")
	require.NoError(t, err)
	require.Equal(t, "Enable", s.states["rule"])
}

// A standby is not started, because another Region may be active. An older stack is left as it is. What one
// part refuses does not keep the others from being switched off.
func TestPauseRefusals(t *testing.T) {
	s := newSwitches(t)
	s.outputs["EnginePaused"] = "true"
	_, err := operate.Resume(t.Context(), s.config, "Shop")
	require.ErrorIs(t, err, client.ErrRefused)
	require.ErrorContains(t, err, "was deployed with Paused; deploy it without")
	done, err := operate.Pause(t.Context(), s.config, "Shop")
	require.NoError(t, err)
	require.True(t, done.DeployedPaused, "Resume would refuse it")

	s = newSwitches(t)
	delete(s.outputs, "EngineScheduleName")
	_, err = operate.Pause(t.Context(), s.config, "Shop")
	require.ErrorContains(t, err, "deploy it again with this version")
	require.Equal(t, "Enabled", s.states["m-intake"])

	for denied, want := range map[string]string{
		"PUT /schedules/":  "scheduler:UpdateSchedule",
		"GET /schedules/":  "scheduler:GetSchedule",
		"PUT /2015-03-31/": "lambda:UpdateEventSourceMapping on the event source mapping of requests-payment",
	} {
		s := newSwitches(t)
		s.denied = denied
		_, err := operate.Pause(t.Context(), s.config, "Shop")
		require.ErrorIs(t, err, client.ErrForbidden, denied)
		require.ErrorContains(t, err, want, denied)
		others := map[bool]string{true: s.states["m-payment"], false: s.states["schedule"]}
		require.Contains(t, []string{"Disabled", "DISABLED"}, others[strings.Contains(denied, "schedules")], want)
	}

	s = newSwitches(t)
	s.broken = "GET /2015-03-31/"
	s.config.RetryMaxAttempts = 1
	_, err = operate.Pause(t.Context(), s.config, "Shop")
	require.ErrorIs(t, err, client.ErrConnection)

	s = newSwitches(t)
	s.states["m-intake"] = "Creating"
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = operate.Pause(ctx, s.config, "Shop")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
