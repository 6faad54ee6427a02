package cost

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"
	"time"
)

func published(t *testing.T) Prices {
	t.Helper()
	p := Published()
	return p
}

// Every price that is used is there, with a source and the day of that source.
func TestPricesHaveSources(t *testing.T) {
	p := published(t)
	for _, name := range []string{DynamoWrite, DynamoRead, DynamoWriteHour, DynamoReadHour, DynamoStorage,
		DynamoRecovery, SQSRequest, SNSPublish, LambdaRequest, LambdaTime, LogsGB, Alarm, Metric, Key,
		Schedule} {
		price, there := p.Prices[name]
		if !there || price.Dollars <= 0 || price.Per <= 0 {
			t.Errorf("%s: %+v", name, price)
		}
		sourced(t, name, price.Source, price.Date)
	}
	if len(p.Peers) < 4 {
		t.Errorf("%d peers", len(p.Peers))
	}
	for _, peer := range p.Peers {
		sourced(t, peer.Name, peer.Source, peer.Date)
		if peer.Dollars <= 0 || peer.Arithmetic == "" || peer.Beside == "" {
			t.Errorf("%+v", peer)
		}
	}
}

func sourced(t *testing.T, what, source, date string) {
	t.Helper()
	if _, err := time.Parse(time.DateOnly, date); err != nil || !strings.HasPrefix(source, "https://") {
		t.Errorf("%s: source %q of %q", what, source, date)
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-6 }

// The sums, on units that can be checked by hand.
func TestCalculate(t *testing.T) {
	p := Prices{Prices: map[string]Price{
		DynamoWrite: {Dollars: 0.625, Per: 1e6}, DynamoRead: {Dollars: 0.125, Per: 1e6},
		SQSRequest:    {Dollars: 0.4, Per: 1e6},
		LambdaRequest: {Dollars: 0.2, Per: 1e6}, LambdaTime: {Dollars: 1e-5, Per: 1},
		LogsGB: {Dollars: 0.5, Per: 1},
		Alarm:  {Dollars: 0.1, Per: 1}, Metric: {Dollars: 0.3, Per: 1}, Schedule: {Dollars: 1, Per: 1e6},
		DynamoStorage:  {Dollars: 0.25, Per: 1},
		DynamoRecovery: {Dollars: 0.2, Per: 1}, Key: {Dollars: 1, Per: 1},
	}}
	u := Units{Shapes: map[string]Shape{Load: {
		Lines: []Line{
			{Service: "dynamodb", Operation: "PutItem", Resource: "Orders", Calls: 5, WRU: 5, IndexWRU: 3},
			{Service: "dynamodb", Operation: "GetItem", Resource: "Orders", Calls: 4, RRU: 4},
			{Service: "sqs", Operation: "SendMessageBatch", Resource: "intake", Requests: 0.1,
				Application: true},
			{Service: "sqs", Operation: "ReceiveMessage", Resource: "intake", Requests: 2},
		},
		Invocations:  map[string]float64{"scheduler": 0.5, "agent": 4},
		Milliseconds: map[string]float64{"scheduler": 7.2, "agent": 900}, LogBytes: 60, ItemBytes: 900,
	}, Sweep: {Lines: []Line{{Service: "dynamodb", Operation: "PutItem", Resource: "Orders", WRU: 8},
		{Service: "dynamodb", Operation: "Query", Resource: "Orders", IndexRRU: 4}}}}}
	r := Calculate(u, p, 2*time.Second)
	// 8 WRU, 4 RRU, 2 and 0.1 requests, half an invocation of 8 ms × 0.25 GB, 60 bytes: Lambda's own lines
	// are off.
	want := 8*0.625 + 4*0.125 + 2*0.4 + 0.1*0.4 + 0.5*0.2 + 0.5*8*0.25/1000*1e-5*1e6 + 60e6/1e9*0.5
	if got := r.DollarsPerMillion[Load]; !near(got, want) {
		t.Errorf("an order costs %v, want %v", got, want)
	}
	o := r.PerOrder[Load]
	if o.WRU != 8 || o.RRU != 4 || o.StrongReads != 4 || o.SQSRequests != 2 || o.AppRequests != 0.1 ||
		o.Invocations != 0.5 {
		t.Errorf("%+v", o)
	}
	// 4 invocations of agents, each 2 s × 0.125 GB, whatever their handlers took on this machine.
	if got, want := sum(r.AgentFunctions[Load]), 4*0.2+4*2*0.125*1e-5*1e6; !near(got, want) {
		t.Errorf("the agents' functions cost %v, want %v", got, want)
	}
	if want := 1000 * 1e6 / 1e9 * (0.25 + 0.2); !near(r.KeptPerMonth, want) {
		t.Errorf("a million orders of 900 bytes are kept for %v a month, want %v", r.KeptPerMonth, want)
	}
	idle := 7*5*3*43_800*0.4/1e6 + 5.1 + 0.3 + 1 + 43_800/1e6 + 43_800*0.2/1e6 + 43_800*0.1*0.25*1e-5 +
		8*43_800*0.625/1e6 + 4*43_800*0.125/1e6 + 500*43_800/1e9*0.5
	if !near(r.IdlePerMonth, idle) {
		t.Errorf("idle costs %v, want %v", r.IdlePerMonth, idle)
	}
	if _, there := r.DollarsPerMillion[Sweep]; there {
		t.Error("a sweep is no order")
	}
}

// The level is that of the template, for every function whose logs are counted.
func TestSystemLogLevelIsTheTemplates(t *testing.T) {
	text, err := os.ReadFile("../../infra/testdata/shop.template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				LoggingConfig struct{ SystemLogLevel string }
			}
		}
	}
	if err := json.Unmarshal(text, &template); err != nil {
		t.Fatal(err)
	}
	functions := 0
	for name, r := range template.Resources {
		if r.Type == "AWS::Lambda::Function" && r.Properties.LoggingConfig.SystemLogLevel != "" {
			functions++
			if r.Properties.LoggingConfig.SystemLogLevel != SystemLogLevel {
				t.Errorf("%s logs at %s, the cost is calculated for %s", name,
					r.Properties.LoggingConfig.SystemLogLevel, SystemLogLevel)
			}
		}
	}
	if functions < 3 {
		t.Errorf("%d functions have a level: Scheduler, Supervisor and agents must", functions)
	}
	if platformLog("WARN") != 0 || platformLog("INFO") != platformLines ||
		platformLog("DEBUG") != platformLines {
		t.Error("Lambda's own lines are of level INFO")
	}
}

