package infra_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/infra"
)

// variant is the example with other settings, or with more resources in the app.
type variant struct {
	change func(stack awscdk.Stack, p *infra.Props)
	after  func(stack awscdk.Stack, engine *infra.Stepkeeper) // nil means nothing
}

// Each setting changes what testdata/variants says, and nothing else: `go test ./infra -run TestVariants -update`. The
// file of a variant lists the lines that its template has more (+) or less (-) than the template of the example. A
// line is a property of a resource, a permission on one resource, an output or a warning. The rules hold in each
// variant.
func TestVariants(t *testing.T) {
	example := template(t, nil)
	keepsRules(t, example)
	before := lines(example)
	var permissions []string
	for line := range before {
		if strings.Contains(line, " may ") {
			permissions = append(permissions, line)
		}
	}
	slices.Sort(permissions)
	golden.Assert(t, strings.Join(permissions, "\n")+"\n", "variants/permissions.txt")
	for name := range variants(t) {
		t.Run(name, func(t *testing.T) {
			s := ofVariant(t, name)
			x := read(t, s.own)
			after := lines(x)
			if s.state != nil {
				for line := range lines(read(t, s.state)) {
					after["stack of the state: "+line] = true
				}
			}
			for _, w := range warnings(s.own) {
				after["warning: "+w] = true
			}
			golden.Assert(t, difference(before, after), "variants/"+strings.ReplaceAll(name, " ", "-")+".txt")
			keepsRules(t, x)
		})
	}
}

// warnings of the construct itself.
func warnings(stack awscdk.Stack) (all []string) {
	for _, m := range *assertions.Annotations_FromStack(stack).FindWarning(str("*"),
		assertions.Match_StringLikeRegexp(str("stepkeeper:.*"))) {
		//nolint:staticcheck // the type moves to a module that Go has no package of yet
		all = append(all, fmt.Sprint(m.Entry.Data))
	}
	return all
}

var (
	// folders of tests are in the texts of warnings.
	testFolder = regexp.MustCompile(`/[^ ]*/Test[A-Za-z]+[^ /]*/[0-9]+`)
	version    = regexp.MustCompile(`CurrentVersion[0-9A-F]{8}[0-9a-f]{32}`)
)

// lines lists the properties of all resources, and the outputs.
func lines(x tmpl) map[string]bool {
	all := map[string]bool{}
	for id, r := range x.Resources {
		name := strings.TrimPrefix(r.Type, "AWS::") + " " + plainID(version.ReplaceAllString(id, "CurrentVersion"))
		all[name] = true
		add := func(path string, value any) { flatten(all, name+":"+path, value) }
		add("", r.Properties)
		if r.DeletionPolicy != "" {
			add(" DeletionPolicy", r.DeletionPolicy)
		}
		add(" UpdatePolicy", r.UpdatePolicy)
		for _, on := range list(r.DependsOn) {
			add(" DependsOn", plainID(fmt.Sprint(on)))
		}
	}
	for name, o := range x.Outputs {
		if o.Export == nil {
			flatten(all, "output "+name+":", o.Value)
		}
	}
	return all
}

// flatten adds a line for each value below a path.
func flatten(all map[string]bool, path string, value any) {
	if value == nil {
		return
	}
	if text, is := short(value); is {
		text = testFolder.ReplaceAllString(assetHash.ReplaceAllString(text, "HASH"), "FOLDER")
		text = version.ReplaceAllString(text, "CurrentVersion")
		var inner map[string]any
		if strings.HasPrefix(text, "{") && json.Unmarshal([]byte(text), &inner) == nil {
			flatten(all, path, inner)
			return
		}
		all[path+" = "+text] = true
		return
	}
	switch v := value.(type) {
	case []any:
		for i, e := range v {
			flatten(all, path+" "+keyOf(e, i), e)
		}
	case map[string]any:
		if v["Effect"] != nil && v["Action"] != nil {
			addStatement(all, path, v)
			return
		}
		for key, e := range v {
			if text, _ := short(e); !strings.HasSuffix(path, " "+text) { // it names the element of a list
				flatten(all, path+" "+key, e)
			}
		}
	}
}

// keyOf names an element of a list.
func keyOf(element any, place int) string {
	for _, key := range []string{"Name", "Key", "Id", "Sid", "IndexName", "AttributeName", "PolicyName"} {
		if text, is := short(at(element, key)); is && text != "<nil>" {
			return text
		}
	}
	return fmt.Sprint(place)
}

// addStatement adds a line for each resource of a statement.
func addStatement(all map[string]bool, path string, s map[string]any) {
	path, _, _ = strings.Cut(path, ": ")
	text := path + ": may "
	if s["Effect"] == "Deny" {
		text = path + ": may not "
	}
	text += fmt.Sprint(list(s["Action"]))
	rest := map[string]bool{}
	flatten(rest, "for", s["Principal"])
	flatten(rest, "if", s["Condition"])
	for _, resource := range list(s["Resource"]) {
		on, _ := short(resource)
		all[strings.Join(append([]string{text, "on", on}, slices.Sorted(maps.Keys(rest))...), " ")+
			fmt.Sprintf(" (%v)", s["Sid"])] = true
	}
}

// short returns the text of a value that is no map and no list of maps. References have the names of their resources.
func short(value any) (text string, is bool) {
	switch v := value.(type) {
	case []any:
		all := make([]string, len(v))
		for i, e := range v {
			all[i], is = short(e)
			if !is {
				return "", false
			}
		}
		return fmt.Sprint(all), true
	case map[string]any:
		if len(v) != 1 {
			return "", false
		}
		for function, argument := range v {
			return called(function, argument)
		}
	}
	return shown(value), true
}

