package infra_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// resolved is a template as CloudFormation deploys it: with names such as it makes, in place of references.
type resolved struct {
	tmpl
	stack, region string
}

// longest are the limits of the names that CloudFormation makes; others are not cut.
var longest = map[string]int{"AWS::SQS::Queue": 80, "AWS::IAM::Role": 64, "AWS::Lambda::Function": 64}

// name is the stack's, the ID, cut where it must be, and a random end.
func (r resolved) name(id string) string {
	name := r.stack + "-" + id
	if most, cut := longest[r.Resources[id].Type]; cut {
		name = name[:min(len(name), most-1-randomEnd)]
	}
	return name + "-" + random(id)[:randomEnd]
}

// randomEnd is the length of what CloudFormation puts behind a name.
const randomEnd = 13

func random(id string) string { return strings.ToUpper(fmt.Sprintf("%x", sha256.Sum256([]byte(id)))) }

func (r resolved) arn(id string) string {
	kinds := map[string]string{
		"AWS::SQS::Queue": "sqs:%s:%s:", "AWS::IAM::Role": "iam::%[2]s:role/",
		"AWS::IAM::ManagedPolicy": "iam::%[2]s:policy/", "AWS::Lambda::Function": "lambda:%s:%s:function:",
		"AWS::DynamoDB::GlobalTable": "dynamodb:%s:%s:table/", "AWS::SNS::Topic": "sns:%s:%s:",
		"AWS::Logs::LogGroup":      "logs:%s:%s:log-group:",
		"AWS::Scheduler::Schedule": "scheduler:%s:%s:schedule/default/",
		"AWS::Events::Rule":        "events:%s:%s:rule/",
		"AWS::CloudWatch::Alarm":   "cloudwatch:%s:%s:alarm:",
	}
	kind := r.Resources[id].Type
	if kind == "AWS::KMS::Key" {
		return "arn:aws:kms:" + r.region + ":" + account + ":key/01234567-89ab-cdef-0123-456789abcdef"
	}
	if kinds[kind] == "" {
		panic("no ARN is known of a " + kind)
	}
	arn := fmt.Sprintf("arn:aws:"+kinds[kind]+"%[3]s", r.region, account, r.name(id))
	return strings.TrimSuffix(arn, "%!(EXTRA string="+r.name(id)+")")
}

// ref is what Ref answers.
func (r resolved) ref(id string) string {
	switch id {
	case "AWS::Region":
		return r.region
	case "AWS::AccountId":
		return account
	case "AWS::Partition":
		return "aws"
	case "AWS::URLSuffix":
		return "amazonaws.com"
	case "AWS::StackId":
		return "arn:aws:cloudformation:" + r.region + ":" + account + ":stack/" + r.stack +
			"/01234567-89ab-cdef-0123-456789abcdef"
	}
	switch r.Resources[id].Type {
	case "AWS::SQS::Queue":
		return "https://sqs." + r.region + ".amazonaws.com/" + account + "/" + r.name(id)
	case "AWS::SNS::Topic", "AWS::IAM::ManagedPolicy":
		return r.arn(id)
	case "AWS::Lambda::Alias":
		p := r.Resources[id].Properties
		function := at(p, "FunctionName", "Ref").(string)
		return r.arn(function) + ":" + p["Name"].(string)
	case "AWS::Lambda::EventSourceMapping":
		return "01234567-89ab-cdef-0123-456789abcdef"
	case "":
		panic("a reference to " + id)
	}
	return r.name(id)
}

// value resolves whatever stands in a template.
func (r resolved) value(v any) any {
	switch x := v.(type) {
	case []any:
		all := make([]any, len(x))
		for i := range x {
			all[i] = r.value(x[i])
		}
		return all
	case map[string]any:
		if id, is := x["Ref"].(string); is {
			return r.ref(id)
		}
		if get := list(x["Fn::GetAtt"]); get != nil {
			id := get[0].(string)
			switch get[1] {
			case "RoleId": // 21 characters
				return "AROA" + random(id)[:17]
			case "Version":
				return "7"
			case "QueueName":
				return r.name(id)
			}
			return r.arn(id)
		}
		if join := list(x["Fn::Join"]); join != nil {
			var all []string
			for _, part := range r.value(join[1]).([]any) {
				all = append(all, part.(string))
			}
			return strings.Join(all, join[0].(string))
		}
		if split := list(x["Fn::Split"]); split != nil {
			var all []any
			for _, part := range strings.Split(r.value(split[1]).(string), split[0].(string)) {
				all = append(all, part)
			}
			return all
		}
		if chosen := list(x["Fn::Select"]); chosen != nil {
			return r.value(chosen[1]).([]any)[int(chosen[0].(float64))]
		}
		all := map[string]any{}
		for key, e := range x {
			if strings.HasPrefix(key, "Fn::") {
				panic("this test does not resolve " + key)
			}
			all[key] = r.value(e)
		}
		return all
	}
	return v
}