// What is committed is within what the project promises: a measurement that is worse must not slip in.
func TestTheFiguresHold(t *testing.T) {
	u := Measured()
	r := Calculate(u, published(t), ServiceTime)
	o := r.PerOrder[Load]
	for _, c := range []struct {
		what      string
		got, most float64
	}{
		{"WRU", o.WRU, 8}, {"RRU", o.RRU, 4}, {"SQS requests", o.SQSRequests, 5},
		{"bytes of the largest item", float64(o.ItemBytes), 1024},
		{"dollars per million under load", r.DollarsPerMillion[Load], 7.5},
		{"dollars per million at trickle", r.DollarsPerMillion[Trickle], 20},
	} {
		if c.got <= 0 || c.got > c.most+1e-9 {
			t.Errorf("%s: %.3f, at most %v", c.what, c.got, c.most)
		}
	}
}

// What the docs, the construct and the adapter say of the index of finished orders.
func TestTheIndexOfFinishedOrdersCostsOneWrite(t *testing.T) {
	u := Measured()
	r := Calculate(u, published(t), ServiceTime)
	if more := r.PerOrder[Finished].WRU - r.PerOrder[Load].WRU; !near(more, 1) {
		t.Errorf("it costs %v WRU more an order, cost.md, infra.Props and dynamo.Options say 1", more)
	}
}

func TestWrite(t *testing.T) {
	u := Measured()
	var b bytes.Buffer
	if err := Write(&b, Calculate(u, published(t), ServiceTime)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"WRU of the index", "Long polls", "PutItem Orders", "as published",
		"finished orders in the index: $", "batches of three", "for a service that takes 200ms",
		"with TaskTTL: $8.20", "point-in-time recovery",
		"With Tuning.SystemLogLevel INFO they cost $0.12 a million orders under load and $1.20 at trickle",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, b.String())
		}
	}
}

// One's own prices lie over the published ones, by name; what is wrong with them is said.
func TestPricesOfOnesOwn(t *testing.T) {
	p := published(t)
	own, err := p.With([]byte(
		`{"region":"eu-west-1","prices":{"dynamodb-write":{"dollars":1.25,"per":1000000}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if own.Region != "eu-west-1" || own.Prices[DynamoWrite].Dollars != 1.25 ||
		own.Prices[DynamoRead] != p.Prices[DynamoRead] || p.Prices[DynamoWrite].Dollars == 1.25 {
		t.Errorf("%+v", own.Prices)
	}
	u := Measured()
	if twice := Calculate(u, own, ServiceTime).PerMillion[Load][0].Dollars; !near(twice,
		2*Calculate(u, p, ServiceTime).PerMillion[Load][0].Dollars) {
		t.Errorf("writes cost %v", twice)
	}
	for _, wrong := range []string{``, `[]`, `{"price":{}}`, `{"prices":{"dynamo":{"dollars":1,"per":1}}}`,
		`{"prices":{"alarm":{"dollars":1}}}`, `{"prices":{"alarm":{"dollars":-1,"per":1}}}`} {
		if _, err := p.With([]byte(wrong)); err == nil || !strings.HasPrefix(err.Error(), "prices: ") {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
