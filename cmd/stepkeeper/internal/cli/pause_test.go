package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
)

// pausable is an endpoint of AWS with a stack of one mapping and a schedule.
type pausable struct {
	denied bool
	stuck  bool // its mapping stays as it is
	paused bool // it was deployed with Paused
}

func (p *pausable) answer(c awsstub.Call) (int, string) {
	switch {
	case c.Action == "cloudformation:DescribeStacks":
		text := `<R><DescribeStacksResult><Stacks><member><Outputs>`
		outputs := pausableOutputs()
		if p.paused {
			outputs["Paused"] = "true"
		}
		for key, value := range outputs {
			text += `<member><OutputKey>Engine` + key + `</OutputKey><OutputValue>` + value + `</OutputValue></member>`
		}
		return http.StatusOK, text + `</Outputs></member></Stacks></DescribeStacksResult></R>`
	case p.denied && strings.HasSuffix(c.Action, ":PUT"):
		return http.StatusForbidden, `{"code":"AccessDeniedException","message":"ann may not"}`
	case c.Action == "lambda:PUT" && p.stuck:
		return http.StatusOK, `{"State":"Disabling"}`
	case c.Action == "lambda:PUT":
		return http.StatusOK, map[bool]string{true: `{"State":"Enabled"}`, false: `{"State":"Disabled"}`}[strings.Contains(c.Body, "true")]
	case c.Action == "lambda:GET":
		return http.StatusOK, `{"State":"Enabled"}`
	}
	return http.StatusOK, `{"Name":"Sweeps","State":"ENABLED","ScheduleExpression":"rate(1 minute)",` +
		`"FlexibleTimeWindow":{"Mode":"OFF"},"Target":{"Arn":"a","RoleArn":"r"}}`
}

// on returns calls of the program against the endpoint.
func (p *pausable) on(t *testing.T) call {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	server := httptest.NewServer(awsstub.Answers(p.answer))
	t.Cleanup(server.Close)
	return call{env: map[string]string{"STEPKEEPER_ENDPOINT": server.URL}}
}

// pausableOutputs returns the outputs of a stack with an external agent.
func pausableOutputs() map[string]string {
	return map[string]string{
		"Version": "1", "OrdersTable": "o", "DefinitionsTable": "d",
		"IntakeUrl": "https://x/i", "ControlUrl": "https://x/c", "QuarantineUrl": "https://x/q",
		"Finished": "true", "ApplicationPolicy": "arn:app", "OperatorPolicy": "arn:op", "Shards": "8",
		"Mappings": "intake=m-1,requests-mail=", "IntakeDeadUrl": "https://x/1",
		"RequestsMailUrl": "https://x/2", "RequestsMailDeadUrl": "https://x/3", "ScheduleName": "Sweeps",
	}
}

// TestRestorePage has the text.
func TestPauseOfAStack(t *testing.T) {
	p := &pausable{}
	c := p.on(t)
	on := []string{"--stack", "Shop", "--region", "eu-central-1"}
	c.run(t, "aws", "pause").want(t, failure.Usage, "stepkeeper aws pause needs a stack", "add --stack NAME")
	c.run(t, append([]string{"aws", "resume", "--output", "json"}, on...)...).want(t, failure.OK,
		`"schedule": "Sweeps"`, `"queues": [`, `"external": [`)
	p.denied = true
	c.run(t, append([]string{"aws", "pause"}, on...)...).want(t, failure.Refused,
		"the permission lambda:UpdateEventSourceMapping on the event source mapping of intake is missing")
	*p = pausable{paused: true}
	c.run(t, append([]string{"aws", "resume"}, on...)...).want(t, failure.Refused, "was deployed with Paused")
	r := c.run(t, append([]string{"aws", "pause"}, on...)...)
	r.want(t, failure.OK, "it was deployed with Paused: deploy it without to start it")
	require.NotContains(t, r.out, "resume")
	*p = pausable{stuck: true}
	c.run(t, append([]string{"aws", "pause", "--timeout", "2s"}, on...)...).want(t, failure.Unreachable,
		"the stack Shop is not paused yet: the event source mapping of intake is still Disabling",
		"repeat the command, or give it more time with --timeout")
}
