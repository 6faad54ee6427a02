package infra_test

import (
	"archive/zip"
	"cmp"
	"encoding/json"
	"flag"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"
)

// schemas names the wheel of cfn-lint, which holds the schemas of CloudFormation's resource types, each with
// the permissions that its handlers need. testdata/cloudformation.json has those of the types that our
// templates hold:
//
//	pip download --no-deps cfn-lint==1.58.0
//	go test ./infra -run TestPermissionsOfCloudFormation -update \
//		-schemas $PWD/cfn_lint-1.58.0-py3-none-any.whl
var schemas = flag.String("schemas", "",
	"the wheel of cfn-lint, to hold infra/testdata/cloudformation.json to it")

// permissions are what the handlers of a resource type need.
type permissions struct {
	Create, Read, Update, Delete, Tags []string
}

func (p permissions) all() []string {
	all := slices.Concat(p.Create, p.Read, p.Update, p.Delete, p.Tags)
	slices.Sort(all)
	return slices.Compact(all)
}

func ofCloudFormation(t *testing.T) map[string]permissions {
	t.Helper()
	var all map[string]permissions
	require.NoError(t, json.Unmarshal([]byte(file(t, "infra", "testdata", "cloudformation.json")), &all))
	return all
}

// The checked-in permissions are those of the schemas.
func TestPermissionsOfCloudFormation(t *testing.T) {
	if *schemas == "" {
		t.Skip("NOT RUN: give -schemas the wheel of cfn-lint, see there")
	}
	wheel, err := zip.OpenReader(*schemas)
	require.NoError(t, err)
	defer wheel.Close()
	read := func(name string, to any) {
		f, err := wheel.Open("cfnlint/data/schemas/" + name + ".json")
		if err == nil {
			err = json.NewDecoder(f).Decode(to)
		}
		require.NoError(t, err)
	}
	var files map[string]string
	read("providers/us-east-1", &files)
	all := map[string]permissions{}
	for kind := range calls().ARNs {
		var schema struct {
			Handlers map[string]struct{ Permissions []string }
			Tagging  struct{ Permissions []string }
		}
		read("resources/"+files[kind], &schema)
		h := schema.Handlers
		all[kind] = permissions{
			h["create"].Permissions, h["read"].Permissions, h["update"].Permissions,
			h["delete"].Permissions, schema.Tagging.Permissions,
		}
	}
	text, err := json.MarshalIndent(all, "", " ")
	require.NoError(t, err)
	golden.Assert(t, string(text)+"\n", "cloudformation.json")
}

// deploying is what testdata/deploying.json says of the calls that CloudFormation makes for the stack Shop.
type deploying struct {
	ARNs      map[string]string // what IAM sees of a resource, by its type; of a subscription it is the topic
	Elsewhere map[string]string // what IAM sees of an action on something else than the resource itself
	// Only has the permissions that a handler needs where a resource has a property, by the type and by the path of the
	// property. The others are needed always. An alias with an update policy needs what its deployment group needs.
	Only map[string]map[string]string
}

var calls = sync.OnceValue(func() (d deploying) {
	text, err := os.ReadFile("testdata/deploying.json")
	if err == nil {
		err = json.Unmarshal(text, &d)
	}
	if err != nil {
		panic(err)
	}
	return d
})

// needed are the permissions for the resources of a template, each with what IAM sees.
func needed(t *testing.T, x tmpl, schemas map[string]permissions) map[[2]string]bool {
	t.Helper()
	all := map[[2]string]bool{
		{
			"s3:GetObject",
			"arn:aws:s3:::cdk-hnb659fds-assets-ACCOUNT-eu-central-1/x",
		}: true,
		{
			"ssm:GetParameters",
			"arn:aws:ssm:eu-central-1:ACCOUNT:parameter/cdk-bootstrap/hnb659fds/version",
		}: true,
	}
	for _, r := range x.Resources {
		require.NotEmpty(t, calls().ARNs[r.Type], r.Type)
		for _, action := range schemas[r.Type].all() {
			property, conditional := calls().Only[r.Type][action]
			if conditional && property != "" && inside(r.Properties, property) == nil {
				continue
			}
			all[[2]string{action, cmp.Or(calls().Elsewhere[action], calls().ARNs[r.Type])}] = true
		}
	}
	return all
}

// inside is what stands at a path: Replicas.0.SSESpecification.
func inside(v any, path string) any {
	for step := range strings.SplitSeq(path, ".") {
		if i, err := strconv.Atoi(step); err == nil {
			v = at(v, i)
		} else {
			v = at(v, step)
		}
	}
	return v
}