// called returns the text for a function of CloudFormation.
func called(function string, argument any) (text string, is bool) {
	arguments := list(argument)
	switch function {
	case "Ref":
		return plainID(fmt.Sprint(argument)), true
	case "Fn::GetAtt":
		return strings.TrimSuffix(plainID(fmt.Sprint(arguments[0]))+"."+fmt.Sprint(arguments[1]), ".Arn"), true
	case "Fn::Join":
		for i, part := range list(arguments[1]) {
			of, _ := short(part)
			if i > 0 {
				text += fmt.Sprint(arguments[0])
			}
			text += of
		}
		if text == "" {
			text, _ = short(arguments[1])
		}
		return text, true
	}
	if !strings.HasPrefix(function, "Fn::") {
		return "", false
	}
	text, is = short(argument)
	return function + text, is
}

// difference lists the lines that one template has, and not the other. Of a resource that is not there any more, it
// has one line.
func difference(before, after map[string]bool) string {
	var all []string
	for line := range before {
		resource, _, _ := strings.Cut(line, ": ")
		if !after[line] && (resource == line || after[resource] || !before[resource]) {
			all = append(all, line+" -")
		}
	}
	for line := range after {
		if !before[line] {
			all = append(all, line+" +")
		}
	}
	slices.Sort(all)
	for i, line := range all {
		all[i] = line[len(line)-1:] + " " + line[:len(line)-2]
	}
	return strings.Join(all, "\n") + "\n"
}

// keepsRules checks what holds whatever the settings are.
func keepsRules(t *testing.T, x tmpl) {
	t.Helper()
	for _, problem := range loose(x) {
		t.Error(problem)
	}
	functions := x.of("AWS::Lambda::Function")
	for id, f := range functions { // rule 1: the Supervisor is no part of the circle
		want := any("Allow")
		if id == "Supervisor" {
			want = nil
		}
		if f.Properties["Role"] != nil && (id == "Supervisor" || id == "Scheduler" || strings.HasPrefix(id, "Agent")) {
			same(t, id+": RecursiveLoop", f.Properties["RecursiveLoop"], want)
		}
	}
	keepsRulesOfQueues(t, x)
	// Lambda waits one minute before the second attempt and two minutes before the third one, and starts no attempt for
	// an event that is older than its limit. An attempt takes up to the function's timeout.
	invocations := x.of("AWS::Lambda::EventInvokeConfig")["SupervisorInvocations"].Properties
	timeout := functions["Supervisor"].Properties["Timeout"].(float64)
	require.Greater(t, invocations["MaximumEventAgeInSeconds"], timeout+60+timeout+120, "the third attempt of a sweep")
	for id, a := range x.of("AWS::CloudWatch::Alarm") {
		fires(t, a.Properties, 0, nil) // which checks the bounds
		require.LessOrEqual(t, a.Properties["DatapointsToAlarm"], a.Properties["EvaluationPeriods"], id)
	}
	values := map[string]string{}
	for name, o := range x.Outputs {
		values[name] = target(o.Value)
	}
	outputs, err := aws.ReadOutputs(values, "")
	require.NoError(t, err, "the command line reads the outputs")
	require.Len(t, outputs.Dead, len(outputs.Mappings)+2)
}

// keepsRulesOfQueues checks rules 2 to 4, 6, 17 and 20.
func keepsRulesOfQueues(t *testing.T, x tmpl) {
	t.Helper()
	queues := x.of("AWS::SQS::Queue")
	for id, m := range x.of("AWS::Lambda::EventSourceMapping") {
		p := m.Properties
		queue := queues[target(p["EventSourceArn"])].Properties
		same(t, id+": response types", p["FunctionResponseTypes"], "[ReportBatchItemFailures]")
		require.NotNil(t, at(p, "ScalingConfig", "MaximumConcurrency"), id)
		window, _ := p["MaximumBatchingWindowInSeconds"].(float64)
		if f := x.of("AWS::Lambda::Function")[target(p["FunctionName"])].Properties; f != nil {
			same(t, id+": visibility", queue["VisibilityTimeout"], 6*f["Timeout"].(float64)+window)
		}
	}
	encrypted := map[string]bool{}
	for _, p := range x.of("AWS::SQS::QueuePolicy") {
		for _, s := range list(at(p.Properties, "PolicyDocument", "Statement")) {
			if at(s, "Effect") == "Deny" && at(s, "Condition", "Bool", "aws:SecureTransport") == "false" {
				encrypted[target(at(p.Properties, "Queues", 0))] = true
			}
		}
	}
	watched := map[string]bool{}
	for _, a := range x.of("AWS::CloudWatch::Alarm") {
		if a.Properties["MetricName"] == "ApproximateNumberOfMessagesVisible" {
			watched[target(at(a.Properties, "Dimensions", 0, "Value"))] = true
		}
	}
	for name, o := range x.Outputs { // those of the construct, and not those of the app
		id, own := strings.CutSuffix(strings.TrimPrefix(name, "Engine"), "Url")
		q, made := queues[id]
		if !own || !made {
			continue
		}
		same(t, id+" ("+o.Description+"): in transit", encrypted[id], true)
		end := strings.HasSuffix(id, "Dead") || id == "Quarantine" || id == "MissedSweeps"
		if end {
			same(t, id+": watched", watched[id], len(watched) > 0) // no end goes unwatched, unless there are no alarms
			same(t, id+": days", q.Properties["MessageRetentionPeriod"], 14*86400)
			same(t, id+": dead letters of dead letters", q.Properties["RedrivePolicy"], nil)
			continue
		}
		require.GreaterOrEqual(t, at(q.Properties, "RedrivePolicy", "maxReceiveCount"), 5.0, id)
	}
}
