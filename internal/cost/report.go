package cost

import (
	"fmt"
	"math"
	"time"
)

// Entry is one line of arithmetic: a number of units multiplied by a price.
type Entry struct {
	What    string  `json:"what"`
	Units   float64 `json:"units"`
	Of      string  `json:"of"` // name of the unit
	Dollars float64 `json:"dollars"`
	How     string  `json:"how"`
	Assumed bool    `json:"assumed,omitempty"`
}

// Report is the cost of an order and of an idle deployment.
type Report struct {
	DollarsPerMillion map[string]float64 `json:"dollars_per_million"`
	IdlePerMonth      float64            `json:"idle_per_month"`
	// PerMillion holds the arithmetic for a million orders of each shape. Only the field Units of its entries
	// is for one order.
	PerMillion map[string][]Entry `json:"arithmetic"`
	// AgentFunctions is the computed cost of the agents' functions for a million orders. Each invocation is
	// assumed to wait ServiceTime seconds for the agent's service. The totals do not include this cost.
	AgentFunctions map[string][]Entry `json:"agent_functions"`
	ServiceTime    float64            `json:"service_time_s"`
	Idle           []Entry            `json:"idle"`
	// IdleProfiles lists the costs of an idle deployment by profile. The first profile costs IdlePerMonth.
	IdleProfiles []IdleProfile `json:"idle_profiles"`
	// Kept is the computed monthly cost of the storage of a million orders in DynamoDB.
	Kept         []Entry           `json:"kept"`
	KeptPerMonth float64           `json:"kept_per_month"`
	Units        Units             `json:"units"`
	PerOrder     map[string]Totals `json:"per_order"`
	Prices       Prices            `json:"prices"`
	Notes        []string          `json:"notes"`
	// Yours is the estimate for the user's own workload, or nil if the user did not request one.
	Yours *Estimate `json:"yours,omitempty"`
	// Capacities compares ways to bill the tables. It is nil if the user did not request the comparison.
	Capacities *Capacities `json:"capacities,omitempty"`
	// Sweeps lists the costs of sweeps at several intervals.
	Sweeps []Frequency `json:"sweeps"`
}

// Frequency is the cost of sweeps at one interval while no task is overdue. It also contains the delay until
// a sweep finds an overdue step.
type Frequency struct {
	Minutes      int     `json:"interval_minutes"`
	MeanDelay    float64 `json:"mean_delay_s"`
	LongestDelay float64 `json:"longest_delay_s"` // a missed sweep adds one more interval
	PerMonth     float64 `json:"dollars_per_month"`
}

// IdleProfile is the monthly cost of an idle deployment with a choice of alarms and sweep interval.
type IdleProfile struct {
	Name     string  `json:"name"`
	Alarms   float64 `json:"alarms"`
	Minutes  int     `json:"sweep_interval_minutes"`
	PerMonth float64 `json:"dollars_per_month"`

	alarmsFixed, alarmsAgent int
}

// Totals holds the units that one order consumes.
type Totals struct {
	WRU         float64 `json:"wru"`
	RRU         float64 `json:"rru"`
	StrongReads float64 `json:"strong_reads"`       // strongly consistent reads of tasks
	SQSRequests float64 `json:"sqs_requests"`       // requests that the deployment makes
	AppRequests float64 `json:"application_sqs"`    // requests that the application makes
	Events      float64 `json:"events,omitempty"`   // events on EventBridge buses
	Invocations float64 `json:"lambda_invocations"` // invocations of the Scheduler
	// invocations of agents; their cost is in Report.AgentFunctions
	AgentInvoked  float64 `json:"agent_invocations"`
	SchedulerGBms float64 `json:"scheduler_gb_ms"`    // measured time multiplied by the Scheduler's memory
	ItemBytes     int     `json:"largest_item_bytes"` // size of an order's largest item
	LogBytes      float64 `json:"log_bytes"`          // log bytes of the functions and of Lambda
}

// Constants of the arithmetic. Some are assumptions, because `make cost` cannot measure them.
const (
	million         = 1e6
	minutesPerMonth = 43_800.0 // 730 hours
	schedulerGB     = 0.25     // default memory of the Scheduler and the Supervisor
	agentGB         = 0.125    // default memory of an agent's function
	itemOverhead    = 100      // bytes that DynamoDB bills for each stored item in addition to its size
	// platformLines is the size in bytes of two log lines in JSON, platform.start and platform.report. Lambda
	// writes them at level INFO for each invocation.
	platformLines = 480.0
	gigabyte      = 1e9
	sweepLog      = 500.0 // bytes that a sweep logs, including its metric
	sweepSeconds  = 0.1
	devSweep      = 5 // minutes between sweeps of ProfileDev
)

