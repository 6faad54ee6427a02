package integration

import (
	"context"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// grant is one action on one resource that a deployed policy allows.
type grant struct {
	// start of the role's or the policy's ID in the template: Scheduler, AgentPayment, Operator
	actor  string
	action string // sqs:SendMessage
	// the ID in the template, without what CDK adds: RequestsPayment; indexes and streams end in /…
	resource string
}

func (g grant) String() string { return g.actor + " " + g.action + " " + g.resource }

// statement is one of a policy's. Emulators may return lists of one as they were put.
type statement struct {
	Sid, Effect      string
	Action, Resource many
	Condition        json.RawMessage `json:",omitempty"`
}

type many []string

func (m *many) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*m = many{one}
		return nil
	}
	return json.Unmarshal(data, (*[]string)(m))
}

type policy struct {
	Version   string
	Statement []statement
}

func (p policy) text() string {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func readPolicy(t *testing.T, document *string) policy {
	t.Helper()
	text, err := url.QueryUnescape(aws.ToString(document))
	var p policy
	if err == nil {
		err = json.Unmarshal([]byte(text), &p)
	}
	require.NoError(t, err)
	return p
}

// without takes one action on one resource away and leaves all else. MiniStack's own actions for
// batches go with the action that AWS asks for.
func (p policy) without(s *site, g grant) policy {
	less := policy{Version: p.Version}
	for _, st := range p.Statement {
		isAction := func(a string) bool { return a == g.action || a == g.action+"Batch" }
		isResource := func(arn string) bool { return s.label(arn) == g.resource }
		if !slices.ContainsFunc(st.Action, isAction) || !slices.ContainsFunc(st.Resource, isResource) {
			less.Statement = append(less.Statement, st)
			continue
		}
		others := st
		elsewhere := st
		others.Sid = st.Sid + "Others"
		elsewhere.Sid = st.Sid + "Elsewhere"
		others.Action = slices.DeleteFunc(slices.Clone(st.Action), isAction)
		elsewhere.Resource = slices.DeleteFunc(slices.Clone(st.Resource), isResource)
		for _, rest := range []statement{others, elsewhere} {
			if len(rest.Action) > 0 && len(rest.Resource) > 0 {
				less.Statement = append(less.Statement, rest)
			}
		}
	}
	return less
}

// unplaced are actions for which MiniStack looks at no resource.
var unplaced = []string{
	"cloudformation:DescribeStacks", "sqs:ListMessageMoveTasks",
	"sqs:StartMessageMoveTask",
}

const anywhere = "*"

// spelledOut says for MiniStack that such actions are allowed anywhere.
func (p policy) spelledOut() policy {
	all := policy{Version: p.Version}
	for _, st := range p.Statement {
		isUnplaced := func(a string) bool { return slices.Contains(unplaced, a) }
		for _, action := range st.Action {
			if isUnplaced(action) {
				all.Statement = append(all.Statement, statement{
					Sid: st.Sid + "Anywhere", Effect: st.Effect,
					Action: many{action}, Resource: many{anywhere},
				})
			}
		}
		st.Action = slices.DeleteFunc(slices.Clone(st.Action), isUnplaced)
		if len(st.Action) > 0 {
			all.Statement = append(all.Statement, st)
		}
	}
	return all
}

// grants lists what a policy allows, pair by pair.
func (p policy) grants(s *site, actor string) []grant {
	var all []grant
	for _, st := range p.Statement {
		for _, action := range st.Action {
			for _, arn := range st.Resource {
				if batched, is := strings.CutSuffix(action, "Batch"); is &&
					slices.Contains(st.Action, batched) {
					continue
				}
				all = append(all, grant{actor, action, s.label(arn)})
			}
		}
	}
	return all
}

// resources reads which resource of the template has become what.
func (s *site) readResources(ctx context.Context) error {
	out, err := cloudformation.NewFromConfig(s.config).DescribeStackResources(ctx,
		&cloudformation.DescribeStackResourcesInput{StackName: &s.assembly.Stack})
	if err != nil {
		return err
	}
	s.resources = map[string]string{}
	for _, r := range out.StackResources {
		physical := text(r.PhysicalResourceId)
		if i := strings.LastIndexAny(physical, "/:"); i >= 0 && !strings.HasPrefix(physical, "/aws") {
			physical = physical[i+1:]
		}
		s.resources[text(r.LogicalResourceId)] = physical
	}
	return nil
}

// logical finds the ID in the template that begins with a text.
func (s *site) logical(t *testing.T, start string) string {
	t.Helper()
	for id := range s.resources {
		if strings.HasPrefix(id, "Engine"+start) && len(id) == len("Engine"+start)+8 { // CDK's hash
			return id
		}
	}
	t.Fatalf("the stack has no %s", start)
	return ""
}

// label is the ID in the template of the resource that an ARN names.
func (s *site) label(arn string) string {
	if arn == s.secret {
		return "Secret"
	}
	best := ""
	label := ""
	for id, physical := range s.resources {
		if len(physical) > len(best) && strings.Contains(arn, physical) {
			best = physical
			label = strings.TrimPrefix(id, "Engine")
		}
	}
	if best == "" {
		if strings.Contains(arn, ":stack/"+s.assembly.Stack) {
			return "Stack"
		}
		return arn[strings.LastIndex(arn, ":")+1:]
	}
	_, rest, _ := strings.Cut(arn, best)
	if strings.Contains(arn, ":secret:") { // it ends with six characters of its own
		rest = ""
	}
	return label[:max(0, len(label)-8)] + rest
}

// rolePolicy is the inline policy of a function's role.
func (s *site) rolePolicy(t *testing.T, actor string) (role string, p policy) {
	t.Helper()
	role = s.resources[s.logical(t, actor+"Role")]
	out, err := s.iam.GetRolePolicy(t.Context(),
		&iam.GetRolePolicyInput{RoleName: &role, PolicyName: aws.String("Access")})
	require.NoError(t, err)
	return role, readPolicy(t, out.PolicyDocument)
}

// putRolePolicy runs in clean-ups too, after the test's own context has ended.
func (s *site) putRolePolicy(t *testing.T, role string, p policy) {
	t.Helper()
	_, err := s.iam.PutRolePolicy(context.WithoutCancel(t.Context()), &iam.PutRolePolicyInput{
		RoleName:   &role,
		PolicyName: aws.String("Access"), PolicyDocument: aws.String(p.text()),
	})
	require.NoError(t, err)
}

// managedPolicy is a policy for people and programs outside.
func (s *site) managedPolicy(t *testing.T, output string) policy {
	t.Helper()
	arn := s.outputs[output]
	got, err := s.iam.GetPolicy(t.Context(), &iam.GetPolicyInput{PolicyArn: &arn})
	require.NoError(t, err)
	out, err := s.iam.GetPolicyVersion(t.Context(),
		&iam.GetPolicyVersionInput{PolicyArn: &arn, VersionId: got.Policy.DefaultVersionId})
	require.NoError(t, err)
	return readPolicy(t, out.PolicyVersion.Document)
}

// user is an IAM user that has a policy and nothing else.
type user struct {
	s    *site
	name string
	aws.Config
}

func (s *site) newUser(t *testing.T, name string) *user {
	t.Helper()
	name = s.assembly.Stack + "-" + name
	_, err := s.iam.CreateUser(t.Context(), &iam.CreateUserInput{UserName: &name})
	require.NoError(t, err)
	key, err := s.iam.CreateAccessKey(t.Context(), &iam.CreateAccessKeyInput{UserName: &name})
	require.NoError(t, err)
	u := &user{s: s, name: name, Config: s.config.Copy()}
	u.Credentials = aws.NewCredentialsCache(
		aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{
				AccessKeyID:     *key.AccessKey.AccessKeyId,
				SecretAccessKey: *key.AccessKey.SecretAccessKey,
			}, nil
		}))
	return u
}

func (u *user) may(t *testing.T, p policy) {
	t.Helper()
	_, err := u.s.iam.PutUserPolicy(t.Context(), &iam.PutUserPolicyInput{
		UserName:   &u.name,
		PolicyName: aws.String("Access"), PolicyDocument: aws.String(p.text()),
	})
	require.NoError(t, err)
}

// as is a client with the role of a function. The queues' own policies name who may send: to an
// agent only the Scheduler, not even the account's administrator.
func (s *site) as(t *testing.T, actor string) *sqs.Client {
	t.Helper()
	role := "arn:aws:iam::" + cdkapp.Account + ":role/" + s.resources[s.logical(t, actor+"Role")]
	out, err := sts.NewFromConfig(s.config).AssumeRole(t.Context(),
		&sts.AssumeRoleInput{RoleArn: &role, RoleSessionName: aws.String("test")})
	require.NoError(t, err)
	c := s.config.Copy()
	c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{
			AccessKeyID: *out.Credentials.AccessKeyId, SecretAccessKey: *out.Credentials.SecretAccessKey,
			SessionToken: *out.Credentials.SessionToken,
		}, nil
	})
	return sqs.NewFromConfig(c)
}
