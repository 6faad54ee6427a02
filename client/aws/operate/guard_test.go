package operate_test

import (
	"context"
	"crypto/md5" //nolint:gosec // SQS's checksum
	"encoding/hex"
	"encoding/json"
	"fmt"
	"html"
	"net/url"
	"os"
	"path"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
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
	tables map[string]map[string]map[string]dynamotypes.AttributeValue // by name and key
	seen   map[string]bool                                             // actions
	denied []string
	cut    func() // ends the context of untilSent
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
	g := &guard{
		seen:   map[string]bool{},
		tables: map[string]map[string]map[string]dynamotypes.AttributeValue{}, outputs: map[string]string{},
	}
	data, err := os.ReadFile("../../../infra/testdata/shop.template.json")
	var template struct {
		Resources map[string]templateResource
		Outputs   map[string]struct{ Value any }
	}
	if err == nil {
		err = json.Unmarshal(data, &template)
	}
	if err != nil {
		t.Fatal(err)
	}
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
			if s["Effect"] != "Allow" || s["Condition"] != nil {
				t.Fatalf("%s: a statement that this test does not evaluate: %v", id, s)
			}
			g.policy = append(g.policy, allowed{g.texts(s["Action"]), g.texts(s["Resource"])})
		}
	}
	if len(g.policy) == 0 {
		t.Fatalf("the template has no policy %s", policy)
	}
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
	c := nowhere(t)
	c.Region = "eu-central-1"
	c.APIOptions = append(c.APIOptions, func(s *middleware.Stack) error {
		return s.Initialize.Add(middleware.InitializeMiddlewareFunc("guard",
			func(ctx context.Context, in middleware.InitializeInput, _ middleware.InitializeHandler) (
				out middleware.InitializeOutput, m middleware.Metadata, err error,
			) {
				out.Result, err = g.call(ctx, in.Parameters)
				return out, m, err
			}), middleware.After)
	})
	return c
}

// call checks a call and returns the reply.
func (g *guard) call(ctx context.Context, in any) (any, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	services := map[string]string{
		"SQS": "sqs", "DynamoDB": "dynamodb", "CloudFormation": "cloudformation",
		"CloudWatch": "cloudwatch", "Lambda": "lambda", "IAM": "iam", "STS": "sts", "SNS": "sns",
	}
	action := services[awsmiddleware.GetServiceID(ctx)] + ":" +
		strings.TrimSuffix(middleware.GetOperationName(ctx), "Batch")
	resource := g.resource(in)
	g.seen[action] = true
	if g.evaluates && !g.allows(action, resource) &&
		!slices.Contains(unasked, action) {
		g.denied = append(g.denied, action+" on "+resource)
		return nil, &smithy.GenericAPIError{
			Code:    "AccessDenied",
			Message: "User: ann is not authorized to perform: " + action + " on resource: " + resource,
		}
	}
	return g.answer(in)
}

func (g *guard) allows(action, resource string) bool {
	return slices.ContainsFunc(g.policy, func(s allowed) bool {
		return slices.Contains(s.actions, action) && slices.ContainsFunc(s.resources, func(r string) bool {
			begin, wild := strings.CutSuffix(r, "*")
			return r == resource || wild && strings.HasPrefix(resource, begin)
		})
	})
}

// resource returns the ARN that IAM sees in a call.
func (g *guard) resource(in any) string {
	field := func(name string) string {
		if f := reflect.ValueOf(in).Elem().FieldByName(name); f.IsValid() && !f.IsNil() {
			return f.Elem().String()
		}
		return ""
	}
	switch x := in.(type) {
	case *direct.Request:
		return resourceOf(x)
	}
	switch {
	case field("QueueUrl") != "":
		return "arn:aws:sqs:" + inAccount + path.Base(field("QueueUrl"))
	case field("IndexName") != "":
		return "arn:aws:dynamodb:" + inAccount + "table/" + field("TableName") + "/index/" +
			field("IndexName")
	case field("TableName") != "":
		return "arn:aws:dynamodb:" + inAccount + "table/" + field("TableName")
	}
	return "*"
}

// resourceOf returns the ARN that IAM sees in a call without a client of the SDK.
func resourceOf(r *direct.Request) string {
	form, _ := url.ParseQuery(string(r.Body))
	switch r.Operation {
	case "DescribeStacks":
		name := form.Get("StackName")
		if strings.HasPrefix(name, "arn:") {
			return name
		}
		return "arn:aws:cloudformation:" + inAccount + "stack/" + name + "/*"
	case "GetEventSourceMapping":
		return "arn:aws:lambda:" + inAccount + "event-source-mapping:" + path.Base(r.Path)
	case "SimulatePrincipalPolicy":
		return form.Get("PolicySourceArn")
	case "GetRole":
		return "arn:aws:iam::" + accountID + ":role/" + form.Get("RoleName")
	case "GetTopicAttributes":
		return form.Get("TopicArn")
	}
	return "*"
}

// untilSent returns a context that ends when a message has been sent. At that time a command waits for its
// verdict.
func (g *guard) untilSent(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	g.cut = cancel
	return ctx
}