// settings are those whose resources need more than the policy has, each with its variant, and with the other
// settings of that variant.
var settings = map[string][]string{
	"Account":            {"account of an agent"},
	"Billing":            {"billing"},
	"CodeSigning":        {"code signing"},
	"CustomerManagedKey": {"key"},
	"Dashboard":          {"dashboard"},
	"Names":              {"names"},
	"Replicas":           {"replicas", "CustomerManagedKey"},
	"TokenKeys":          {"workflow with tokens"},
	"VPC":                {"functions in a VPC", "Names"},
	"Versions":           {"versions"},
	"Canary":             {"canary with essential alarms", "Versions"},
}

type deployPolicy struct {
	Statement []struct {
		Sid       string
		Action    any
		Resource  any
		Condition map[string]map[string]any
	}
}

// keyTag is what the construct gives its keys.
const keyTag = "stepkeeper:stack"

// contextOf are the condition keys that IAM sees in a call of CloudFormation for the stack Shop.
func contextOf(action string) map[string]string {
	switch {
	case action == "iam:PassRole":
		return map[string]string{"iam:PassedToService": "lambda.amazonaws.com"}
	case strings.Contains(action, "EventSourceMapping"):
		return map[string]string{"lambda:FunctionArn": calls().ARNs["AWS::Lambda::Function"]}
	case action == "kms:CreateKey":
		return map[string]string{"aws:RequestTag/" + keyTag: "Shop"}
	case strings.HasPrefix(action, "kms:"):
		return map[string]string{"aws:ResourceTag/" + keyTag: "Shop"}
	}
	return nil
}

func texts(v any) (all []string) {
	for _, x := range list(v) {
		all = append(all, x.(string))
	}
	return all
}

// allows reports whether the policy allows the stack Shop an action on what IAM sees, with these condition
// keys.
func (d deployPolicy) allows(t *testing.T, action, arn string, context map[string]string) bool {
	t.Helper()
	for _, s := range d.Statement {
		fits := true
		for operator, keys := range s.Condition {
			for key, values := range keys {
				var shop []any
				for _, v := range texts(values) {
					shop = append(shop, strings.ReplaceAll(v, "STACK", "Shop"))
				}
				fits = fits && holds(t, operator, context, key, shop)
			}
		}
		for _, a := range texts(s.Action) {
			if !fits || !covers(a, action) {
				continue
			}
			for _, r := range texts(s.Resource) {
				r = strings.ReplaceAll(r, "STACK", "Shop")
				if r == "*" || like(r, arn) {
					return true
				}
			}
		}
	}
	return false
}

// holds evaluates one condition. The negated operators hold for a key that is absent, the others do not.
func holds(t *testing.T, operator string, keys map[string]string, key string, values []any) bool {
	t.Helper()
	is, there := keys[key]
	any := slices.ContainsFunc(values, func(v any) bool {
		text := target(v)
		return text == is || strings.HasPrefix(operator, "Arn") && like(text, is)
	})
	switch operator {
	case "StringEquals", "Bool", "ArnEquals", "ArnLike":
		return there && any
	case "BoolIfExists":
		return !there || any
	case "StringNotEquals", "ArnNotEquals", "ArnNotLike":
		return !there || !any
	case "StringEqualsIfExists":
		return !there || any
	case "Null":
		return !there == (values[0] == "true")
	}
	t.Fatalf("this test does not know the operator %s", operator)
	return false
}

// like matches as IAM does: a * stands for any text, slashes and colons too.
func like(pattern, text string) bool {
	first, rest, star := strings.Cut(pattern, "*")
	if !strings.HasPrefix(text, first) {
		return false
	}
	text = text[len(first):]
	if !star {
		return text == ""
	}
	for i := range len(text) + 1 {
		if like(rest, text[i:]) {
			return true
		}
	}
	return false
}

// docs/reference/aws-deploy-policy.json allows what CloudFormation needs for every resource of the template,
// as the schemas of the resource types say, and nothing besides.
func TestDeployPolicy(t *testing.T) {
	policy := documented(t)
	schemas := ofCloudFormation(t)
	whole := map[[2]string]bool{}
	for _, x := range []tmpl{template(t, nil), templateOf(t, "rule"), templateOf(t, "x86 for a trial")} {
		maps.Copy(whole, needed(t, x, schemas))
	}
	for call := range whole {
		action := call[0]
		arn := call[1]
		require.True(t, policy.allows(t, action, arn, contextOf(action)))
		if others := strings.ReplaceAll(arn, "Shop", "Other"); others != arn &&
			policy.allows(t, action, others, contextOf(action)) {
			t.Errorf("docs/reference/aws-deploy-policy.json allows %s on resources of other stacks", action)
		}
	}
	for _, s := range policy.Statement {
		for _, action := range texts(s.Action) {
			needs := func(call [2]string) bool { return covers(action, call[0]) }
			require.True(t, slices.ContainsFunc(slices.Collect(maps.Keys(whole)), needs), s.Sid)
		}
	}
	optional := optional(t)
	for setting, variant := range settings {
		allowed := optional[setting]
		for _, other := range variant[1:] {
			allowed = append(allowed, optional[other]...)
		}
		for call := range needed(t, templateOf(t, variant[0]), schemas) {
			if action := call[0]; !whole[call] && !policy.allows(t, action, call[1], contextOf(action)) &&
				!slices.ContainsFunc(allowed, func(a string) bool { return covers(a, action) }) {
				t.Errorf("aws-deploy-options.json does not allow %s, which %s needs", action, setting)
			}
		}
	}
}

