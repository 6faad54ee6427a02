package cdkapp_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// emulator is CloudFormation and S3 behind one endpoint. A stack is at once in the state that follows.
type emulator struct {
	status string // of the stack; "" means that there is no stack
	fails  bool   // the next change of the stack fails
	calls  []string
	stored map[string]string // bodies by path
}

func (e *emulator) answer(c awsstub.Call) (int, string) {
	operation := c.Action
	if c.Action == "s3:PUT" {
		operation += " " + c.Path
	}
	e.calls = append(e.calls, operation)
	switch c.Action {
	case "s3:PUT":
		_, there := e.stored[c.Path]
		if there && strings.Count(c.Path, "/") == 1 {
			return http.StatusConflict, `<Error><Code>BucketAlreadyOwnedByYou</Code><Message>yours</Message></Error>`
		}
		e.stored[c.Path] = c.Body
		return http.StatusOK, ""
	case "cloudformation:CreateStack", "cloudformation:UpdateStack":
		_, stored := e.stored[c.Form.Get("TemplateURL")[strings.Index(c.Form.Get("TemplateURL"), "/cdk"):]]
		if !stored || c.Form.Get("Capabilities.member.1") != "CAPABILITY_NAMED_IAM" {
			return http.StatusBadRequest, `<ErrorResponse><Error><Code>ValidationError</Code></Error></ErrorResponse>`
		}
		e.status = "CREATE_COMPLETE"
		if e.fails {
			e.status = "ROLLBACK_COMPLETE"
		}
		return http.StatusOK, `<CreateStackResponse/>`
	case "cloudformation:DeleteStack":
		e.status = ""
		return http.StatusOK, `<DeleteStackResponse/>`
	case "cloudformation:DescribeStackEvents":
		return http.StatusOK, `<R><DescribeStackEventsResult><StackEvents><member><LogicalResourceId>T</LogicalResourceId>` +
			`<ResourceStatus>CREATE_FAILED</ResourceStatus><ResourceStatusReason>no quota</ResourceStatusReason></member>` +
			`<member><LogicalResourceId>R</LogicalResourceId><ResourceStatus>CREATE_FAILED</ResourceStatus></member>` +
			`<member><LogicalResourceId>F</LogicalResourceId><ResourceStatus>CREATE_COMPLETE</ResourceStatus></member>` +
			`</StackEvents></DescribeStackEventsResult></R>`
	}
	if e.status == "" {
		return http.StatusBadRequest, `<ErrorResponse><Error><Code>ValidationError</Code><Message>Stack with id ` +
			c.Form.Get("StackName") + ` does not exist</Message></Error></ErrorResponse>`
	}
	return http.StatusOK, fmt.Sprintf(`<R><DescribeStacksResult><Stacks><member><StackStatus>%s</StackStatus>`+
		`<StackStatusReason>because</StackStatusReason><Outputs><member><OutputKey>Url</OutputKey>`+
		`<OutputValue>http://x</OutputValue></member></Outputs></member></Stacks></DescribeStacksResult></R>`, e.status)
}

// An app is uploaded and deployed, deployed again, and deleted.
func TestDeploy(t *testing.T) {
	e := &emulator{stored: map[string]string{}}
	c := awsstub.Config(t, e.answer)
	a := assembly(t, "")
	outputs, err := cdkapp.Deploy(t.Context(), c, a)
	require.NoError(t, err)
	require.Equal(t, map[string]string{"Url": "http://x"}, outputs)
	const bucket = "/cdk-hnb659fds-assets-000000000000-eu-central-1"
	require.Contains(t, e.stored[bucket], "<LocationConstraint>eu-central-1</LocationConstraint>")
	require.Contains(t, e.stored[bucket+"/Shop.template.json"], "AWS::Lambda::Function")
	require.Contains(t, e.calls, "cloudformation:CreateStack")
	e.calls = nil
	_, err = cdkapp.Deploy(t.Context(), c, a) // the bucket is there
	require.NoError(t, err)
	require.Contains(t, e.calls, "cloudformation:UpdateStack")
	require.False(t, slices.Contains(e.calls, "cloudformation:CreateStack"))
	require.NoError(t, cdkapp.Delete(t.Context(), c, "Shop"))
	require.Empty(t, e.status)
}

// A stack that fails names the resources that failed, with the reasons.
func TestDeployThatFails(t *testing.T) {
	e := &emulator{stored: map[string]string{}, fails: true}
	_, err := cdkapp.Deploy(t.Context(), awsstub.Config(t, e.answer), assembly(t, ""))
	require.ErrorContains(t, err, "stack Shop is ROLLBACK_COMPLETE: because")
	require.ErrorContains(t, err, "T CREATE_FAILED: no quota")
	require.NotContains(t, err.Error(), "F CREATE")
	require.NotContains(t, err.Error(), "R CREATE", "a resource that failed because of another one")
}
