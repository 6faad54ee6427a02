package integration

import (
	"context"
	"encoding/json"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/scheduler"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	clientaws "github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// Restore and fail-over, as docs/how-to/aws-fail-over.md has them and as far as an emulator can: the tables
// are copied as they stand, by hand, in the place of a restore and of replication, which no emulator does.
// The copy lacks the messages in the queues, as a replica in another Region does.

// beside is another stack in the same world.
func (s *site) beside(ctx context.Context, t *testing.T, a *cdkapp.Assembly, name string) *site {
	t.Helper()
	own := *a
	own.Stack = name
	outputs, err := cdkapp.Deploy(ctx, s.config, &own)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := cdkapp.Delete(context.WithoutCancel(ctx), s.config, name); err != nil {
			t.Error(err)
		}
	})
	return &site{
		backend: s.backend, config: s.config, assembly: &own, outputs: outputs,
		sqs: s.sqs, dynamo: s.dynamo, lambda: s.lambda, remote: s.remote, proxy: s.proxy, alerts: &inbox{},
		statuses: newInbox(ctx, s.sqs, outputs["ShopStatusUrl"]),
	}
}

// deployAgain deploys the same stack with other settings.
func (s *site) deployAgain(ctx context.Context, t *testing.T, settings map[string]string) {
	t.Helper()
	settings["stack"] = s.assembly.Stack
	a, err := cdkapp.Synthesise(ctx, filepath.Join("..", "..", "infra"), t.TempDir(), s.backend, settings)
	require.NoError(t, err)
	require.NoError(t, deployed.prepare(a))
	s.outputs, err = cdkapp.Deploy(ctx, s.config, a)
	require.NoError(t, err)
}

