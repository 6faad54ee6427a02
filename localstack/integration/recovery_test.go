package integration

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/localstack/stack"
)

// Restore and fail-over, as docs/how-to/aws-fail-over.md has them and as far as an emulator can: the tables
// are copied as they stand, by hand, in the place of a restore and of replication, which no emulator does.
// The copy lacks the messages in the queues, as a replica in another Region does.

// beside is another stack in the same world.
func (s *site) beside(ctx context.Context, t *testing.T, a *stack.Assembly, name string) *site {
	t.Helper()
	outputs, err := stack.DeployAs(ctx, s.config, a, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := stack.Delete(context.WithoutCancel(ctx), s.config, name); err != nil {
			t.Error(err)
		}
	})
	return &site{
		backend: s.backend, config: s.config,
		assembly: &stack.Assembly{Dir: a.Dir, Stack: name, Template: a.Template}, outputs: outputs,
		sqs: s.sqs, dynamo: s.dynamo, lambda: s.lambda, remote: s.remote, proxy: s.proxy, alerts: &inbox{},
		statuses: newInbox(ctx, s.sqs, outputs["ShopStatusUrl"]),
	}
}

// mappings is the number of the stack's event source mappings: queues of the Scheduler, and of each agent.
const mappings = 11

// switchMappings lets a stack's functions take messages, or not. It answers how many mappings there are. The
// emulator needs seconds for each, which pass for all at once.
func (s *site) switchMappings(t *testing.T, enabled bool) int {
	t.Helper()
	var all []*string
	pages := lambda.NewListEventSourceMappingsPaginator(s.lambda, &lambda.ListEventSourceMappingsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range page.EventSourceMappings {
			if !strings.Contains(aws.ToString(m.FunctionArn), ":"+s.assembly.Stack+"-Engine") {
				continue
			}
			all = append(all, m.UUID)
			if _, err := s.lambda.UpdateEventSourceMapping(t.Context(),
				&lambda.UpdateEventSourceMappingInput{UUID: m.UUID, Enabled: &enabled}); err != nil {
				t.Fatal(err)
			}
		}
	}
	state := map[bool]string{true: "Enabled", false: "Disabled"}[enabled]
	for _, id := range all {
		waitFor(t, "mapping that is "+state, func() bool {
			now, err := s.lambda.GetEventSourceMapping(t.Context(),
				&lambda.GetEventSourceMappingInput{UUID: id})
			return err == nil && aws.ToString(now.State) == state
		})
	}
	return len(all)
}

// tables of a stack, by what the setting tables calls them.
func (s *site) tables(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{"orders": s.outputs["EngineOrdersTable"],
		"definitions": s.outputs["EngineDefinitionsTable"]}
	pages := dynamodb.NewListTablesPaginator(s.dynamo, &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range page.TableNames {
			for _, agent := range []string{"shipping", "notification"} {
				if strings.HasPrefix(name, s.assembly.Stack+"-EngineLedger"+strings.ToUpper(agent[:1])+
					agent[1:]) {
					all["ledger."+agent] = name
				}
			}
		}
	}
	if len(all) != 4 {
		t.Fatalf("the stack has the tables %v", all)
	}
	return all
}

