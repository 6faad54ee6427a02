package cost

import (
	"encoding/json"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

func measuredReport(t *testing.T) Report {
	t.Helper()
	u := Measured()
	return Calculate(u, published(t), ServiceTime)
}

// At four steps the estimate is the measurement; at eight it is no less than what was measured, and
// not much more.
func TestEstimateMeetsTheMeasurements(t *testing.T) {
	r := measuredReport(t)
	four, err := r.Estimate(Workload{Steps: 4, Agents: 4, Orders: 2_000_000})
	if err != nil {
		t.Fatal(err)
	}
	eight, err := r.Estimate(Workload{Steps: 8, Agents: 4})
	if err != nil {
		t.Fatal(err)
	}
	for name, further := range map[string]string{Load: EightLoad, Trickle: EightTrickle} {
		if got, want := four.DollarsPerMillion[name], r.DollarsPerMillion[name]; math.Abs(got-want) > 0.005 {
			t.Errorf("%s, 4 steps: estimated $%.3f, measured $%.3f", name, got, want)
		}
		if got, want := eight.DollarsPerMillion[name], r.DollarsPerMillion[further]; got < want-0.005 ||
			got > 1.3*want {
			t.Errorf("%s, 8 steps: estimated $%.3f, measured $%.3f", name, got, want)
		}
		if got, want := sum(four.AgentFunctions[name]), sum(r.AgentFunctions[name]); !near(got, want) {
			t.Errorf("%s, the agents of 4 steps: estimated $%.3f, computed $%.3f", name, got, want)
		}
		if got, want := four.DollarsPerMonth[name],
			r.IdlePerMonth+2*r.DollarsPerMillion[name]; math.Abs(got-want) > 0.05 {
			t.Errorf("%s, a month of two million: $%.2f, want $%.2f", name, got, want)
		}
	}
	if four.IdlePerMonth != r.IdlePerMonth {
		t.Errorf("four agents idle for $%v, the example for $%v", four.IdlePerMonth, r.IdlePerMonth)
	}
	for i, p := range r.Prices.Peers {
		if got := four.Peers[i]; math.Abs(got.PerMillion-p.Dollars) > 0.005 ||
			math.Abs(got.PerMillionUpper-p.Upper) > 0.005 {
			t.Errorf("%s, 4 steps: %+v, the table says %v to %v", p.Name, got, p.Dollars, p.Upper)
		}
	}
}

// With one wait the estimate is what an order with one was measured to consume; alone, its message is a
// batch.
func TestEstimateCountsWaits(t *testing.T) {
	r := measuredReport(t)
	e, err := r.Estimate(Workload{Steps: 4, Waits: 1, Agents: 1})
	if err != nil {
		t.Fatal(err)
	}
	got, want := e.PerOrder[Load], r.PerOrder[Wait]
	if got.WRU != want.WRU || got.RRU != want.RRU || math.Abs(got.SQSRequests-want.SQSRequests) > 1e-9 ||
		math.Abs(got.Invocations-want.Invocations) > 1e-9 {
		t.Errorf("estimated %+v, measured %+v", got, want)
	}
	if more := e.PerOrder[Trickle].SQSRequests - r.PerOrder[Trickle].SQSRequests; math.Abs(more-3) > 1e-9 {
		t.Errorf("a wait alone takes %v requests; sent, received and deleted are 3", more)
	}
	if _, err := r.Estimate(Workload{Steps: 4, Waits: -1, Agents: 1}); err == nil {
		t.Error("-1 waits have a cost")
	}
}

// More of anything never costs less.
func TestEstimateGrows(t *testing.T) {
	r := measuredReport(t)
	last := 0.0
	for steps := 1; steps <= MaxSteps; steps++ {
		e, err := r.Estimate(Workload{Steps: steps, Agents: 1})
		if err != nil {
			t.Fatal(err)
		}
		if e.DollarsPerMillion[Load] <= last || e.DollarsPerMillion[Trickle] < e.DollarsPerMillion[Load] {
			t.Errorf("%d steps: %v after %v", steps, e.DollarsPerMillion, last)
		}
		last = e.DollarsPerMillion[Load]
	}
	for _, w := range []Workload{{Steps: 0, Agents: 1}, {Steps: MaxSteps + 1, Agents: 1}, {Steps: 4},
		{Steps: 4, Agents: 1, Orders: -1}} {
		if _, err := r.Estimate(w); err == nil || !strings.Contains(err.Error(), "give") {
			t.Errorf("%+v: %v", w, err)
		}
	}
}

// What idles is what the example's template has, and what it has for each agent.
func TestWhatIdlesIsWhatIsDeployed(t *testing.T) {
	b, err := os.ReadFile("../../infra/testdata/shop.template.json")
	if err != nil {
		t.Fatal(err)
	}
	var template struct {
		Resources map[string]struct {
			Type       string
			Properties struct {
				Metrics    []struct{ MetricStat any } // of an expression; AWS bills each
				MemorySize float64
			}
		}
	}
	if err := json.Unmarshal(b, &template); err != nil {
		t.Fatal(err)
	}
	count := func(kind, name string) (n int) {
		for id, r := range template.Resources {
			if r.Type != kind || !strings.Contains(id, name) {
				continue
			}
			billed := 0
			for _, m := range r.Properties.Metrics {
				if m.MetricStat != nil {
					billed++
				}
			}
			n += max(1, billed)
		}
		return n
	}
	const mapping, alarm = "AWS::Lambda::EventSourceMapping", "AWS::CloudWatch::Alarm"
	memories := map[float64]int{}
	for _, r := range template.Resources {
		if r.Type == "AWS::Lambda::Function" {
			memories[r.Properties.MemorySize]++
		}
	}
	for _, c := range []struct {
		what      string
		got, want int
	}{
		{"functions of agents", memories[agentGB*1024], agentsExample},
		{"mappings", count(mapping, ""), mappingsFixed + mappingsAgent*agentsExample},
		{"mappings of an agent", count(mapping, "Payment"), mappingsAgent},
		{"alarms", count(alarm, ""), alarmsFixed + alarmsAgent*agentsExample},
		{"alarms of an agent", count(alarm, "Payment"), alarmsAgent},
		{"essential alarms", count(alarm, "DeadAlarm") + count(alarm, "QuarantineAlarm") +
			count(alarm, "MissedSweepsAlarm") + count(alarm, "OldestOverdueAlarm") +
			count(alarm, "NoSweepsAlarm"), essentialFixed + essentialAgent*agentsExample},
		{"keys", count("AWS::KMS::Key", ""), 1},
		{"schedules", count("AWS::Scheduler::Schedule", ""), 1},
	} {
		if c.got != c.want {
			t.Errorf("%s: the template has %d, the price of idling counts %d", c.what, c.got, c.want)
		}
	}
}

// What a stack consumed is priced for a million orders, with full requests and with single messages.
func TestPerMillion(t *testing.T) {
	p := Prices{Prices: map[string]Price{DynamoWrite: {Dollars: 1, Per: 1e6},
		DynamoRead: {Dollars: 1, Per: 1e6}, SQSRequest: {Dollars: 1, Per: 1e6},
		LambdaRequest: {Dollars: 1, Per: 1e6}, LambdaTime: {Dollars: 1, Per: 1e6}}}
	least, most := p.PerMillion(view.Usage{Orders: 100, WriteUnits: 1200, ReadUnits: 500, Messages: 3000,
		Invocations: 50, Milliseconds: 4000})
	// 12 WRU, 5 RRU, 3 or 30 requests, 0.5 invocations, 0.01 GB-s
	if math.Abs(least-20.51) > 1e-9 || math.Abs(most-47.51) > 1e-9 {
		t.Errorf("%v to %v", least, most)
	}
}