// running is the state that all event source mappings of a stack have; "" if they differ.
func (s *site) running(t *testing.T) (state string) {
	t.Helper()
	outputs, err := clientaws.Describe(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	for queue, uuid := range outputs.Mappings {
		m, err := s.lambda.GetEventSourceMapping(t.Context(), &lambda.GetEventSourceMappingInput{UUID: &uuid})
		if err != nil {
			t.Fatalf("%s: %v", queue, err)
		}
		if now := aws.ToString(m.State); state == "" {
			state = now
		} else if now != state {
			return ""
		}
	}
	return state
}

// starts is the state of the rule that starts the Supervisor.
func (s *site) starts(t *testing.T) string {
	t.Helper()
	outputs, err := clientaws.Describe(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	if outputs.Rule != "" {
		r, err := eventbridge.NewFromConfig(s.config).DescribeRule(t.Context(),
			&eventbridge.DescribeRuleInput{Name: &outputs.Rule})
		require.NoError(t, err)
		return string(r.State)
	}
	is, err := scheduler.NewFromConfig(s.config).GetSchedule(t.Context(),
		&scheduler.GetScheduleInput{Name: &outputs.Schedule})
	require.NoError(t, err)
	return string(is.State)
}

// tables of a stack, by what the setting tables calls them.
func (s *site) tables(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{
		"orders":      s.outputs["EngineOrdersTable"],
		"definitions": s.outputs["EngineDefinitionsTable"],
	}
	pages := dynamodb.NewListTablesPaginator(s.dynamo, &dynamodb.ListTablesInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, name := range page.TableNames {
			for _, agent := range []string{"shipping", "notification"} {
				if strings.HasPrefix(name, s.assembly.Stack+"-EngineLedger"+strings.ToUpper(agent[:1])+
					agent[1:]) {
					all["ledger."+agent] = name
				}
			}
		}
	}
	require.Len(t, all, 4)
	return all
}

// copyTable makes a table as another is, with all that is in it.
func (s *site) copyTable(t *testing.T, from, to string) {
	t.Helper()
	d, err := s.dynamo.DescribeTable(t.Context(), &dynamodb.DescribeTableInput{TableName: &from})
	require.NoError(t, err)
	in := &dynamodb.CreateTableInput{
		TableName: &to, KeySchema: d.Table.KeySchema,
		AttributeDefinitions: d.Table.AttributeDefinitions, BillingMode: types.BillingModePayPerRequest,
	}
	for _, index := range d.Table.GlobalSecondaryIndexes {
		in.GlobalSecondaryIndexes = append(in.GlobalSecondaryIndexes,
			types.GlobalSecondaryIndex{
				IndexName: index.IndexName, KeySchema: index.KeySchema,
				Projection: index.Projection,
			})
	}
	_, err = s.dynamo.CreateTable(t.Context(), in)
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context())
	t.Cleanup(func() { _, _ = s.dynamo.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &to}) })
	pages := dynamodb.NewScanPaginator(s.dynamo,
		&dynamodb.ScanInput{TableName: &from, ConsistentRead: aws.Bool(true)})
	for pages.HasMorePages() {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, item := range page.Items {
			_, err := s.dynamo.PutItem(t.Context(),
				&dynamodb.PutItemInput{TableName: &to, Item: item})
			require.NoError(t, err)
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
	require.NoError(t, err)
	_, err = c.Get(t.Context(), o.id)
	require.ErrorIs(t, err, client.ErrNotFound, "the order of the one is known to the other")
	_, err = c.Submit(t.Context(), client.Order{
		ID: o.id, Workflow: "calm", ReplyTo: "shop",
		Content: json.RawMessage(strings.Replace(o.content(), "MUG-01", "MUG-02", 1)),
	})
	require.NoError(t, err)
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
	if testing.Short() {
		t.Skip("SKIPPED: two more deployments; make integration without SHORT has it")
	}
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
	first.cli(t, "", ok, []string{"aws", "pause"}, " is paused: off are its schedule and 11 event source mappings")
	first.cli(t, "", ok, []string{"list"}, "queue intake has had no consumer for",
		"queue requests-payment has had no consumer for",
		"0 messages waiting: its event source mapping is disabled; enable it with `stepkeeper --stack "+
			first.assembly.Stack)
	settings := maps.Clone(s.settings)
	settings["paused"] = "true"
	var tables []string
	for what, name := range first.tables(t) {
		to := s.assembly.Stack + "-copy-" + strings.ReplaceAll(what, ".", "-")
		s.copyTable(t, name, to)
		tables = append(tables, what+"=arn:aws:dynamodb:"+s.config.Region+":"+cdkapp.Account+":table/"+to)
	}
	settings["tables"] = strings.Join(tables, ",")

	name := s.assembly.Stack + "-second"
	settings["stack"] = name
	a, err := cdkapp.Synthesise(ctx, filepath.Join("..", "..", "infra"), filepath.Join(s.dir, "second"),
		s.backend, settings)
	require.NoError(t, err)
	require.NoError(t, s.prepare(a))
	second := s.beside(ctx, t, a, name)
	got, want := second.outputs["EngineOrdersTable"], s.assembly.Stack+"-copy-orders"
	require.Equal(t, want, got)
	onCopy := func(o *order) *order { return &order{t: t, s: second, id: o.id, body: o.body} }
	lost := second.newOrder(t, "calm").submit()
	waitFor(t, "message that waits", func() bool { return second.depth(t, "Intake") == 1 })
	require.EqualValues(t, "Processing", onCopy(half).task().ProcessState)
	require.Equal(t, "{}", lost.item())
	require.Empty(t, second.statuses.all())
	second.cli(t, "", ok, []string{"list"},
		", 1 message waiting: its event source mapping is disabled; the stack was deployed with Paused: deploy it "+
			"without")

	calls := len(s.remote.of(ended.id, ""))
	second.cli(t, "", refusedByIt, []string{"aws", "resume"}, "was deployed with Paused")
	settings["paused"] = "false"
	second.deployAgain(ctx, t, settings)
	waitFor(t, "mappings that are on", func() bool { return second.running(t) == "Enabled" })
	c, err := operate.OpenWith(ctx, s.config, name)
	require.NoError(t, err)
	all, err := c.Unattended(ctx, "")
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(all, func(u client.Unattended) bool { return u.Reason != "" }))
	go second.ticks.run(ctx, second, second.outputs["EngineSupervisorFunction"])
	onCopy(half).notified("completed", rescued)
	lost.notified("completed", rescued)
	half.oneKeyPerStep()
	for _, c := range s.remote.of(half.id, "link-1") {
		require.Equal(t, "1", c.attempt, "%+v", c)
	}
	again := onCopy(ended).submit() // its application has lost the status
	waitFor(t, "end of the order that is sent again", func() bool { return second.depth(t, "Intake") == 0 })
	require.EqualValues(t, "Processed", again.task().ProcessState)
	require.Len(t, s.remote.of(ended.id, ""), calls)
}

// A restore in the order of docs/how-to/aws-restore.md: pause, other table, deploy, resume. The deploy starts
// nothing, and after the resume everything runs, on the other table.
func TestRestoreOfADeployment(t *testing.T) {
	s := on(t, localstack)
	if testing.Short() {
		t.Skip("SKIPPED: two more deployments; make integration without SHORT has it")
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	r := s.beside(ctx, t, s.assembly, s.assembly.Stack+"-restored")
	ended := r.newOrder(t, "calm").submit()
	ended.notified("completed", rescued)
	r.cli(t, "", ok, []string{"aws", "pause"}, " is paused: off are its schedule and ")
	state := func() string { return r.running(t) + " " + r.starts(t) }
	require.Equal(t, "Disabled DISABLED", state())
	to := s.assembly.Stack + "-restored-orders"
	s.copyTable(t, r.outputs["EngineOrdersTable"], to)
	settings := maps.Clone(s.settings)
	settings["tables"] = "orders=arn:aws:dynamodb:" + s.config.Region + ":" + cdkapp.Account + ":table/" + to
	r.deployAgain(ctx, t, settings)
	require.Equal(t, "Disabled DISABLED "+to, state()+" "+r.outputs["EngineOrdersTable"])
	next := r.newOrder(t, "calm").submit()
	waitFor(t, "message that waits", func() bool { return r.depth(t, "Intake") > 0 })
	r.cli(t, "", ok, []string{"aws", "resume"}, " is running: on are its schedule and ")
	require.Equal(t, "Enabled ENABLED", state())
	next.notified("completed", rescued)
	require.EqualValues(t, "Processed", ended.task().ProcessState, "the order of the restored table")
}