func (r resolved) size(v any) int {
	data, err := json.Marshal(r.value(v))
	if err != nil {
		panic(err)
	}
	return len(strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&").Replace(string(data)))
}

// variables of a function, resolved.
func (r resolved) variables(function string) map[string]string {
	all := map[string]string{}
	for name, value := range r.value(variables(r.tmpl, function)).(map[string]any) {
		all[name] = value.(string)
	}
	return all
}

// large is a deployment as large as one may be, all of whose agents keep ledgers. Names of agents have 12
// to 20 letters, and one 40, as many as it may.
func large(t *testing.T) resolved {
	t.Helper()
	needNode(t)
	if largest.stack != "" {
		return largest
	}
	dir := t.TempDir()
	const in = "ap-southeast-2"
	app := awscdk.NewApp(nil)
	name := "the-shop-of-thirty-letters-one"
	stack := awscdk.NewStack(app, &name,
		&awscdk.StackProps{Env: &awscdk.Environment{Account: str(account), Region: str(in)}})
	p := &infra.Props{
		Workflows: []string{dir}, Agents: map[string]infra.Agent{},
		Priorities: map[string]int{"intake": 2}, ReplyTo: map[string]awssqs.IQueue{}, Build: fake,
		CustomerManagedKey: true, EventBridgeRule: true,
		FinishedOrders: true, FairQueues: true, TaskTTL: 90 * 24 * 3600e9, PagesPerSweep: 100,
		SweepInterval: 5 * 60e9, AlarmEmail: "ops@example.com",
		Operators: []string{
			"arn:aws:iam::" + account + ":role/operators-of-the-shop",
			"arn:aws:iam::" + account + ":role/pipeline",
		},
	}
	file := "agents:\n"
	for i := range 20 {
		letters := 12 + 8*(i%2)
		if i == 7 {
			letters = 40
		}
		agent := fmt.Sprintf("a%02d-", i) + strings.Repeat("agent", 8)[:letters-4]
		file += "  " + agent + ": {url: 'https://a.example'}\n"
		p.Agents[agent] = infra.Agent{HTTP: filepath.Join(dir, "agents.yml.txt")}
		if i == 19 { // more would be more than the Scheduler's environment holds
			p.Priorities[agent] = 2
		}
	}
	for i := range 100 {
		steps := ""
		for n, agent := range slices.Sorted(maps.Keys(p.Agents)) {
			steps += fmt.Sprintf(
				"  s%d: {agent: %s, operation: run, timeout: 20s, grade: plain, onFailure: stop, undo: "+
					"none}\n", n, agent)
		}
		text := fmt.Sprintf("workflow: workflow-number-%03d\nsteps:\n%s", i, steps)
		require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("w%d.yaml", i)), []byte(text),
			0o600))
	}
	for i := range 10 {
		id := fmt.Sprintf("department-%02d", i)
		p.ReplyTo[id] = awssqs.Queue_FromQueueArn(stack, &id,
			str(fmt.Sprintf("arn:aws:sqs:%s:%s:%s%02d", in, account, strings.Repeat("status", 13), i)))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "agents.yml.txt"), []byte(file), 0o600))
	engine := infra.NewStepkeeper(stack, "Engine", p)
	engine.GrantOperate(awsiam.NewRole(stack, str("Ops"),
		&awsiam.RoleProps{AssumedBy: awsiam.NewAccountRootPrincipal()}))
	largest = resolved{tmpl: read(t, stack), stack: name, region: in}
	return largest
}

// largest is kept, because it takes many seconds to make.
var largest resolved