// SystemLogLevel is the template's default level of Lambda's own log lines.
const SystemLogLevel = "WARN"

// platformLog returns the number of bytes that Lambda itself logs for a successful invocation. Lambda writes
// these lines at level INFO.
func platformLog(level string) float64 {
	if level == "INFO" || level == "DEBUG" {
		return platformLines
	}
	return 0
}

// The following numbers describe an idle deployment. They come from the template of the order example, which
// has four agents.
const (
	mappingsFixed = 3 // event source mappings of the queues intake, replies and control
	mappingsAgent = 1
	// alarmsFixed includes the alarms of the example's two ledgers and of its reply-to. The alarm for throttles
	// counts as two, because it watches two metrics.
	alarmsFixed = 27
	alarmsAgent = 6
	// With AlarmsEssential, seven fixed alarms remain. Three are for the dead letters of intake, replies and
	// control. The others are for the quarantine, missed sweeps, overdue tasks and absent sweeps. Each agent
	// adds an alarm for its dead letters.
	essentialFixed = 7
	essentialAgent = 1
	alarmsQueue    = 2 // alarms of one queue: the age of its messages and its dead letters
	agentsExample  = 4
	pollers        = 5
	pollsMin       = 3 // long polls of 20 s per minute
	metrics        = 1
	// Number of metrics that OutcomeMetrics adds for each workflow: OrdersEnded in five states and
	// OrderDuration in four.
	outcomeMetrics = 9
	outcomeLine    = 350 // bytes of a log line with these metrics and one order's name
)

// ServiceTime is the default time that a report assumes for a call of an agent's service.
const ServiceTime = 200 * time.Millisecond

// Calculate computes the report. The parameter service is the time that an agent's invocation waits for the
// agent's service.
func Calculate(u Units, p Prices, service time.Duration) Report {
	r := Report{DollarsPerMillion: map[string]float64{}, PerMillion: map[string][]Entry{},
		AgentFunctions: map[string][]Entry{},
		ServiceTime:    service.Seconds(), PerOrder: map[string]Totals{}, Units: u, Prices: p}
	for name, shape := range u.Shapes {
		if name == Sweep {
			continue
		}
		t := totals(shape)
		r.PerOrder[name] = t
		r.PerMillion[name] = entries(t, p)
		r.DollarsPerMillion[name] = sum(r.PerMillion[name])
		r.AgentFunctions[name] = r.agentFunctions(t)
	}
	r.Kept = kept(r.PerOrder[Load], p)
	r.KeptPerMonth = sum(r.Kept)
	r.Idle = idle(u.Shapes[Sweep], p, agentsExample, production)
	r.IdlePerMonth = sum(r.Idle)
	for _, i := range []IdleProfile{production,
		{Name: "Alarms Essential", Minutes: 1, alarmsFixed: essentialFixed,
			alarmsAgent: essentialAgent},
		{Name: "Profile Dev", Minutes: devSweep},
	} {
		i.Alarms, i.PerMonth = i.alarms(agentsExample), sum(idle(u.Shapes[Sweep], p, agentsExample, i))
		r.IdleProfiles = append(r.IdleProfiles, i)
	}
	for _, minutes := range []int{1, 2, 5, 15, 60} {
		interval := float64(minutes * 60)
		r.Sweeps = append(r.Sweeps, Frequency{Minutes: minutes, MeanDelay: interval / 2,
			LongestDelay: interval,
			PerMonth:     sum(sweeps(u.Shapes[Sweep], p, minutes))})
	}
	r.Notes = r.notes()
	return r
}

