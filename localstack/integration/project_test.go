package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// A user's own project, in a folder of its own: init, an agent in Go, up, deploy, orders by an SDK, statuses,
// down. LocalStack runs already, and goes on. Commands and messages are those of first-deployment.md, with
// another name of the stack.
func TestUsersProject(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	name := "shop-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	dir := filepath.Join(t.TempDir(), name)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"reserveId":"r-1"}`))
	}))
	defer service.Close()
	run := s.project(t, dir)

	require.NoError(t, os.Mkdir(dir, 0o700))
	run("init", "--aws")
	run("agent", "new", "courier", "--dir", "agents/courier")
	replace(t, filepath.Join(dir, "agents.yaml"), "http://127.0.0.1:9100", service.URL)
	replace(
		t,
		filepath.Join(dir, "aws/main.go"),
		"	props := &infra.Props{",
		"	courier := agents[\"courier\"]\n	courier.Environment = map[string]string{\"COURIER_URL\": \""+
			service.URL+"\"}\n	agents[\"courier\"] = courier\n	props := &infra.Props{",
	)
	err := os.Rename(filepath.Join(dir, "agents/courier/workflows/example.yaml"),
		filepath.Join(dir, "workflows/courier.yaml"))
	require.NoError(t, err)

	page, err := os.ReadFile("../../docs/tutorials/first-deployment.md")
	require.NoError(t, err)
	local := typed(t, page, `    stepkeeper (aws local up)\n    stepkeeper (aws local deploy)\n`)
	require.Contains(t, run(strings.Fields(local[0])...), "runs already")
	var deployed struct {
		Stack, Endpoint, Region string
		Outputs                 map[string]string
	}
	out := run(append(strings.Fields(local[1]), "--output", "json")...)
	require.NoError(t, json.Unmarshal([]byte(out), &deployed))
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := cdkapp.Delete(ctx, s.config, deployed.Stack); err != nil {
			t.Error(err)
		}
	})
	require.Equal(t, name+"-local", deployed.Stack)
	require.Equal(t, *s.config.BaseEndpoint, deployed.Endpoint)
	require.Equal(t, s.config.Region, deployed.Region)
	sent := typed(
		t,
		page,
		`(?s)--queue-url "\$\(output (\w+)\)" --message-body '(.*?)'.*"\$\(output (\w+)\)" `+
			`--wait.*--table-name "\$\(output (\w+)\)" --key '\{"OrderID": \{"S": "o-1"\}\}'`,
	)
	for _, body := range []string{
		sent[1],
		`{"schema":1,"orderId":"c-1","workflow":"courier-example","replyTo":"app","order":{"amount":1}}`,
	} {
		_, err := s.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(deployed.Outputs[sent[0]]), MessageBody: aws.String(body),
		})
		require.NoError(t, err)
	}
	ended := map[string]string{}
	waitFor(t, "end of both orders", func() bool {
		for _, m := range receive(t.Context(), s.sqs, deployed.Outputs[sent[2]], 1) {
			var st status
			require.NoError(t, json.Unmarshal([]byte(*m.Body), &st))
			if st.Kind == "completed" || st.Kind == "undone" || st.Kind == "failed" ||
				st.Kind == "refused" {
				ended[st.OrderID] = st.Kind
			}
		}
		return len(ended) == 2
	})
	require.Equal(t, "completed", ended["o-1"])
	require.Equal(t, "completed", ended["c-1"])
	item, err := s.dynamo.GetItem(
		t.Context(),
		&dynamodb.GetItemInput{
			TableName: aws.String(deployed.Outputs[sent[3]]),
			Key:       map[string]types.AttributeValue{"OrderID": &types.AttributeValueMemberS{Value: "o-1"}},
		},
	)
	require.NoError(t, err)
	for _, shown := range strings.Split(typed(t, page, `The item shows (.*?) of`)[0], ", ") {
		for _, attribute := range strings.Split(shown, " and ") {
			require.NotNil(t, item.Item[attribute], "the item has no %s: %v", attribute, item.Item)
		}
	}
	err = os.WriteFile(filepath.Join(dir, "orders.jsonl"), []byte(`{"schema":1,"orderId":"o-2",`+
		`"workflow":"booking","order":{"seat":"12B","card":"card-2","price":1}}`), 0o600)
	require.NoError(t, err)
	commands := typed(
		t,
		page,
		`(?s)    stepkeeper --stack shop-dev (submit [^\n]*)\n.*    stepkeeper --stack shop-dev (show [^\n]*)\n`,
	)
	run(append(strings.Fields(commands[0]), "--stack", deployed.Stack)...)
	require.Contains(t, run(append(strings.Fields(commands[1]), "--stack", deployed.Stack)...), "Processed")
	require.Contains(t, run("aws", "local", "down"), "nothing to stop")
}