func (g *guard) sent() {
	if g.cut != nil {
		g.cut()
	}
}

func (g *guard) answer(in any) (any, error) {
	switch x := in.(type) {
	case *direct.Request:
		return g.direct(x)
	case *sts.GetCallerIdentityInput:
		return &sts.GetCallerIdentityOutput{Arn: sdk.String("arn:aws:sts::" + accountID +
			":assumed-role/ops/ann")}, nil
	case *dynamodb.DescribeLimitsInput:
		return nil, &smithy.GenericAPIError{Code: "AccessDenied", Message: "not of a policy"}
	}
	if out := g.table(in); out != nil {
		return out, nil
	}
	return g.queue(in)
}

// direct answers a call without a client of the SDK.
func (g *guard) direct(r *direct.Request) (any, error) {
	text := "<R/>"
	switch r.Operation {
	case "DescribeStacks":
		text = `<R><DescribeStacksResult><Stacks><member><Outputs>`
		for key, value := range g.outputs {
			text += `<member><OutputKey>` + key + `</OutputKey><OutputValue>` + html.EscapeString(value) +
				`</OutputValue></member>`
		}
		text += `</Outputs></member></Stacks></DescribeStacksResult></R>`
	case "GetEventSourceMapping":
		text = `{"State":"Enabled"}`
	case "GetTopicAttributes":
		text = `<R><GetTopicAttributesResult><Attributes>` +
			`<entry><key>SubscriptionsConfirmed</key><value>1</value></entry>` +
			`<entry><key>SubscriptionsPending</key><value>0</value></entry></Attributes></GetTopicAttributesResult></R>`
	case "GetAccountSettings":
		return nil, &smithy.GenericAPIError{Code: "AccessDenied", Message: "not of a policy"}
	}
	return &direct.Response{Body: []byte(text)}, nil
}

func (g *guard) put(table string, item map[string]dynamotypes.AttributeValue) {
	if g.tables[table] == nil {
		g.tables[table] = map[string]map[string]dynamotypes.AttributeValue{}
	}
	for _, key := range []string{"OrderID", "Hash"} {
		if id, is := item[key].(*dynamotypes.AttributeValueMemberS); is {
			g.tables[table][id.Value] = item
		}
	}
}

func (g *guard) table(in any) any {
	switch x := in.(type) {
	case *dynamodb.PutItemInput:
		g.put(*x.TableName, x.Item)
		return &dynamodb.PutItemOutput{}
	case *dynamodb.GetItemInput:
		for _, id := range x.Key {
			return &dynamodb.GetItemOutput{
				Item: g.tables[*x.TableName][id.(*dynamotypes.AttributeValueMemberS).Value],
			}
		}
	case *dynamodb.QueryInput:
		return &dynamodb.QueryOutput{}
	}
	return nil
}

// queue replies like a queue that has one message each time.
func (g *guard) queue(in any) (any, error) {
	switch x := in.(type) {
	case *sqs.SendMessageBatchInput:
		g.sent()
		out := &sqs.SendMessageBatchOutput{}
		for _, e := range x.Entries {
			sum := md5.Sum([]byte(*e.MessageBody)) //nolint:gosec // SQS's checksum
			out.Successful = append(out.Successful, sqstypes.SendMessageBatchResultEntry{
				Id:               e.Id,
				MD5OfMessageBody: sdk.String(hex.EncodeToString(sum[:])),
			})
		}
		return out, nil
	case *sqs.ReceiveMessageInput:
		return &sqs.ReceiveMessageOutput{Messages: []sqstypes.Message{{
			MessageId: sdk.String("m"), ReceiptHandle: sdk.String("r"),
			Body:       sdk.String(letterOf(*x.QueueUrl)),
			Attributes: map[string]string{"SentTimestamp": "1790000000000", "ApproximateReceiveCount": "6"},
		}}}, nil
	case *sqs.DeleteMessageBatchInput:
		out := &sqs.DeleteMessageBatchOutput{}
		for _, e := range x.Entries {
			out.Successful = append(out.Successful, sqstypes.DeleteMessageBatchResultEntry{Id: e.Id})
		}
		return out, nil
	case *sqs.ChangeMessageVisibilityBatchInput:
		out := &sqs.ChangeMessageVisibilityBatchOutput{}
		for _, e := range x.Entries {
			out.Successful = append(out.Successful,
				sqstypes.ChangeMessageVisibilityBatchResultEntry{Id: e.Id})
		}
		return out, nil
	case *sqs.ChangeMessageVisibilityInput:
		return &sqs.ChangeMessageVisibilityOutput{}, nil
	case *sqs.GetQueueAttributesInput:
		return &sqs.GetQueueAttributesOutput{Attributes: map[string]string{
			"ApproximateNumberOfMessages":           "1",
			"ApproximateNumberOfMessagesNotVisible": "1", "ApproximateNumberOfMessagesDelayed": "0",
		}}, nil
	}
	return nil, fmt.Errorf("the test does not answer %T", in)
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