func (r *Report) notes() []string {
	p, load, trickle := r.Prices, r.PerOrder[Load], r.PerOrder[Trickle]
	info := p.Prices[LogsGB].Of((platformLog("INFO") - platformLog(SystemLogLevel)) * million / gigabyte)
	return []string{
		"Agents' functions are not in the totals, because their time is that of your services. Their " +
			"messages are. " +
			"Lambda bills an invocation once for all requests of its batch, which the agent handles at " +
			"the same time.",
		fmt.Sprintf(
			"Lambda's time is what the Scheduler took on the machine that measured, %.0f ms a batch under "+
				"load, with emulators beside it.", r.Units.Shapes[Load].Milliseconds["scheduler"]),
		fmt.Sprintf(
			"Lambda's own log lines are left out by the level %s. With Tuning.SystemLogLevel INFO they "+
				"cost $%.2f a million orders under load and $%.2f at trickle, assumed to be %.0f bytes an "+
				"invocation.",
			SystemLogLevel, info*load.Invocations, info*trickle.Invocations, platformLines),
		"Full batches need enough traffic: agents whose answers come more than 50 ms apart send them one " +
			"by one, which costs up to 3.2 requests an order, $1.28 a million, more.",
		fmt.Sprintf(
			"Each entry of Priorities costs $%.2f a month more while nothing happens: the polls and the "+
				"%d alarms of its queue for high priority.",
			p.Prices[SQSRequest].Of(pollers*pollsMin*minutesPerMonth)+p.Prices[Alarm].Of(alarmsQueue),
			alarmsQueue),
		fmt.Sprintf(
			"OutcomeMetrics costs $%.2f a month for each metric that has values, at most %d of each "+
				"workflow, and up to $%.2f of logs for a million orders.",
			p.Prices[Metric].Of(1), outcomeMetrics, p.Prices[LogsGB].Of(outcomeLine*million/gigabyte)),
		fmt.Sprintf("A status on an event bus costs $%s, the end of an order with events: true among them.",
			each(p.Prices[Event])),
		"An order that fails costs more: each failed attempt a write, a read, and the messages of a step; " +
			"an alert one publication.",
	}
}

func totals(s Shape) Totals {
	t := Totals{Invocations: s.Invocations["scheduler"], AgentInvoked: s.Invocations["agent"],
		ItemBytes: s.ItemBytes}
	t.SchedulerGBms = t.Invocations * math.Max(1, math.Ceil(s.Milliseconds["scheduler"])) * schedulerGB
	t.LogBytes = s.LogBytes + platformLog(SystemLogLevel)*t.Invocations
	for _, l := range s.Lines {
		t.WRU += l.WRU + l.IndexWRU
		t.RRU += l.RRU + l.IndexRRU
		switch {
		case l.Service == "dynamodb" && l.Operation == "GetItem" && l.Resource == "Orders":
			// With s strongly and e eventually consistent reads, Calls is s + e and RRU is s + e/2. The
			// difference 2*RRU - Calls is then s.
			t.StrongReads += 2*l.RRU - l.Calls
		case l.Service == "sqs" && l.Application:
			t.AppRequests += l.Requests
		case l.Service == "sqs":
			t.SQSRequests += l.Requests
		}
	}
	return t
}

func entries(t Totals, p Prices) []Entry {
	line := func(what string, units float64, of, price string) Entry {
		return Entry{What: what, Units: units, Of: of, Dollars: p.Prices[price].Of(units * million),
			How: fmt.Sprintf("%.2f %s at $%s", units, of, each(p.Prices[price]))}
	}
	logs := line("CloudWatch Logs", t.LogBytes/gigabyte, "GB", LogsGB)
	logs.How = fmt.Sprintf("%.0f bytes at $%s a GB", t.LogBytes, each(p.Prices[LogsGB]))
	// The functions' log bytes are measured. Lambda's log bytes are assumed.
	logs.Assumed = platformLog(SystemLogLevel) > 0
	taken := line("Lambda, Scheduler, time", t.SchedulerGBms/1000, "GB-s", LambdaTime)
	taken.How = fmt.Sprintf("%.2f GB-ms at $%s a GB-s", t.SchedulerGBms, each(p.Prices[LambdaTime]))
	all := []Entry{
		line("DynamoDB, writes", t.WRU, "WRU", DynamoWrite),
		line("DynamoDB, reads", t.RRU, "RRU", DynamoRead),
		line("SQS, the deployment's requests", t.SQSRequests, "requests", SQSRequest),
		line("SQS, the application's requests", t.AppRequests, "requests", SQSRequest),
		line("Lambda, Scheduler, invocations", t.Invocations, "invocations", LambdaRequest),
		taken, logs,
	}
	if t.Events > 0 {
		all = append(all, line("EventBridge, events", t.Events, "events", Event))
	}
	return all
}

