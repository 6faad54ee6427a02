package operate_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
)

const (
	accountID = "123456789012"
	inAccount = "eu-central-1:" + accountID + ":"
)

// guard replaces AWS. It checks each call against one of the template's managed policies, and sends a reply.
type guard struct {
	template  map[string]templateResource
	outputs   map[string]string
	policy    []allowed
	evaluates bool

	mu     sync.Mutex
	items  map[string]string // as JSON, by table and key
	last   *configured
	queued bool   // a message has been sent
	cut    func() // ends the context of untilSent
}

// configured is what the calls of one configuration did. A call of the configuration before may still be under way.
type configured struct {
	without string          // action that is denied in any case
	seen    map[string]bool // actions
	denied  []string
}

// without denies an action to the last configuration, and forgets its calls.
func (g *guard) without(action string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	*g.last = configured{without: action, seen: map[string]bool{}}
}

// seen returns the actions of the last configuration.
func (g *guard) seen() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Sorted(maps.Keys(g.last.seen))
}

// denied returns the calls that were denied to the last configuration.
func (g *guard) denied() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.denied
}

type templateResource struct {
	Type       string
	Properties map[string]any
}

// allowed is one Allow of a policy.
type allowed struct{ actions, resources []string }

// unasked holds calls that no policy of the deployment allows. The client continues without them.
var unasked = []string{"sts:GetCallerIdentity", "lambda:GetAccountSettings", "dynamodb:DescribeLimits"}

func newGuard(t *testing.T, policy string) *guard {
	t.Helper()
	g := &guard{items: map[string]string{}, outputs: map[string]string{}}
	data, err := os.ReadFile("../../../infra/testdata/shop.template.json")
	var template struct {
		Resources map[string]templateResource
		Outputs   map[string]struct{ Value any }
	}
	if err == nil {
		err = json.Unmarshal(data, &template)
	}
	require.NoError(t, err)
	g.template = template.Resources
	for key, o := range template.Outputs {
		g.outputs[key] = g.text(o.Value)
	}
	for id, r := range g.template {
		if r.Type != "AWS::IAM::ManagedPolicy" || !strings.HasPrefix(id, "Engine"+policy) {
			continue
		}
		for _, s := range r.Properties["PolicyDocument"].(map[string]any)["Statement"].([]any) {
			s := s.(map[string]any)
			require.EqualValues(t, "Allow", s["Effect"], id)
			require.Nil(t, s["Condition"], id)
			g.policy = append(g.policy, allowed{g.texts(s["Action"]), g.texts(s["Resource"])})
		}
	}
	require.NotEmpty(t, g.policy, policy)
	// If the app names operators, the construct does so too, and their own rights are in another statement.
	g.policy = append(g.policy, allowed{
		[]string{"iam:GetRole", "iam:SimulatePrincipalPolicy"},
		[]string{"arn:aws:iam::" + accountID + ":role/ops"},
	})
	return g
}

// text resolves a value of the template, as CloudFormation does.
func (g *guard) text(v any) string {
	switch x := v.(type) {
	case string:
		return x
	case map[string]any:
		if id, is := x["Ref"].(string); is {
			return g.ref(id)
		}
		if get, is := x["Fn::GetAtt"].([]any); is {
			return g.attribute(get[0].(string), get[1].(string))
		}
		if join, is := x["Fn::Join"].([]any); is {
			return strings.Join(g.texts(join[1]), join[0].(string))
		}
	}
	panic(fmt.Sprintf("%v cannot be resolved", v))
}

func (g *guard) texts(v any) (all []string) {
	parts, is := v.([]any)
	if !is {
		return []string{g.text(v)}
	}
	for _, part := range parts {
		all = append(all, g.text(part))
	}
	return all
}

