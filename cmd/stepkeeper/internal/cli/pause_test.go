package cli

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// pausable is an endpoint of AWS with a stack of one mapping and a schedule. It counts the updates of both.
type pausable struct {
	outputs map[string]string
	updates []string
	denied  bool
}

func (p *pausable) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	switch {
	case p.denied && r.Method == http.MethodPut:
		w.Header().Set("X-Amzn-Errortype", "AccessDeniedException")
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprint(w, `{"message":"ann may not"}`)
	case r.Method == http.MethodPut:
		p.updates = append(p.updates, path.Base(r.URL.Path))
		state := "Disabled"
		if strings.Contains(string(body), "true") {
			state = "Enabled"
		}
		fmt.Fprintf(w, `{"State":%q}`, state)
	case strings.Contains(r.URL.Path, "event-source-mappings"):
		fmt.Fprint(w, `{"State":"Enabled"}`)
	case strings.HasPrefix(r.URL.Path, "/schedules/"):
		fmt.Fprint(w, `{"Name":"Sweeps","State":"ENABLED","ScheduleExpression":"rate(1 minute)",`+
			`"FlexibleTimeWindow":{"Mode":"OFF"},"Target":{"Arn":"a","RoleArn":"r"}}`)
	default:
		fmt.Fprint(w, `<DescribeStacksResponse><DescribeStacksResult><Stacks><member><Outputs>`)
		for key, value := range p.outputs {
			fmt.Fprintf(w, `<member><OutputKey>Engine%s</OutputKey><OutputValue>`, key)
			_ = xml.EscapeText(w, []byte(value))
			fmt.Fprint(w, `</OutputValue></member>`)
		}
		fmt.Fprint(w, `</Outputs></member></Stacks></DescribeStacksResult></DescribeStacksResponse>`)
	}
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

// `aws pause` and `aws resume` print what was switched and what comes next.
func TestPauseOfAStack(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	p := &pausable{outputs: pausableOutputs()}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	run := func(args ...string) result {
		return call{env: map[string]string{"STEPKEEPER_ENDPOINT": server.URL}}.run(t, args...)
	}
	on := []string{"--stack", "Shop", "--region", "eu-central-1"}
	run("aws", "pause").want(t, failure.Usage, "stepkeeper aws pause needs a stack", "add --stack NAME")
	run(append([]string{"aws", "pause"}, on...)...).want(t, failure.OK,
		"the stack Shop is paused: off are its schedule and 1 event source mapping; start it with "+
			"`stepkeeper --stack Shop --region eu-central-1 aws resume`",
		"external agents are not affected, stop or start their processes yourself: requests-mail")
	require.Equal(t, []string{"Sweeps", "m-1"}, p.updates)
	run(append([]string{"aws", "resume", "--output", "json"}, on...)...).want(t, failure.OK,
		`"schedule": "Sweeps"`, `"queues": [`, `"external": [`)
	p.denied = true
	run(append([]string{"aws", "pause"}, on...)...).want(t, failure.Refused,
		"the permission lambda:UpdateEventSourceMapping on the event source mapping of intake is missing")
	p.outputs["Paused"] = "true"
	run(append([]string{"aws", "resume"}, on...)...).want(t, failure.Refused,
		"was deployed with Paused; deploy it without")
}
