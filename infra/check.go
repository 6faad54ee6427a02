package infra

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssecretsmanager"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Lambda refuses a function with a variable of another name.
var variableName = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_]+$`)

// maxFunction is Lambda's limit for the timeout of a function.
const maxFunction = 15 * time.Minute

// maxAgents limits the agents of one deployment. The environment of a function must have room for the agents'
// queues and roles, and the template must have room for their resources.
const maxAgents = 20

func (p Props) withDefaults() (Props, error) {
	c := &checker{}
	c.profile(&p)
	if p.Build == nil {
		p.Build = build.Go
	}
	c.number("Shards", &p.Shards, dynamo.DefaultShards, 1, deployment.MaxShards)
	c.spanning("SweepInterval", p.SweepInterval, deployment.MinSweepEvery, deployment.MaxSweepEvery,
		time.Minute)
	if p.PagesPerSweep != 0 {
		c.within("PagesPerSweep", p.PagesPerSweep, 1, deployment.MaxSweepPages)
	}
	if p.TaskTTL != 0 {
		c.spanning("TaskTTL", p.TaskTTL, time.Hour, 10*365*24*time.Hour, time.Second)
	}
	if len(p.Workflows) == 0 {
		c.wrong("Workflows names no file; an engine without a workflow refuses every order")
	}
	if len(p.Agents) == 0 {
		c.wrong("Agents is empty; every step of a workflow needs one")
	}
	if len(p.Agents) > maxAgents {
		c.wrong(
			"Agents has %d; %d are possible, because their queues and roles must fit into the 4 KB of a "+
				"function's environment; make a second deployment", len(p.Agents), maxAgents)
	}
	c.tuning(&p.Tuning, p.SweepInterval)
	for i, r := range p.Replicas {
		if r.Region == "" || (r.KeyARN != "") != p.managed() {
			c.wrong(
				"Replicas[%d] must name a Region, and a key there if and only if the deployment has a key "+
					"of its own", i)
		}
	}
	p.Agents = c.agents(p.Agents)
	if p.AlarmEmail != "" && !strings.Contains(p.AlarmEmail, "@") {
		c.wrong("AlarmEmail is %.100q; it must be an address of mail", p.AlarmEmail)
	}
	if p.TracesEndpoint != "" {
		if _, err := deployment.Collector(p.TracesEndpoint); err != nil {
			c.wrong("TracesEndpoint: %v", err)
		}
	}
	c.topics(p)
	c.billing(&p)
	c.names(p.Names)
	c.tags(p.Tags)
	c.principals("Operators", p.Operators)
	c.principals("Submitters", p.Submitters)
	c.canary(&p)
	c.clashes(p)
	c.priorities(p)
	c.tables(p)
	if p.TokenKeys != nil {
		c.complete("TokenKeys", p.TokenKeys)
	}
	c.replyTo(p)
	return p, errors.Join(c.problems...)
}

func (c *checker) agents(given map[string]Agent) map[string]Agent {
	agents := make(map[string]Agent, len(given))
	for _, name := range sorted(given) {
		a := given[name]
		c.agent(name, &a)
		agents[name] = a
	}
	return agents
}

func (c *checker) replyTo(p Props) {
	own := []string{
		port.Intake, port.High(port.Intake), port.Replies, port.Control, port.Tasks,
		port.Quarantine,
	}
	for _, name := range sorted(p.ReplyToBuses) {
		if !message.ReplyToName(name) || slices.Contains(own, name) || p.ReplyToBuses[name] == nil ||
			p.ReplyTo[name] != nil {
			c.wrong(
				"ReplyToBuses %.90q must be letters, digits, '.', '_' and '-', must be no name of a queue, "+
					"and must name a bus", name)
		}
	}
	for _, name := range sorted(p.ReplyTo) {
		q := p.ReplyTo[name]
		switch {
		case !message.ReplyToName(name) || slices.Contains(own, name) || q == nil:
			c.wrong(
				"ReplyTo %.90q must be letters, digits, '.', '_' and '-', must not be a queue of the "+
					"deployment's own, and must name a queue", name)
		case *q.Fifo():
			c.wrong("ReplyTo %q is a FIFO queue; it must be a standard one", name)
		}
	}
}

// principal matches the ARN of a role or a user. With another ARN, such as that of a session, the deployment
// would succeed, but the queue's policy would refuse the sender.
var principal = regexp.MustCompile(`^arn:[a-z-]+:iam::[0-9]{12}:(role|user)/[^\s*?]+$`)

var principalID = regexp.MustCompile(`^A[A-Z0-9]{15,127}$`)

func (c *checker) principals(what string, arns []string) {
	for _, arn := range arns {
		if !unresolved(arn) && !principal.MatchString(arn) {
			c.wrong("%s has %.200q; it must be the ARN of a role or user, without wildcards", what, arn)
		}
	}
}

// clashes reports agents whose constructs would have the same ID, because IDs are made from agent names. It
// also reports agents that share a function.
func (c *checker) clashes(p Props) {
	owner := map[string]string{}
	agents := p.Agents
	for _, name := range sorted(agents) {
		id := pascal(name)
		all := []string{
			"Requests" + id, "Requests" + id + "Dead", "Agent" + id, "Agent" + id + "Logs",
			"Agent" + id + "Role", "Agent" + id + "Mapping",
		}
		if p.Priorities[name] > 0 {
			all = append(all, "Requests"+id+"High", "Requests"+id+"HighDead", "Agent"+id+"HighMapping")
		}
		for _, made := range all {
			if other, taken := owner[made]; taken && other != name {
				c.wrong(
					"agents %q and %q: their names are too much alike, both would own the resource %s; "+
						"call one of them otherwise", other, name, made)
				break
			}
			owner[made] = name
		}
	}
	for _, name := range sorted(agents) {
		for _, other := range sorted(agents) {
			f := agents[name].Function
			g := agents[other].Function
			if f != nil && g != nil && name < other && *behind(f).FunctionArn() == *behind(g).FunctionArn() {
				c.wrong("agents %q and %q have the same Function; a function serves one agent", name, other)
			}
		}
	}
}

// maxPriorities limits the entries in Priorities, so that the template and the functions' environments stay
// within their limits (rule 28 of docs/reference/aws-rules.md).
const maxPriorities = 5

func (c *checker) priorities(p Props) {
	if len(p.Priorities) > maxPriorities {
		c.wrong("Priorities has %d entries; %d are possible: give them to the queues that have backlogs",
			len(p.Priorities), maxPriorities)
	}
	for _, name := range sorted(p.Priorities) {
		a, agent := p.Agents[name]
		most := a.MaxConcurrency
		switch {
		case name == port.Intake && agent:
			c.wrong("Priorities has \"intake\", which is an agent here too; call the agent otherwise")
			continue
		case name == port.Intake:
			most = p.Tuning.Intake.MaxConcurrency
		case !agent:
			c.wrong("Priorities has %.60q; it must be \"intake\" or the name of an agent", name)
			continue
		case a.External:
			c.wrong("Priorities has %q, which is External: its process takes from one queue", name)
			continue
		}
		if n := p.Priorities[name]; n < 2 || n > most-2 {
			c.wrong(
				"Priorities[%q] is %d; 2 to %d are possible: of its MaxConcurrency, which is %d, 2 at "+
					"least stay for the other orders", name, n, most-2, most)
		}
	}
}

type checker struct{ problems []error }

func (c *checker) wrong(format string, args ...any) {
	c.problems = append(c.problems, fmt.Errorf(format, args...))
}

func (c *checker) within(what string, n, least, most int) {
	if n < least || n > most {
		c.wrong("%s is %d; %d to %d are possible", what, n, least, most)
	}
}

// number sets the default of a setting, and checks its bounds.
func (c *checker) number(what string, n *int, otherwise, least, most int) {
	*n = cmp.Or(*n, otherwise)
	c.within(what, *n, least, most)
}

// seconds sets the default of a time in whole seconds, and checks its bounds.
func (c *checker) seconds(what string, d *time.Duration, otherwise, least, most time.Duration) {
	*d = cmp.Or(*d, otherwise)
	c.spanning(what, *d, least, most, time.Second)
}

func (c *checker) spanning(what string, d, least, most, unit time.Duration) {
	if d < least || d > most || d%unit != 0 {
		c.wrong("%s is %s; %s to %s are possible, in steps of %s", what, d, least, most, unit)
	}
}

func (c *checker) tuning(t *Tuning, sweep time.Duration) {
	const longest = 4 * 24 * time.Hour
	c.mapping("Tuning.Intake", &t.Intake, port.MaxBatch)
	c.mapping("Tuning.Replies", &t.Replies, port.MaxBatch)
	c.mapping("Tuning.Control", &t.Control, port.MaxBatch)
	c.number("Tuning.SchedulerMemory", &t.SchedulerMemory, 256, 128, 10_240)
	c.number("Tuning.SupervisorMemory", &t.SupervisorMemory, 256, 128, 10_240)
	c.seconds("Tuning.SchedulerTimeout", &t.SchedulerTimeout, 30*time.Second, leastTimeout, maxFunction)
	c.number("Tuning.MaxReceives", &t.MaxReceives, 10, 5, 1000) // rule 3 of docs/reference/aws-rules.md
	c.within("Tuning.ReservedSupervisors", t.ReservedSupervisors, 0, 1000)
	t.SystemLogLevel = cmp.Or(t.SystemLogLevel, awslambda.SystemLogLevel_WARN)
	c.seconds("Tuning.IntakeRetention", &t.IntakeRetention, maxRetention, time.Minute, maxRetention)
	c.seconds("Tuning.OldestMessage", &t.OldestMessage, 5*time.Minute, time.Minute, longest)
	c.seconds("Tuning.OldestRequest", &t.OldestRequest, 15*time.Minute, time.Minute, longest)
	c.seconds("Tuning.OldestOverdue", &t.OldestOverdue, 4*time.Minute+sweep, time.Minute, longest)
	for _, name := range sorted(t.Thresholds) {
		if th := t.Thresholds[name]; !(th.Value >= 0) || th.Periods < 0 || th.Periods > maxPeriods {
			c.wrong("Tuning.Thresholds[%.90q] is %v in %d periods; a value above 0 and 1 to %d periods are "+
				"possible, or 0 for the default", name, th.Value, th.Periods, maxPeriods)
		}
	}
	c.seconds("Tuning.AlertWindow", &t.AlertWindow, incident.DefaultWindow, deployment.MinWindow, deployment.MaxWindow)
	if t.AlertReminder >= 0 {
		c.seconds("Tuning.AlertReminder", &t.AlertReminder, incident.DefaultReminder, deployment.MinReminder,
			deployment.MaxReminder)
	}
}

// reservedSchedulers checks the Scheduler's reserved concurrency against the mappings of all its queues. Workflows
// with child orders add the queue tasks.
func (p Props) reservedSchedulers(made *content) error {
	c := &checker{}
	t := p.Tuning
	mapped := t.Intake.MaxConcurrency + t.Replies.MaxConcurrency + t.Control.MaxConcurrency
	if len(made.Children) > 0 {
		mapped += t.Control.MaxConcurrency
	}
	c.reserved("Tuning.ReservedSchedulers", t.ReservedSchedulers, mapped)
	return errors.Join(c.problems...)
}

// reserved checks a reserved concurrency n. mapped is the concurrency of the function's mappings. If n is
// smaller than mapped, Lambda throttles executions, and each throttled message counts as received.
func (c *checker) reserved(what string, n, mapped int) {
	if n != 0 {
		c.within(what, n, mapped, 1000)
	}
}

func (c *checker) mapping(what string, m *Mapping, batch int) {
	c.number(what+".Batch", &m.Batch, batch, 1, port.MaxBatch)
	// Every mapping needs a limit (rule 2 of docs/reference/aws-rules.md).
	c.number(what+".MaxConcurrency", &m.MaxConcurrency, 5, 2, 1000)
	c.seconds(what+".Window", &m.Window, 0, 0, 5*time.Minute)
}

func (c *checker) agent(name string, a *Agent) {
	what := fmt.Sprintf("agent %q", name)
	if !message.IsAgent(name) {
		c.wrong("%s: the name must be small letters, digits and -, at most 40, a letter first", what)
	}
	if name == "scheduler" || name == "supervisor" { // names of the construct's own functions and alarms
		c.wrong("%s: the engine uses this name itself; choose another", what)
	}
	kinds := 0
	for _, set := range []bool{a.HTTP != "", a.Folder != "", a.Function != nil, a.External} {
		if set {
			kinds++
		}
	}
	if kinds != 1 {
		c.wrong("%s: exactly one of HTTP, Folder, Function and External must be set, not %d", what, kinds)
	}
	if len(a.SenderARNs) > 0 && !a.External {
		c.wrong("%s: SenderARNs is for external agents", what)
	}
	c.principals(what+": SenderARNs", a.SenderARNs)
	c.account(what, *a)
	for _, id := range a.SenderIDs {
		if !unresolved(id) && !principalID.MatchString(id) {
			c.wrong("%s: SenderIDs has %.100q; it must be the ID of a role or user, as in "+
				"AROAEXAMPLEEXAMPLE12", what, id)
		}
	}
	for _, variable := range sorted(a.Environment) {
		_, secret := a.Secrets[variable]
		if secret || strings.HasPrefix(variable, "STEPKEEPER_") {
			c.wrong("%s: Environment must not set %s, which is a secret's or ours", what, variable)
		}
		if !variableName.MatchString(variable) {
			c.wrong("%s: Environment sets %.60q; Lambda takes a letter and then letters, digits and _, 2 at least", what,
				variable)
		}
	}
	memory := 128
	if language := build.LanguageOf(a.Folder); language == build.Python || language == build.TypeScript {
		memory = 256 // Python and Node.js start slowly if they have less memory
	}
	c.mapping(what, &a.Mapping, 5)
	c.number(what+": Memory", &a.Memory, memory, 128, 10_240)
	c.seconds(what+": Timeout", &a.Timeout, time.Minute, leastTimeout, maxFunction)
	c.reserved(what+": Reserved", a.Reserved, a.MaxConcurrency)
	c.adopted(what, *a)
	for _, variable := range sorted(a.Secrets) {
		s := a.Secrets[variable]
		if (s.secret == nil) == (s.parameter == nil) {
			c.wrong("%s: secret %s must be made with SecretValue or ParameterValue", what, variable)
		} else if s.secret != nil {
			c.complete(what+": secret "+variable, s.secret)
		}
	}
}

func (c *checker) canary(p *Props) {
	if p.Canary == nil {
		return
	}
	p.Versions = true
	if p.Alarms == AlarmsNone {
		c.wrong("Canary rolls back on the functions' error alarms, and Alarms is None; set AlarmsEssential")
	}
}

func (c *checker) complete(what string, s awssecretsmanager.ISecret) {
	if s.SecretFullArn() == nil {
		c.wrong("%s must be known by its complete ARN, for a permission without wildcards", what)
	}
}

// managed reports whether the deployment has a key of its own.
func (p Props) managed() bool { return p.CustomerManagedKey || p.Key != nil }

func (c *checker) adopted(what string, a Agent) {
	if a.Function == nil {
		return
	}
	if a.Function.Role() == nil {
		c.wrong("%s: its function was imported without its role; import it with FunctionAttributes.Role",
			what)
	}
	if a.Reserved != 0 || a.VPC != nil {
		c.wrong("%s: Reserved and VPC of a function of your own are set where it is made", what)
	}
	if own, made := behind(a.Function).(awslambda.Function); made {
		hidden := visibility(a.Timeout, a.Window)
		switch timeout := own.Timeout(); {
		case timeout == nil || *timeout.ToSeconds(nil) < a.Timeout.Seconds():
			c.wrong("%s: Timeout is %s, which is more than its function's own; give both the same", what,
				a.Timeout)
		case *timeout.ToSeconds(nil) > hidden.Seconds():
			c.wrong("%s: Timeout is %s, so that its queue hides a message for %s, and its function may run for "+
				"longer, which Lambda refuses; give both the same", what, a.Timeout, hidden)
		}
	}
}
