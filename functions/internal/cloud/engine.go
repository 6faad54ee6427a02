package cloud

import (
	"context"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/eventbus"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/partition"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sns"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/tracing"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Function holds the parts that the functions of Scheduler and Supervisor have in common.
type Function struct {
	engine.Parts

	Incidents *Alerts
	Metrics   *Metrics
	tracer    *tracing.Tracer
}

// Open makes the parts of a Scheduler or Supervisor on AWS. A process calls Open once. Open makes no network
// calls (rule 13 of docs/reference/aws-rules.md). current holds the definitions for new orders; a Supervisor
// passes nil. The metrics go to the writer out, as lines of the log. The caller must call End at the end of each
// invocation.
func Open(c aws.Config, lookup deployment.Lookup, d deployment.Engine, current map[string]*core.Definition,
	out io.Writer, log *slog.Logger,
) *Function {
	f := &Function{
		Incidents: &Alerts{}, tracer: tracing.OfFunction(lookup, d.Stack, log),
		Metrics: &Metrics{deployment: d.Stack, out: out, log: log, counts: map[counted][]int64{}},
	}
	onCommit := f.Metrics.committed
	if !d.Outcomes {
		onCommit = nil
	}
	store := dynamo.New(dynamo.NewHandlerClient(c),
		dynamo.Tables{Orders: d.Orders, Definitions: d.Definitions},
		dynamo.Options{Shards: d.Shards, FinishedIndex: d.Finished, TTL: d.TaskTTL})
	f.Incidents.Incidents = incident.New(incident.Config{
		Records: store.Schedules(), Tasks: store, Go: f.Incidents.start,
		Publish: publishing(sns.New(c, d.Alerts), d),
		Clock:   port.ClockFunc(time.Now), Window: d.Window, Reminder: d.Reminder, Log: log,
	})
	f.Parts = engine.Parts{
		State: state.New(state.Config{
			Store: store, Definitions: store, Compile: workflow.Decode, Encode: workflow.Encode,
			Current: func(name string) *core.Definition { return current[name] },
			Similar: func(name string) string {
				return suggest.Nearest(name, slices.Sorted(maps.Keys(current)))
			},
			Tombstones: d.TaskTTL > 0, OnCommit: onCommit,
		}),
		Leases: store,
		Queues: queues(c, d.Queues, d.ReplyTo),
		Alerts: f.Incidents,
		Clock:  port.ClockFunc(time.Now),
		Name:   d.Instance,
		// the clocks of two machines can differ by about this time
		WakeSlack: time.Second,
		Logger:    log,
	}
	if f.tracer != nil {
		f.Tracer = f.tracer
	}
	return f
}

// End writes the metrics of an invocation, and waits for its alerts and its spans.
func (f *Function) End(ctx context.Context) {
	f.Metrics.Write()
	f.Incidents.Wait(ctx)
	f.tracer.Flush(ctx)
}

// Main starts the handler that open returns. If open fails, Main logs the error and ends the process.
func Main[H any](name string, open func(deployment.Lookup, io.Writer, *slog.Logger) (H, error)) {
	log := lambdacontext.NewLogger()
	handler, err := open(os.LookupEnv, os.Stdout, log)
	if err != nil {
		log.Error("the "+name+" cannot start", "error", err)
		os.Exit(1)
	}
	lambda.Start(handler)
}

func publishing(topic *sns.Topic, d deployment.Engine) func(context.Context, message.Alert) error {
	return func(ctx context.Context, a message.Alert) error {
		a.Logs = logsOf(d.Region, d.LogGroup, a.OrderID)
		return topic.Send(ctx, a.For(d.Stack, options(d.Stack)))
	}
}

// logsOf returns the address of a page of the CloudWatch console. The page shows the lines of a log
// group that contain the ID of an order. The part after the # is escaped twice, with $ instead of %,
// because the console expects this.
func logsOf(region, group, order string) string {
	domain := partition.Of(region).Console
	if group == "" || domain == "" {
		return ""
	}
	escaped := func(text string) string {
		return strings.ReplaceAll(url.QueryEscape(url.QueryEscape(text)), "%", "$")
	}
	return "https://" + region + "." + domain + "/cloudwatch/home?region=" + region +
		"#logsV2:log-groups/log-group/" + escaped(group) +
		"/log-events$3FfilterPattern$3D" + escaped(`"`+order+`"`)
}

func options(stack string) string {
	if stack == "" {
		return ""
	}
	return "--stack " + stack
}

// queues merges the maps. Package deployment ensures that no name is in both maps.
func queues(c aws.Config, own, replyTo map[string]string) port.Queues {
	urls := make(map[string]string, len(own)+len(replyTo))
	names := make([]string, 0, len(replyTo))
	buses := map[string]*eventbus.Bus{}
	for name, place := range replyTo {
		if bus, err := arn.Parse(place); err == nil {
			buses[name] = eventbus.New(c, name, bus)
			continue
		}
		urls[name] = place
		names = append(names, name)
	}
	maps.Copy(urls, own)
	return eventbus.Queues{Queues: sqs.New(c, sqs.Config{URLs: urls, ReplyTo: names}), Buses: buses}
}