func (g *guard) ref(id string) string {
	switch g.template[id].Type {
	case "AWS::SQS::Queue":
		return "https://sqs.eu-central-1.amazonaws.com/" + accountID + "/Shop-" + id
	case "AWS::SNS::Topic":
		return "arn:aws:sns:" + inAccount + "Shop-" + id
	case "AWS::IAM::ManagedPolicy":
		return "arn:aws:iam::" + accountID + ":policy/Shop-" + id
	case "AWS::Lambda::EventSourceMapping":
		return "uuid-" + id
	case "AWS::DynamoDB::GlobalTable", "AWS::Lambda::Function":
		return "Shop-" + id
	}
	return map[string]string{
		"AWS::Partition": "aws", "AWS::Region": "eu-central-1",
		"AWS::AccountId": accountID, "AWS::StackId": stackARN,
	}[id]
}

func (g *guard) attribute(id, name string) string {
	switch kind := g.template[id].Type; {
	case name == "QueueName", name == "TableName":
		return "Shop-" + id
	case kind == "AWS::SQS::Queue":
		return "arn:aws:sqs:" + inAccount + "Shop-" + id
	case kind == "AWS::DynamoDB::GlobalTable":
		return "arn:aws:dynamodb:" + inAccount + "table/Shop-" + id
	case kind == "AWS::Lambda::EventSourceMapping":
		return "arn:aws:lambda:" + inAccount + "event-source-mapping:uuid-" + id
	}
	panic("no attribute " + name + " of " + id)
}

// config returns a configuration of the SDK that sends each call to the guard.
func (g *guard) config(t *testing.T) sdk.Config {
	t.Helper()
	now := &configured{seen: map[string]bool{}}
	g.last = now
	return awsstub.Config(t, func(c awsstub.Call) (int, string) {
		g.mu.Lock()
		defer g.mu.Unlock()
		action, resource := called(c)
		now.seen[action] = true
		allowed := (g.allows(action, resource) || slices.Contains(unasked, action)) && action != now.without
		if g.evaluates && !allowed {
			now.denied = append(now.denied, action+" on "+resource)
		}
		if g.evaluates && !allowed || action == "lambda:GetAccountSettings" || action == "dynamodb:DescribeLimits" {
			text := "User: ann is not authorized to perform: " + action + " on resource: " + resource
			if c.Form.Has("Action") {
				return awsstub.Denied(text)
			}
			return http.StatusBadRequest, fmt.Sprintf(`{"__type":"AccessDenied","code":"AccessDenied","message":%q}`, text)
		}
		return http.StatusOK, g.answer(c, action)
	})
}

func (g *guard) allows(action, resource string) bool {
	return slices.ContainsFunc(g.policy, func(s allowed) bool {
		return slices.Contains(s.actions, action) && slices.ContainsFunc(s.resources, func(r string) bool {
			begin, wild := strings.CutSuffix(r, "*")
			return r == resource || wild && strings.HasPrefix(resource, begin)
		})
	})
}

// fields are what the guard reads of a request in JSON.
type fields struct {
	QueueURL, TableName, IndexName string // JSON reads QueueUrl too
	Key                            map[string]struct{ S string }
	Item                           map[string]json.RawMessage
	Entries                        []map[string]any
}

// called returns the action and the ARN that IAM sees in a call.
func called(c awsstub.Call) (action, resource string) {
	action = strings.Replace(strings.TrimSuffix(c.Action, "Batch"), "monitoring:", "cloudwatch:", 1)
	var in fields
	_ = json.Unmarshal([]byte(c.Body), &in) // a form has no such fields
	switch {
	case strings.Contains(c.Path, "/event-source-mappings/"):
		return "lambda:GetEventSourceMapping", "arn:aws:lambda:" + inAccount + "event-source-mapping:" + path.Base(c.Path)
	case c.Action == "lambda:GET":
		return "lambda:GetAccountSettings", "*"
	case in.QueueURL != "":
		return action, "arn:aws:sqs:" + inAccount + path.Base(in.QueueURL)
	case in.IndexName != "":
		return action, "arn:aws:dynamodb:" + inAccount + "table/" + in.TableName + "/index/" + in.IndexName
	case in.TableName != "":
		return action, "arn:aws:dynamodb:" + inAccount + "table/" + in.TableName
	case strings.HasPrefix(c.Form.Get("StackName"), "arn:"):
		return action, c.Form.Get("StackName")
	case c.Form.Has("StackName"):
		return action, "arn:aws:cloudformation:" + inAccount + "stack/" + c.Form.Get("StackName") + "/*"
	case c.Form.Has("RoleName"):
		return action, "arn:aws:iam::" + accountID + ":role/" + c.Form.Get("RoleName")
	}
	return action, cmp.Or(c.Form.Get("PolicySourceArn"), c.Form.Get("TopicArn"), "*")
}