// Rule 28: what AWS limits, with the names that are there when it looks.
func TestSizes(t *testing.T) {
	x := large(t)
	most := map[string]int{}
	atMost := func(what, id string, n, limit int) {
		t.Helper()
		most[what] = max(most[what], n)
		if n > limit {
			t.Errorf("%s of %s: %d, and AWS takes %d", what, id, n, limit)
		}
	}
	atMost("outputs", "template", len(x.Outputs), 200)
	atMost("resources", "template", len(x.Resources), 500)
	data, err := json.Marshal(x.tmpl)
	require.NoError(t, err)
	atMost("bytes", "template", len(data), 1_000_000)
	for id, r := range x.Resources {
		p := r.Properties
		switch r.Type {
		case "AWS::Lambda::Function":
			atMost("environment", id, x.size(at(p, "Environment", "Variables")), 4_096)
		case "AWS::IAM::ManagedPolicy":
			atMost("managed policy", id, x.size(p["PolicyDocument"]), 6_144)
		case "AWS::IAM::Role":
			inline := 0
			for _, policy := range list(p["Policies"]) {
				inline += x.size(at(policy, "PolicyDocument"))
			}
			for _, attached := range x.of("AWS::IAM::Policy") {
				if slices.ContainsFunc(list(attached.Properties["Roles"]),
					func(role any) bool { return at(role, "Ref") == id }) {
					inline += x.size(attached.Properties["PolicyDocument"])
				}
			}
			atMost("inline policies", id, inline, 10_240)
			atMost("managed policies", id, len(list(p["ManagedPolicyArns"]))+len(x.attached(id)), 10)
		case "AWS::SQS::QueuePolicy":
			atMost("queue policy", id, x.size(p["PolicyDocument"]), 8_192)
			atMost("statements of a queue policy", id, len(list(at(p, "PolicyDocument", "Statement"))), 20)
		case "AWS::SNS::TopicPolicy":
			atMost("topic policy", id, x.size(p["PolicyDocument"]), 30_720)
		case "AWS::KMS::Key":
			atMost("key policy", id, x.size(p["KeyPolicy"]), 32_768)
		}
	}
	t.Log(most)
	for _, what := range []string{
		"environment", "managed policy", "inline policies", "managed policies",
		"queue policy", "topic policy", "key policy",
	} {
		require.NotZero(t, most[what], what)
	}
	require.GreaterOrEqual(t, 4_096-most["environment"], 300)
}

// Divided or not, an operator may do the same, on every queue by its name.
func TestOperatorsRightsAreWhole(t *testing.T) {
	x := large(t)
	may := map[string]int{}
	for _, s := range allowed(x.tmpl) {
		if strings.HasPrefix(s.where, "Operator") {
			for _, action := range s.actions {
				may[action] += len(s.resources)
			}
		}
	}
	const queues, dead, topics = 3 + 20 + 2, 3 + 20 + 2 + 2, 2 // two for high priority
	want := map[string]int{
		"sqs:SendMessage": 2 + 21 + 2, "sqs:GetQueueAttributes": queues + dead + topics,
		"sns:GetTopicAttributes": queues + dead + topics, "sqs:ReceiveMessage": dead,
		"sqs:DeleteMessage": dead, "sqs:ChangeMessageVisibility": dead, "sqs:StartMessageMoveTask": dead,
		"sqs:CancelMessageMoveTask": dead, "sqs:ListMessageMoveTasks": dead, "dynamodb:GetItem": 2,
		"dynamodb:Query": 1, "cloudformation:DescribeStacks": 1, "lambda:GetEventSourceMapping": queues,
		"cloudwatch:GetMetricData": 1, "iam:GetRole": 2, "iam:SimulatePrincipalPolicy": 2, "kms:Decrypt": 1,
		"kms:GenerateDataKey": 1,
	}
	same(t, "operator's rights", may, fmt.Sprint(want))
	for _, problem := range loose(x.tmpl) {
		t.Error(problem)
	}
	few := resolved{tmpl: template(t, nil), stack: "Test", region: region}
	same(t, "size of one policy for four agents",
		few.size(few.of("AWS::IAM::ManagedPolicy")["Operator"].Properties["PolicyDocument"]) <= 6_144, true)
	same(t, "policies for four agents", few.Outputs["EngineOperatorPolicy2"].Value, nil)
	var outputs []string
	for name := range x.Outputs {
		if strings.HasPrefix(name, "EngineOperatorPolicy") {
			outputs = append(outputs, name)
		}
	}
	same(t, "the second policy is reported", slices.Contains(outputs, "EngineOperatorPolicy2"), true)
	same(t, "policies that are reported", len(outputs), len(x.attached(x.id("AWS::IAM::Role", "Ops"))))
}

