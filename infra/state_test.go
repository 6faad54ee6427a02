package infra_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awskms"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssqs"

	"github.com/stepkeeper/stepkeeper/infra"
)

// types are the types of a template's resources.
func types(x tmpl) []string {
	all := map[string]bool{}
	for _, r := range x.Resources {
		all[r.Type] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// imports lists the values that a part of a template takes from another stack.
func imports(v any) (names []string) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			names = append(names, imports(e)...)
		}
	case map[string]any:
		if name, is := x["Fn::ImportValue"].(string); is {
			return []string{name}
		}
		for _, e := range x {
			names = append(names, imports(e)...)
		}
	}
	return names
}

// Tables, key and secret are in a stack of their own, and the engine's stack uses them.
func TestState(t *testing.T) {
	needNode(t)
	app, stack := newStack("Test")
	below := awscdk.NewStack(app, str("Below"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: str(account), Region: str(region),
	}})
	p := shop(stack)
	withTokens(stack, p)
	p.CustomerManagedKey = true
	p.TaskTTL = time.Hour
	p.Submitters = []string{webThere}
	p.State = infra.NewState(below, "State", p)
	infra.NewStepkeeper(stack, "Engine", p)
	engine := read(t, stack)
	state := read(t, below)
	same(t, "state", types(state), "[AWS::DynamoDB::GlobalTable AWS::KMS::Key AWS::SecretsManager::Secret]")
	same(t, "tables", len(state.of("AWS::DynamoDB::GlobalTable")), 4)
	for _, kind := range types(state) {
		same(t, "engine: "+kind, len(engine.of(kind)), 0)
	}
	exports := map[string]any{}
	for _, o := range state.Outputs {
		exports[fmt.Sprint(at(o.Export, "Name"))] = o.Value
	}
	used := map[string][]string{}
	for id, r := range engine.Resources {
		for _, name := range imports(r.Properties) {
			if exports[name] == nil {
				t.Errorf("%s uses %s, which the stack of the state does not export", id, name)
			}
			used[plainID(id)] = append(used[plainID(id)],
				strings.TrimPrefix(target(exports[name]), "State"))
		}
	}
	for id, r := range state.Resources {
		same(t, id+" waits for the engine", len(imports(r.Properties)), 0)
	}
	of := func(v any) string {
		return strings.TrimPrefix(target(exports[fmt.Sprint(at(v, "Fn::ImportValue"))]), "State")
	}
	for variable, want := range map[string]string{
		"ORDERS": "Orders", "DEFINITIONS": "Definitions",
		"TOKEN_KEYS": "TokenKeys",
	} {
		same(t, variable, of(at(variables(engine, "Scheduler"), "STEPKEEPER_"+variable)), want)
	}
	same(t, "ledger", of(at(variables(engine, "AgentShipping"), "STEPKEEPER_LEDGER")), "LedgerShipping")
	same(t, "output", of(engine.Outputs["EngineOrdersTable"].Value), "Orders")
	slices.Sort(used["AgentShippingRole"])
	same(t, "an agent may use", slices.Compact(used["AgentShippingRole"]), "[Key LedgerShipping]")
	same(t, "a queue's key", used["Intake"], "[Key]")
	same(t, "a submitter uses the key", strings.Contains(fmt.Sprint(resourcePolicies(state)), webThere), true)
	for _, problem := range loose(engine) {
		t.Error(problem)
	}
}

// A state that was made with other properties lacks what the engine needs.
func TestStateIsChecked(t *testing.T) {
	needNode(t)
	app, stack := newStack("Test")
	far := awscdk.NewStack(app, str("Far"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: str(account), Region: str("eu-west-1"),
	}})
	base := shop(stack)
	p := base
	small := *base
	there := *base
	small.Workflows = []string{"testdata/linking.yaml"}
	state := infra.NewState(awscdk.NewStack(app, str("Small"), &awscdk.StackProps{Env: &awscdk.Environment{
		Account: str(account), Region: str(region),
	}}), "State", &small)
	for name, c := range map[string]struct {
		change func()
		want   []string
	}{
		"other properties": {func() {
			p.State = state
			p.CustomerManagedKey = true
			p.TaskTTL = time.Hour
			p.Tables.Definitions = tableOf + "Definitions"
		}, []string{"which differ in the key, TaskTTL, Tables, the ledger of agent notification, the ledger " +
			"of agent shipping; give"}},
		"another Region": {
			func() { p.State = infra.NewState(far, "State", &there) },
			[]string{"State is in the stack Far of another account or Region"},
		},
		"twice": {
			func() { p.State = state; infra.NewState(far, "Other", p) },
			[]string{"State is set already"},
		},
	} {
		func() {
			defer func() {
				text := fmt.Sprint(recover())
				for _, want := range c.want {
					if !strings.Contains(text, want) {
						t.Errorf("%s: %q is not reported in\n%s", name, want, text)
					}
				}
			}()
			changed := *base
			p = &changed
			c.change()
			infra.NewStepkeeper(stack, "Engine"+strings.ReplaceAll(name, " ", ""), p)
			t.Errorf("%s: it was accepted", name)
		}()
	}
}