// The same project by its plain template: zips in a bucket, CloudFormation, and nothing of the CDK.
func TestPlainTemplate(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	name := "plain-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	dir := filepath.Join(t.TempDir(), name)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"reserveId":"r-1"}`))
	}))
	defer service.Close()
	require.NoError(t, os.Mkdir(dir, 0o700))
	run := s.project(t, dir)
	run("init", "--aws")
	replace(t, filepath.Join(dir, "agents.yaml"), "http://127.0.0.1:9100", service.URL)
	var written struct{ Stack, Template string }
	err := json.Unmarshal([]byte(run("aws", "template", "--output", "json", "--context", "stage=local",
		"--context", emulate.Context+"="+localstack)), &written)
	require.NoError(t, err)
	storage := s3.NewFromConfig(s.config, func(o *s3.Options) { o.UsePathStyle = true })
	must[*s3.CreateBucketOutput](t)(storage.CreateBucket(t.Context(), &s3.CreateBucketInput{
		Bucket: &name,
		CreateBucketConfiguration: &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(s.config.Region),
		},
	}))
	files := must[[]os.DirEntry](t)(os.ReadDir(filepath.Join(dir, "template")))
	for _, file := range files {
		body := must[[]byte](t)(os.ReadFile(filepath.Join(dir, "template", file.Name())))
		must[*s3.PutObjectOutput](t)(storage.PutObject(t.Context(), &s3.PutObjectInput{
			Bucket: &name,
			Key:    aws.String("shop/" + file.Name()), Body: bytes.NewReader(body),
		}))
	}
	stacks := cloudformation.NewFromConfig(s.config)
	parameter := func(key, value string) cftypes.Parameter {
		return cftypes.Parameter{ParameterKey: &key, ParameterValue: &value}
	}
	must[*cloudformation.CreateStackOutput](
		t,
	)(
		stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
			StackName: &name,
			TemplateURL: aws.String(
				*s.config.BaseEndpoint + "/" + name + "/shop/" + filepath.Base(written.Template),
			),
			Capabilities: []cftypes.Capability{cftypes.CapabilityCapabilityNamedIam},
			Parameters: []cftypes.Parameter{
				parameter(cdkapp.ParamBucket, name),
				parameter(cdkapp.ParamPrefix, "shop/"),
				parameter("LogRetention", "3"),
			},
		}),
	)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := cdkapp.Delete(ctx, s.config, name); err != nil {
			t.Error(err)
		}
	})
	err = cloudformation.NewStackCreateCompleteWaiter(stacks).Wait(t.Context(),
		&cloudformation.DescribeStacksInput{StackName: &name}, 5*time.Minute)
	require.NoError(t, err)
	out := run("submit", "--stack", name, "--workflow", "booking", "--id", "o-1", "--wait",
		"order.json")
	require.Contains(t, out, "Processed")
}

// typed returns the groups of a pattern in a page.
func typed(t *testing.T, page []byte, pattern string) (groups []string) {
	t.Helper()
	match := regexp.MustCompile(pattern).FindSubmatch(page)
	require.NotNil(t, match, "the page has no %s", pattern)
	for _, group := range match[1:] {
		groups = append(groups, string(group))
	}
	return groups
}

// project returns a function that runs the program in a folder of a user, and returns what it prints.
func (s *site) project(t *testing.T, dir string) func(args ...string) string {
	t.Helper()
	program, err := build()
	require.NoError(t, err)
	endpoint, err := url.Parse(*s.config.BaseEndpoint)
	require.NoError(t, err)
	state := t.TempDir()
	return func(args ...string) string {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		cmd := exec.CommandContext(ctx, program, args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "AWS_ENDPOINT_URL="+endpoint.String(), "LOCALSTACK_PORT="+
			endpoint.Port(), "LOCALSTACK_MODE=process", "STATE="+state)
		var notes strings.Builder
		cmd.Stderr = &notes
		out, err := cmd.Output()
		require.NoError(t, err)
		if len(out) == 0 {
			return notes.String()
		}
		return string(out)
	}
}

// replace changes a file as its author would.
func replace(t *testing.T, file, old, text string) {
	t.Helper()
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(data), old, file)
	require.NoError(t, os.WriteFile(file, []byte(strings.ReplaceAll(string(data), old, text)), 0o600))
}