func documented(t *testing.T) (policy deployPolicy) {
	t.Helper()
	text := strings.ReplaceAll(page(t, "aws-deploy-policy.json"), "PARTITION", "aws")
	require.NoError(t, json.Unmarshal([]byte(text), &policy))
	return policy
}

// The policy for deploying creates keys, and changes only those of its stack: neither a key of somebody else,
// nor one of another stack, nor one that it would have to tag first. Each key of a stack has the tag.
func TestDeployPolicyTakesOverNoKey(t *testing.T) {
	policy := documented(t)
	key := calls().ARNs["AWS::KMS::Key"]
	own := "aws:ResourceTag/" + keyTag
	asked := "aws:RequestTag/" + keyTag
	for _, action := range ofCloudFormation(t)["AWS::KMS::Key"].all() {
		for name, c := range map[string]struct {
			keys map[string]string
			want bool
		}{
			"its own key":                     {map[string]string{own: "Shop"}, true},
			"its own key, with an alias":      {map[string]string{own: "Shop", "kms:ResourceAliases": "alias/x"}, true},
			"a foreign key":                   {map[string]string{"kms:ResourceAliases": "alias/x"}, false},
			"a foreign key, to be tagged":     {map[string]string{"kms:ResourceAliases": "alias/x", asked: "Shop"}, false},
			"a key of another stack":          {map[string]string{own: "Other"}, false},
			"another stack's, to be tagged":   {map[string]string{own: "Other", asked: "Shop"}, false},
			"a foreign key, otherwise tagged": {map[string]string{asked: "Other"}, false},
		} {
			if action != "kms:CreateKey" {
				same(t, action+" on "+name, policy.allows(t, action, key, c.keys), c.want)
			}
		}
	}
	same(t, "a new key", policy.allows(t, "kms:CreateKey", "*", nil), true)
	same(t, "its tag", policy.allows(t, "kms:TagResource", key, map[string]string{asked: "Shop"}), true)
	for want, variants := range map[string][]string{
		"[map[Key:" + keyTag + " Value:Test]]":                               {"billing", "key"},
		"[map[Key:cost-center Value:42] map[Key:" + keyTag + " Value:Shop]]": {"names"},
	} {
		for _, variant := range variants {
			for id, k := range templateOf(t, variant).of("AWS::KMS::Key") {
				same(t, id+": tags", k.Properties["Tags"], want)
			}
		}
	}
}

// No policy or template names a partition, except in the ARNs that the app itself gives.
func TestPartition(t *testing.T) {
	const given = "arn:aws:sqs:" + region + ":" + account + ":shop-status"
	for name, text := range map[string]string{
		"template":             file(t, "infra", "testdata", "shop.template.json"),
		"policy for deploying": page(t, "aws-deploy-policy.json"),
		"policies of settings": page(t, "aws-deploy-options.json"),
		"permissions": strings.ReplaceAll(page(t, "aws-permissions.md"),
			"arn:aws:iam::111122223333:policy/StepkeeperDeploy", ""),
	} {
		text = strings.ReplaceAll(text, given, "")
		if strings.Contains(text, "arn:aws") {
			t.Errorf("the %s has %.60q", name, text[strings.Index(text, "arn:aws"):])
		}
	}
}

// The conditions above are of properties that the schemas know, and of no others.
func TestConditionsOfPermissions(t *testing.T) {
	schemas := ofCloudFormation(t)
	same(t, "types", slices.Sorted(maps.Keys(schemas)), slices.Sorted(maps.Keys(calls().ARNs)))
	for kind, actions := range calls().Only {
		for action := range actions {
			require.Contains(t, schemas[kind].all(), action, kind)
		}
	}
}

// optional are the actions that settings need besides the policy for deploying, by the setting.
func optional(t *testing.T) map[string][]string {
	t.Helper()
	var statements map[string][]struct{ Action any }
	require.NoError(t, json.Unmarshal([]byte(page(t, "aws-deploy-options.json")), &statements))
	actions := map[string][]string{}
	for setting, all := range statements {
		require.Contains(t, settings, setting)
		for _, s := range all {
			actions[setting] = append(actions[setting], texts(s.Action)...)
		}
	}
	return actions
}

// covers reports whether an action of a policy is, or stands for, an action; the latter may itself end with a
// *.
func covers(allowed, action string) bool {
	begin, wild := strings.CutSuffix(allowed, "*")
	return allowed == action || wild && strings.HasPrefix(action, begin)
}