// `cdk import` adds to the deployed template the resources that are new, as they are in the app. So a table
// that is no longer in Tables has to be the only new one, refer to nothing else that is new, and stay when
// its stack goes.
func TestTablesCanBeImported(t *testing.T) {
	managed := func(there infra.Tables) tmpl {
		return template(t, func(_ awscdk.Stack, p *infra.Props) {
			p.CustomerManagedKey = true
			p.Tables = there
		})
	}
	before := managed(infra.Tables{Orders: tableOf + "Orders-2"})
	after := managed(infra.Tables{})
	var added []string
	for id, r := range after.Resources {
		if _, there := before.Resources[id]; there {
			continue
		}
		added = append(added, plainID(id)+" "+r.Type)
		same(t, id+": stays", r.DeletionPolicy, "Retain")
		var refer func(v any)
		refer = func(v any) {
			for _, e := range list(v) {
				m, _ := e.(map[string]any)
				ref, _ := m["Ref"].(string)
				if get := list(m["Fn::GetAtt"]); len(get) > 0 {
					ref = get[0].(string)
				}
				if _, there := before.Resources[ref]; ref != "" && !there &&
					!strings.HasPrefix(ref, "AWS::") {
					t.Errorf("%s refers to %s, which is not deployed", id, ref)
				}
				for _, key := range slices.Sorted(maps.Keys(m)) {
					if !strings.HasPrefix(key, "Fn::") {
						refer(m[key])
					}
				}
			}
		}
		refer(r.Properties)
	}
	same(t, "new resources", added, "[Orders AWS::DynamoDB::GlobalTable]")
}

// Queues of the app's own take dead letters, and operators may decrypt them.
func TestOwnDeadLetters(t *testing.T) {
	const other = "arn:aws:sqs:" + region + ":" + account + ":payment-dead"
	x := template(t, func(stack awscdk.Stack, p *infra.Props) {
		p.DeadLetters = map[string]awssqs.IQueue{
			"requests-payment": awssqs.Queue_FromQueueArn(stack, str("There"), str(other)),
			"intake": awssqs.NewQueue(stack, str("Mine"), &awssqs.QueueProps{
				EncryptionMasterKey: awskms.NewKey(stack, str("MyKey"), nil),
			}),
		}
	})
	queues := x.of("AWS::SQS::Queue")
	same(t, "queues", len(queues), 2*7+2-1)
	same(t, "an imported one", at(queues["RequestsPayment"].Properties, "RedrivePolicy",
		"deadLetterTargetArn"), other)
	same(t, "one of the app", strings.HasPrefix(target(at(queues["Intake"].Properties, "RedrivePolicy",
		"deadLetterTargetArn")), "Mine"), true)
	same(t, "output", strings.HasSuffix(deployed(x).value(
		x.Outputs["EngineRequestsPaymentDeadUrl"].Value).(string), "/payment-dead"), true)
	may := map[string]bool{}
	for _, s := range allowed(x) {
		if strings.HasPrefix(s.where, "Operator") {
			for _, r := range s.resources {
				may[s.sid+" "+r] = true
			}
		}
	}
	for _, want := range []string{"DeadLetters " + other, "Depths " + other, "DeadLetterKeys MyKey"} {
		same(t, "operators: "+want, slices.ContainsFunc(slices.Collect(maps.Keys(may)),
			func(m string) bool { return strings.HasPrefix(m, want) }), true)
	}
	same(t, "alarm", at(x.of("AWS::CloudWatch::Alarm")["RequestsPaymentDeadAlarm"].Properties, "Dimensions",
		0, "Value"), "payment-dead")
}

func TestDeadLettersAreChecked(t *testing.T) {
	needNode(t)
	_, stack := newStack("Refused")
	p := shop(stack)
	queue := func(id, arn string) awssqs.IQueue { return awssqs.Queue_FromQueueArn(stack, &id, &arn) }
	const (
		here  = "arn:aws:sqs:" + region + ":" + account + ":"
		there = "arn:aws:sqs:eu-west-1:" + account + ":"
	)
	one := queue("One", here+"one")
	p.DeadLetters = map[string]awssqs.IQueue{
		"payment": one, "intake": one, "replies": one,
		"control": queue("Fifo", here+"two.fifo"), "requests-payment": queue("Far", there+"three"),
	}
	defer func() {
		text := fmt.Sprint(recover())
		for _, want := range []string{
			`DeadLetters has "payment"; it must be a queue for one of these: control, intake, replies, requests-`,
			`DeadLetters["intake"] and ["replies"] are one queue`, `DeadLetters["control"] is a FIFO queue`,
			`DeadLetters["requests-payment"] is of another account or Region`,
		} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is not reported in\n%s", want, text)
			}
		}
	}()
	infra.NewStepkeeper(stack, "Engine", p)
}