func (r Report) agentFunctions(t Totals) []Entry {
	request, second := r.Prices.Prices[LambdaRequest], r.Prices.Prices[LambdaTime]
	waited := t.AgentInvoked * r.ServiceTime * agentGB
	return []Entry{
		{What: "Lambda, agents, invocations", Units: t.AgentInvoked, Of: "invocations", Assumed: true,
			Dollars: request.Of(t.AgentInvoked * million),
			How:     fmt.Sprintf("%.2f invocations at $%s", t.AgentInvoked, each(request))},
		{What: "Lambda, agents, time", Units: waited, Of: "GB-s", Assumed: true,
			Dollars: second.Of(waited * million),
			How: fmt.Sprintf("%.2f × %.4g s × %.3g GB at $%s a GB-s", t.AgentInvoked, r.ServiceTime, agentGB,
				each(second))},
	}
}

func kept(t Totals, p Prices) (all []Entry) {
	size := float64(t.ItemBytes+itemOverhead) * million / gigabyte
	for _, of := range []struct{ what, price string }{
		{"DynamoDB, storage", DynamoStorage}, {"DynamoDB, point-in-time recovery", DynamoRecovery},
	} {
		how := fmt.Sprintf("%d bytes an order and %d that DynamoDB adds, at $%s a GB", t.ItemBytes,
			itemOverhead, each(p.Prices[of.price]))
		all = append(all, entry(p, of.what, size, "GB", of.price, how))
	}
	return all
}

func each(p Price) string {
	switch {
	case p.Per == million:
		return fmt.Sprintf("%.3g a million", p.Dollars)
	default:
		return fmt.Sprintf("%.6g", p.Dollars)
	}
}

var production = IdleProfile{Name: "Profile Production", Minutes: 1, alarmsFixed: alarmsFixed,
	alarmsAgent: alarmsAgent}

func (i IdleProfile) alarms(agents int) float64 { return float64(i.alarmsFixed + i.alarmsAgent*agents) }

func idle(sweep Shape, p Prices, agents int, profile IdleProfile) []Entry {
	mappings := mappingsFixed + mappingsAgent*agents
	polls := float64(mappings*pollers*pollsMin) * minutesPerMonth
	entries := []Entry{
		entry(p, "Long polls of the event source mappings", polls, "requests", SQSRequest,
			fmt.Sprintf("%d mappings × %d pollers × %d polls of 20 s a minute × 43,800 minutes", mappings,
				pollers, pollsMin)),
		entry(p, "Alarms", profile.alarms(agents), "alarms", Alarm, fmt.Sprintf(
			"%d, and %d for each of %d agents", profile.alarmsFixed, profile.alarmsAgent, agents)),
		entry(p, "Metric of the oldest overdue task", metrics, "metric", Metric, "one a deployment"),
	}
	if profile.alarmsFixed > 0 {
		entries = append(entries, entry(p, "Key of the topic of alarms", 1, "key", Key,
			"one a deployment, without an AlarmTopic of your own"))
	}
	return append(entries, sweeps(sweep, p, profile.Minutes)...)
}

func sweeps(sweep Shape, p Prices, minutes int) []Entry {
	t, count := totals(sweep), minutesPerMonth/float64(minutes)
	rate := "a minute"
	if minutes > 1 {
		rate = fmt.Sprintf("every %d minutes", minutes)
	}
	return []Entry{
		entry(p, "Schedule of the Supervisor", count, "invocations", Schedule, "one "+rate),
		entry(p, "Supervisor, invocations", count, "invocations", LambdaRequest, "one "+rate),
		entry(p, "Supervisor, time", count*sweepSeconds*schedulerGB, "GB-s", LambdaTime,
			"0.1 s × 0.25 GB "+rate+", assumed"),
		entry(p, "Supervisor, leases on shards", t.WRU*count, "WRU", DynamoWrite,
			fmt.Sprintf("%.0f WRU a sweep", t.WRU)),
		entry(p, "Supervisor, queries of the index", t.RRU*count, "RRU", DynamoRead,
			fmt.Sprintf("%.1f RRU a sweep", t.RRU)),
		entry(p, "Logs of the sweeps", (platformLog(SystemLogLevel)+sweepLog)*count/gigabyte, "GB", LogsGB,
			fmt.Sprintf("%.0f bytes a sweep, assumed", platformLog(SystemLogLevel)+sweepLog)),
	}
}

func entry(p Prices, what string, units float64, of, price, how string) Entry {
	return Entry{What: what, Units: units, Of: of, Dollars: p.Prices[price].Of(units), How: how}
}

func sum(entries []Entry) float64 {
	total := 0.0
	for _, e := range entries {
		total += e.Dollars
	}
	return total
}