// copyTable makes a table as another is, with all that is in it.
func (s *site) copyTable(t *testing.T, from, to string) {
	t.Helper()
	d, err := s.dynamo.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &from})
	if err != nil {
		t.Fatal(err)
	}
	in := &dynamodb.CreateTableInput{TableName: &to, KeySchema: d.Table.KeySchema,
		AttributeDefinitions: d.Table.AttributeDefinitions, BillingMode: types.BillingModePayPerRequest}
	for _, index := range d.Table.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes,
			types.GlobalSecondaryIndex{IndexName: index.IndexName, KeySchema: index.KeySchema,
				Projection: index.Projection})
	}
	if _, err := s.dynamo.CreateTable(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { _, _ = s.dynamo.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &to}) })
	pages := dynamodb.NewScanPaginator(s.dynamo,
		&dynamodb.ScanInput{TableName: &from, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range page.Items {
			if _, err := s.dynamo.PutItem(t.Context(),
				&dynamodb.PutItemInput{TableName: &to, Item: item}); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// isApartFrom: two stacks of the same template live side by side, an ID of an order is known in each by
// itself, and each notifies its own application.
func (s *site) isApartFrom(t *testing.T, other *site) {
	t.Helper()
	o := s.newOrder(t, "calm").submit()
	o.notified("completed", rescued)
	for name, value := range other.outputs {
		// What names a thing holds a colon, or the name of the stack; the rest are settings, and the
		// dimension of metrics, which is of the template.
		if value == s.outputs[name] && name != "EngineDeployment" &&
			(strings.Contains(value, ":") || strings.Contains(value, s.assembly.Stack)) {
			t.Errorf("both have the %s %s", name, value)
		}
	}
	c, err := operate.OpenWith(t.Context(), s.config, other.assembly.Stack)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Get(t.Context(), o.id); !errors.Is(err, client.ErrNotFound) {
		t.Fatalf("the order of the one is known to the other: %v", err)
	}
	if _, err := c.Submit(t.Context(), client.Order{ID: o.id, Workflow: "calm", ReplyTo: "shop",
		Content: json.RawMessage(strings.Replace(o.content(), "MUG-01", "MUG-02", 1))}); err != nil {
		t.Fatal(err)
	}
	if task, err := c.Wait(t.Context(), o.id); err != nil || task.State != "Processed" {
		shown, _ := json.Marshal(task)
		t.Fatalf("%s %v", shown, err)
	}
	(&order{t: t, s: other, id: o.id}).notified("completed", rescued)
}

// A stack works beside another, is stopped in the middle of an order, and its tables are copied. A second
// stack waits on the copies, and does nothing; started, it takes the order up under the same keys, does
// nothing twice, and takes again what applications send again.
func TestOrdersGoOnWithCopiedTables(t *testing.T) {
	s := on(t, localstack)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	first := s.beside(ctx, t, s.assembly, s.assembly.Stack+"-first")
	s.isApartFrom(t, first)
	ended := first.newOrder(t, "order").submit()
	ended.notified("completed", rescued)
	half := first.newOrder(t, "calm")
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	inside := make(chan struct{})
	first.remote.on(half.id, "link-2", "do", func(n int, _ call) (int, string) {
		if n == 1 {
			close(inside)
			<-release
		}
		return done()
	})
	half.submit()
	<-inside
	if n := first.switchMappings(t, false); n != mappings {
		t.Fatalf("%d mappings were stopped", n)
	}
	first.cli(t, "", ok, []string{"list"}, "queue intake has had no consumer for",
		"queue requests-payment has had no consumer for",
		"0 messages waiting: its event source mapping is disabled; enable it with `aws lambda "+
			"update-event-source-mapping --uuid")
	settings := maps.Clone(s.settings)
	settings["paused"] = "true"
	var tables []string
	for what, name := range first.tables(t) {
		to := s.assembly.Stack + "-copy-" + strings.ReplaceAll(what, ".", "-")
		s.copyTable(t, name, to)
		tables = append(tables, what+"=arn:aws:dynamodb:"+s.config.Region+":"+stack.Account+":table/"+to)
	}
	settings["tables"] = strings.Join(tables, ",")

	name := s.assembly.Stack + "-second"
	settings["stack"] = name
	a, err := stack.Synthesise(ctx, filepath.Join("..", "..", "infra"), filepath.Join(s.dir, "second"),
		s.backend, settings)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.prepare(a); err != nil {
		t.Fatal(err)
	}
	second := s.beside(ctx, t, a, name)
	if got, want := second.outputs["EngineOrdersTable"], s.assembly.Stack+"-copy-orders"; got != want {
		t.Fatalf("the second stack works on %s, not on %s", got, want)
	}
	onCopy := func(o *order) *order { return &order{t: t, s: second, id: o.id, body: o.body} }
	lost := second.newOrder(t, "calm").submit()
	waitFor(t, "message that waits", func() bool { return second.depth(t, "Intake") == 1 })
	if k := onCopy(half).task(); k.ProcessState != "Processing" || lost.item() != "{}" ||
		len(second.statuses.all()) > 0 {
		t.Errorf("the stack that waits has worked: %+v %s", k, lost.item())
	}
	second.cli(t, "", ok, []string{"list"},
		", 1 message waiting: its event source mapping is disabled; the stack was deployed with Paused: deploy it "+
			"without")

	calls := len(s.remote.of(ended.id, ""))
	if n := second.switchMappings(t, true); n != mappings {
		t.Fatalf("%d mappings were started", n)
	}
	c, err := operate.OpenWith(ctx, s.config, name)
	if err != nil {
		t.Fatal(err)
	}
	if all, err := c.Unattended(ctx, ""); err != nil ||
		slices.ContainsFunc(all, func(u client.Unattended) bool { return u.Reason != "" }) {
		t.Fatalf("all mappings are enabled: %+v, %v", all, err)
	}
	go second.ticks.run(ctx, second, second.outputs["EngineSupervisorFunction"])
	onCopy(half).notified("completed", rescued)
	lost.notified("completed", rescued)
	half.oneKeyPerStep()
	for _, c := range s.remote.of(half.id, "link-1") {
		if c.attempt != "1" {
			t.Errorf("a step that was done was called again: %+v", c)
		}
	}
	again := onCopy(ended).submit() // its application has lost the status
	waitFor(t, "end of the order that is sent again", func() bool { return second.depth(t, "Intake") == 0 })
	if k := again.task(); k.ProcessState != "Processed" || len(s.remote.of(ended.id, "")) != calls {
		t.Errorf("an order that had ended was worked on: %+v, %d calls, before %d", k,
			len(s.remote.of(ended.id, "")), calls)
	}
}