// What a function reads of its environment is where its queues are.
func TestEnvironmentIsRead(t *testing.T) {
	x := large(t)
	at := map[string]string{} // the resource at a URL
	for id, r := range x.Resources {
		if r.Type == "AWS::SQS::Queue" {
			at[x.ref(id)] = plainID(id)
		}
	}
	roles := map[string]string{} // the ID of an agent's role
	for id, r := range x.Resources {
		if r.Type == "AWS::IAM::Role" {
			roles[plainID(id)] = x.value(map[string]any{"Fn::GetAtt": []any{id, "RoleId"}}).(string)
		}
	}
	cut := 0
	for _, function := range []string{"Scheduler", "Supervisor"} {
		env := x.variables(function)
		env["LAMBDA_TASK_ROOT"] = "/var/task"
		lookup := func(name string) (string, bool) { value, set := env[name]; return value, set }
		s, err := deployment.ReadScheduler(lookup)
		if function == "Supervisor" {
			_, err = deployment.ReadSupervisor(lookup)
		}
		require.NoError(t, err, function)
		same(t, function+": queues", len(s.Queues), 4+20+2)
		for logical, url := range s.Queues {
			require.True(t, strings.EqualFold(at[url], strings.ReplaceAll(logical, "-", "")), function)
			if !strings.Contains(url, at[url]) {
				cut++
			}
		}
		if function == "Supervisor" {
			continue
		}
		same(t, "reply-to", s.ReplyTo["department-03"], "https://sqs.ap-southeast-2.amazonaws.com/"+account+
			"/"+strings.Repeat("status", 13)+"03")
		same(t, "reply-to queues", len(s.ReplyTo), 10)
		same(t, "agents whose senders are known", len(s.Senders), 20)
		for agent, ids := range s.Senders {
			found := ""
			for id, of := range roles {
				if strings.EqualFold(id, "Agent"+strings.ReplaceAll(agent, "-", "")+"Role") {
					found = of
				}
			}
			same(t, agent+": roles", ids, "["+found+"]")
		}
	}
	require.NotZero(t, cut)
}

// The limit itself is allowed, as it is counted.
func TestEnvironmentAsLargeAsAllowed(t *testing.T) {
	needNode(t)
	reported := func(letters int) string {
		_, stack := newStack("Large")
		p := small(stack)
		p.Agents["payment"] = infra.Agent{
			HTTP:        "app/agents.yaml",
			Environment: map[string]string{"LONG": strings.Repeat("x", letters)},
		}
		return refusal(func() { infra.NewStepkeeper(stack, "Engine", p) })
	}
	const limit = 4_096
	text := reported(limit)
	_, rest, _ := strings.Cut(text, "would have some ")
	counted := 0
	_, err := fmt.Sscan(rest, &counted)
	require.NoError(t, err, text)
	require.Greater(t, counted, limit)
	require.Empty(t, reported(2*limit-counted), "at the limit")
	require.Contains(t, reported(2*limit-counted+1), "would have some 4097 bytes")
}

// The ARN of an operator may be longer than those that CloudFormation generates.
func TestOperatorsWithLongPaths(t *testing.T) {
	needNode(t)
	_, stack := newStack("Test")
	p := shop(stack)
	for i := range 9 {
		p.Operators = append(p.Operators, fmt.Sprintf("arn:aws:iam::%s:role/%s/%02d", account, strings.Repeat("a", 500), i))
	}
	infra.NewStepkeeper(stack, "Engine", p)
	x := resolved{tmpl: read(t, stack), stack: "Test", region: region}
	for id, policy := range x.of("AWS::IAM::ManagedPolicy") {
		require.LessOrEqual(t, x.size(policy.Properties["PolicyDocument"]), 6_144, id)
	}
}

// So is a policy that grows with what an app gives: of a queue with its operators, of a role with its
// secrets.
func TestPoliciesTooLarge(t *testing.T) {
	needNode(t)
	app, stack := newStack("Large")
	p := small(stack)
	for i := range 150 {
		p.Operators = append(p.Operators,
			fmt.Sprintf("arn:aws:iam::%s:role/operators-of-the-shop-number-%03d", account, i))
	}
	for i := range 48 { // the policy has three more statements
		p.Submitters = append(p.Submitters, fmt.Sprintf("arn:aws:iam::111122223333:role/shop-%03d", i))
	}
	infra.NewStepkeeper(stack, "Engine", p)
	text := refusal(func() { app.Synth(nil) })
	for _, want := range []string{
		"Large/Engine/Replies/Policy/Resource", "AWS takes 8192", "fewer Operators",
		"Large/Engine/Intake/Policy/Resource: its policies would have some 51 principals, and AWS takes 50",
	} {
		require.Contains(t, text, want)
	}
}