// untilSent returns a context that ends when a message has been sent. At that time a command waits for its
// verdict.
func (g *guard) untilSent(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.cut = cancel
	g.queued = false
	return ctx
}

func (g *guard) sent() {
	if g.cut != nil {
		g.cut()
	}
}

// answer replies like tables, and like queues that have one message each time.
func (g *guard) answer(c awsstub.Call, action string) string {
	var in fields
	_ = json.Unmarshal([]byte(c.Body), &in) // a form has no such fields
	switch action {
	case "cloudformation:DescribeStacks":
		return described(g.outputs)
	case "sts:GetCallerIdentity":
		return `<R><GetCallerIdentityResult><Arn>arn:aws:sts::` + accountID +
			`:assumed-role/ops/ann</Arn></GetCallerIdentityResult></R>`
	case "lambda:GetEventSourceMapping":
		return running
	case "sns:GetTopicAttributes":
		return `<R><GetTopicAttributesResult><Attributes>` +
			`<entry><key>SubscriptionsConfirmed</key><value>1</value></entry>` +
			`<entry><key>SubscriptionsPending</key><value>0</value></entry></Attributes></GetTopicAttributesResult></R>`
	case "dynamodb:PutItem":
		for _, key := range []string{"OrderID", "Hash"} {
			if id, is := in.Item[key]; is {
				item, _ := json.Marshal(in.Item) // it has been read as JSON
				g.items[in.TableName+string(id)] = string(item)
			}
		}
	case "dynamodb:GetItem":
		if g.queued { // the client looks for its verdict
			g.queued = false
			g.sent()
		}
		for _, id := range in.Key {
			if item := g.items[in.TableName+`{"S":"`+id.S+`"}`]; item != "" {
				return `{"Item":` + item + `}`
			}
		}
	case "dynamodb:Query":
		return `{"Items":[]}`
	case "sqs:ReceiveMessage":
		return fmt.Sprintf(`{"Messages":[{"MessageId":"m","ReceiptHandle":"r","Body":%q,"Attributes":`+
			`{"SentTimestamp":"1790000000000","ApproximateReceiveCount":"6"}}]}`, letterOf(in.QueueURL))
	case "sqs:GetQueueAttributes":
		return `{"Attributes":{"ApproximateNumberOfMessages":"1","ApproximateNumberOfMessagesNotVisible":"1",` +
			`"ApproximateNumberOfMessagesDelayed":"0"}}`
	case "sqs:SendMessage":
		g.queued = true
		return `{"Successful":[]}`
	}
	if strings.Contains(action, ":") && c.Form.Has("Action") {
		return "<R/>"
	}
	return `{}`
}

// letterOf returns a dead letter of a queue.
func letterOf(url string) string {
	switch {
	case strings.Contains(url, "IntakeDead"):
		return `{"schema":1,"orderId":"o-5","workflow":"order","order":{}}`
	case strings.Contains(url, "ControlDead"):
		return `{"schema":1,"kind":"undo","task":"o-1","id":"c"}`
	case strings.Contains(url, "RepliesDead"):
		return `{"schema":1,"task":"o-1","step":"charge","attempt":1,"operation":"do","outcome":"done"}`
	}
	return `{"schema":1,"task":"o-1","step":"charge","operation":"do"}`
}
