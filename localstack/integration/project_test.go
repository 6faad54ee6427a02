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

	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
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
	if err := os.Rename(filepath.Join(dir, "agents/courier/workflow.yaml"),
		filepath.Join(dir, "workflows/courier.yaml")); err != nil {
		t.Fatal(err)
	}

	page, err := os.ReadFile("../../docs/tutorials/first-deployment.md")
	if err != nil {
		t.Fatal(err)
	}
	local := typed(t, page, `    stepkeeper (aws local up)\n    stepkeeper (aws local deploy)\n`)
	if out := run(strings.Fields(local[0])...); !strings.Contains(out, "runs already") {
		t.Errorf("it does not use the LocalStack that runs:\n%s", out)
	}
	var deployed struct {
		Stack, Endpoint, Region string
		Outputs                 map[string]string
	}
	out := run(append(strings.Fields(local[1]), "--output", "json")...)
	if err := json.Unmarshal([]byte(out), &deployed); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		if err := cdkapp.Delete(ctx, s.config, deployed.Stack); err != nil {
			t.Error(err)
		}
	})
	if deployed.Stack != name+"-local" || deployed.Endpoint != *s.config.BaseEndpoint ||
		deployed.Region != s.config.Region {
		t.Errorf("%+v", deployed)
	}
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
		if _, err := s.sqs.SendMessage(t.Context(), &sqs.SendMessageInput{
			QueueUrl: aws.String(deployed.Outputs[sent[0]]), MessageBody: aws.String(body),
		}); err != nil {
			t.Fatal(err)
		}
	}
	ended := map[string]string{}
	waitFor(t, "end of both orders", func() bool {
		for _, m := range receive(t.Context(), s.sqs, deployed.Outputs[sent[2]], 1) {
			var st status
			if err := json.Unmarshal([]byte(*m.Body), &st); err != nil {
				t.Fatal(err)
			}
			if st.Kind == "completed" || st.Kind == "undone" || st.Kind == "failed" ||
				st.Kind == "refused" {
				ended[st.OrderID] = st.Kind
			}
		}
		return len(ended) == 2
	})
	if ended["o-1"] != "completed" || ended["c-1"] != "completed" {
		t.Errorf("%v", ended)
	}
	item, err := s.dynamo.GetItem(
		t.Context(),
		&dynamodb.GetItemInput{
			TableName: aws.String(deployed.Outputs[sent[3]]),
			Key:       map[string]types.AttributeValue{"OrderID": &types.AttributeValueMemberS{Value: "o-1"}},
		},
	)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range strings.Split(typed(t, page, `The item shows (.*?) of`)[0], ", ") {
		for _, attribute := range strings.Split(shown, " and ") {
			if item.Item[attribute] == nil {
				t.Errorf("the item has no %s: %v", attribute, item.Item)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "orders.jsonl"), []byte(`{"schema":1,"orderId":"o-2",`+
		`"workflow":"booking","order":{"seat":"12B","card":"card-2","price":1}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	commands := typed(
		t,
		page,
		`(?s)    stepkeeper --stack shop-dev (submit [^\n]*)\n.*    stepkeeper --stack shop-dev (show [^\n]*)\n`,
	)
	run(append(strings.Fields(commands[0]), "--stack", deployed.Stack)...)
	if out := run(append(strings.Fields(commands[1]), "--stack", deployed.Stack)...); !strings.Contains(out,
		"Processed") {
		t.Errorf("show: %s", out)
	}
	if out := run("aws", "local", "down"); !strings.Contains(out, "nothing to stop") {
		t.Errorf("it stopped a LocalStack that it had not started:\n%s", out)
	}
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
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	run := s.project(t, dir)
	run("init", "--aws")
	replace(t, filepath.Join(dir, "agents.yaml"), "http://127.0.0.1:9100", service.URL)
	var written struct{ Stack, Template string }
	if err := json.Unmarshal([]byte(run("aws", "template", "--output", "json", "--context", "stage=local",
		"--context", emulate.Context+"="+localstack)), &written); err != nil {
		t.Fatal(err)
	}
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
	if err := cloudformation.NewStackCreateCompleteWaiter(stacks).Wait(t.Context(),
		&cloudformation.DescribeStacksInput{StackName: &name}, 5*time.Minute); err != nil {
		t.Fatal(err)
	}
	if out := run("submit", "--stack", name, "--workflow", "booking", "--id", "o-1", "--wait",
		"order.json"); !strings.Contains(out, "Processed") {
		t.Error(out)
	}
}

// typed returns the groups of a pattern in a page.
func typed(t *testing.T, page []byte, pattern string) (groups []string) {
	t.Helper()
	match := regexp.MustCompile(pattern).FindSubmatch(page)
	if match == nil {
		t.Fatalf("the page has no %s", pattern)
	}
	for _, group := range match[1:] {
		groups = append(groups, string(group))
	}
	return groups
}

// project returns a function that runs the program in a folder of a user, and returns what it prints.
func (s *site) project(t *testing.T, dir string) func(args ...string) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	endpoint, err := url.Parse(*s.config.BaseEndpoint)
	if err != nil {
		t.Fatal(err)
	}
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
		if err != nil {
			t.Fatalf("stepkeeper %s: %v\n%s%s", strings.Join(args, " "), err, out, notes.String())
		}
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
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), old) {
		t.Fatalf("%s has no %q", file, old)
	}
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(string(data), old, text)), 0o600); err != nil {
		t.Fatal(err)
	}
}
