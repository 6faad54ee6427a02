package httpagent

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// AWS configures a call of an AWS service instead of an HTTP request. Exactly one of the first five
// fields is set. Package awsagent makes the call.
type AWS struct {
	Invoke         string `yaml:"invoke" json:"invoke,omitzero"`                 // ARN of a Lambda function
	PutEvents      string `yaml:"putEvents" json:"putEvents,omitzero"`           // ARN of an event bus
	Publish        string `yaml:"publish" json:"publish,omitzero"`               // ARN of an SNS topic
	Send           string `yaml:"send" json:"send,omitzero"`                     // URL of an SQS queue
	StartExecution string `yaml:"startExecution" json:"startExecution,omitzero"` // ARN of a state machine
	// Express means that the field StartExecution names an express state machine. The call then waits for
	// the end of the execution.
	Express bool `yaml:"express" json:"express,omitzero"`
	// Deduplicates means that the receivers of the messages act only once for each idempotencyKey.
	Deduplicates bool `yaml:"deduplicates" json:"deduplicates,omitzero"`
}

// Kinds of calls, by their names in the agents file.
const (
	Invoke         = "invoke"
	PutEvents      = "putEvents"
	Publish        = "publish"
	Send           = "send"
	StartExecution = "startExecution"
)

// Target is the AWS resource that an operation calls.
type Target struct {
	Kind                  string // name of the call, such as Invoke
	ARN, Region, URL      string // URL is set only for Send
	FIFO, Express, Unique bool   // Unique is AWS.Deduplicates
}

// Permission is an IAM permission that the agent's role needs.
type Permission struct{ Action, Resource string }

// Permissions returns the permissions that the agent's role needs for the call.
func (t Target) Permissions() []Permission {
	switch {
	case t.Kind == Invoke:
		return []Permission{{"lambda:InvokeFunction", t.ARN}}
	case t.Kind == PutEvents:
		return []Permission{{"events:PutEvents", t.ARN}}
	case t.Kind == Publish:
		return []Permission{{"sns:Publish", t.ARN}}
	case t.Kind == Send:
		return []Permission{{"sqs:SendMessage", t.ARN}}
	case t.Express:
		return []Permission{{"states:StartSyncExecution", t.ARN}}
	}
	return []Permission{{"states:StartExecution", t.ARN}, {"states:DescribeExecution", t.Execution("*")}}
}

// Execution returns the ARN of the execution with the given name. The ARN contains neither a version nor an
// alias of the state machine.
func (t Target) Execution(name string) string {
	before, machine, _ := strings.Cut(t.ARN, ":stateMachine:")
	machine, _, _ = strings.Cut(machine, ":")
	return before + ":execution:" + machine + ":" + name
}

type kind struct {
	name     string
	field    func(a *AWS) *string
	resource *regexp.Regexp // pattern of the resource in the ARN
	service  string
	what     string // content of the field, for error texts
	example  string
}

var awsKinds = []kind{
	{
		Invoke, func(a *AWS) *string { return &a.Invoke },
		regexp.MustCompile(`^function:[A-Za-z0-9_-]{1,64}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?$`), "lambda",
		"ARN of a Lambda function", "arn:aws:lambda:eu-central-1:111122223333:function:reserve",
	},
	{
		PutEvents, func(a *AWS) *string { return &a.PutEvents },
		regexp.MustCompile(`^event-bus/[A-Za-z0-9/._-]{1,256}$`), "events",
		"ARN of an event bus", "arn:aws:events:eu-central-1:111122223333:event-bus/shop",
	},
	{
		Publish, func(a *AWS) *string { return &a.Publish },
		regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}(\.fifo)?$`), "sns",
		"ARN of an SNS topic", "arn:aws:sns:eu-central-1:111122223333:orders",
	},
	{
		Send, func(a *AWS) *string { return &a.Send },
		regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}(\.fifo)?$`), "sqs",
		"URL of an SQS queue", "https://sqs.eu-central-1.amazonaws.com/111122223333/orders",
	},
	{
		StartExecution, func(a *AWS) *string { return &a.StartExecution },
		regexp.MustCompile(`^stateMachine:[A-Za-z0-9_-]{1,80}(:[A-Za-z0-9_-]{1,80})?$`), "states",
		"ARN of a state machine", "arn:aws:states:eu-central-1:111122223333:stateMachine:ship",
	},
}

var (
	awsARN = regexp.MustCompile(
		`^arn:(aws|aws-cn|aws-us-gov):([a-z]+):([a-z]{2}(?:-[a-z]+)+-\d):(\d{12}):(.+)$`)
	awsQueue = regexp.MustCompile(
		`^https://sqs\.([a-z]{2}(?:-[a-z]+)+-\d)\.amazonaws\.com(\.cn)?/(\d{12})/([^/]+)$`)
	// The URL of an emulator's queue may contain a Region.
	emulatedQueue = regexp.MustCompile(`^(?:/queue/([a-z]{2}(?:-[a-z]+)+-\d))?/(\d{12})/([^/]+)$`)
)

func (a AWS) target() (Target, error) {
	var set []kind
	var names []string
	for _, k := range awsKinds {
		names = append(names, k.name)
		if *k.field(&a) != "" {
			set = append(set, k)
		}
	}
	if len(set) != 1 {
		return Target{}, fmt.Errorf("it names %d calls; write one of %s", len(set), strings.Join(names, ", "))
	}
	k := set[0]
	value := *set[0].field(&a)
	t := Target{Kind: k.name, ARN: value, Express: a.Express, Unique: a.Deduplicates}
	if k.name == Send {
		t.URL = value
		t.ARN = queueARN(value)
	}
	m := awsARN.FindStringSubmatch(t.ARN)
	if m == nil || m[2] != k.service || !k.resource.MatchString(m[5]) {
		return Target{}, fmt.Errorf("%s: %.200q is not the %s, as in %s", k.name, value, k.what, k.example)
	}
	t.Region = m[3]
	t.FIFO = strings.HasSuffix(m[5], ".fifo")
	switch {
	case a.Express && k.name != StartExecution:
		return Target{}, fmt.Errorf("express is for startExecution; leave it out")
	case a.Deduplicates && (k.name == Invoke || k.name == StartExecution):
		return Target{}, fmt.Errorf("deduplicates is for putEvents, publish and send; leave it out")
	}
	return t, nil
}

// queueARN returns the ARN of the queue with this URL, or "" for any other URL. If the URL of an
// emulator's queue names no Region, the Region is us-east-1, the default of emulators.
func queueARN(text string) string {
	if m := awsQueue.FindStringSubmatch(text); m != nil {
		partition := "aws"
		switch {
		case m[2] != "":
			partition = "aws-cn"
		case strings.HasPrefix(m[1], "us-gov-"):
			partition = "aws-us-gov"
		}
		return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition, m[1], m[3], m[4])
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || !IsLoopback(u.Hostname()) {
		return ""
	}
	if m := emulatedQueue.FindStringSubmatch(u.Path); m != nil {
		region := m[1]
		if region == "" {
			region = "us-east-1"
		}
		return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", region, m[2], m[3])
	}
	return ""
}

func (a *AWS) filled(lookup func(string) (string, bool)) (*AWS, error) {
	if a == nil {
		return nil, nil
	}
	own := *a
	for _, k := range awsKinds {
		filled, _, err := Secret(*k.field(a)).fill(lookup)
		if err != nil {
			return nil, fmt.Errorf("aws: %s: %w", k.name, err)
		}
		*k.field(&own) = string(filled)
	}
	return &own, nil
}

func (a *Agent) fillAWS(lookup func(string) (string, bool)) (p problems) {
	filled, err := a.AWS.filled(lookup)
	if err != nil {
		p = append(p, err)
	}
	a.AWS = filled
	a.Operations = maps.Clone(a.Operations)
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		o := a.Operations[name]
		o.AWS, err = o.AWS.filled(lookup)
		if err != nil {
			p.add("operation %q: %w", name, err)
			continue
		}
		a.Operations[name] = o
	}
	return p
}

func (a Agent) exampleURL() Secret {
	return Secret("https://" + append(slices.Clone(a.Allow.Hosts), "example.com")[0])
}

// WithExamples replaces each address and each AWS call that refers to an unset variable by an example.
// So the rest of an agents file can be checked although variables are not set.
func (a Agent) WithExamples(set func(name string) bool) Agent {
	lookup := func(name string) (string, bool) { return "x", set(name) }
	a.Auth = a.Auth.clone()
	if _, _, err := a.URL.fill(lookup); err != nil {
		a.URL = a.exampleURL()
	}
	example := func(a *AWS) *AWS {
		if a == nil {
			return nil
		}
		own := *a
		for _, k := range awsKinds {
			if _, _, err := Secret(*k.field(&own)).fill(lookup); err != nil {
				*k.field(&own) = k.example
			}
		}
		return &own
	}
	for _, r := range []*Reference{a.Auth.tokenURL(), &a.Proxy} {
		if _, _, err := r.fill(lookup); err != nil {
			r.Secret = a.exampleURL()
		}
	}
	a.AWS = example(a.AWS)
	a.Operations = maps.Clone(a.Operations)
	// the loop may go in any order, because the operations are independent
	for name, o := range a.Operations {
		o.AWS = example(o.AWS)
		a.Operations[name] = o
	}
	return a
}

// OnAWS reports whether the agent calls services of AWS instead of a URL.
func (a Agent) OnAWS() bool {
	on := a.AWS != nil
	for _, o := range a.Operations {
		on = on || o.AWS != nil
	}
	return on
}

// Region returns the Region of the first operation that calls an AWS service. "" means no such operation.
func (a Agent) Region() string {
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		if t, calls := a.Target(name); calls {
			return t.Region
		}
	}
	return ""
}

// Addresses returns the addresses in the settings of a checked agent, by field or operation.
func (a Agent) Addresses() map[string]string {
	all := map[string]string{
		"url": string(a.URL), "proxy": string(a.Proxy.Secret),
		"tokenURL": string(a.Auth.tokenURL().Secret),
	}
	for name := range a.Operations {
		if t, calls := a.Target(name); calls {
			all["operation "+name] = t.URL
		}
	}
	return all
}

// Target returns the AWS resource that an operation of a checked agent calls. It returns false if the
// operation calls no AWS service.
func (a Agent) Target(operation string) (Target, bool) {
	o, own := a.Operations[operation]
	if !own {
		o, own = a.Operations["*"]
	}
	if !own || o.AWS == nil {
		return Target{}, false
	}
	t, err := o.AWS.target()
	return t, err == nil
}

func (a *Agent) completeAWS() (p problems) {
	if a.Auth != nil || a.Proxy.Secret != "" {
		p.add("auth and proxy are for HTTP services; leave them out")
	}
	if a.URL != "" || len(a.Headers) > 0 || a.Insecure || len(a.Allow.Hosts) > 0 || a.Allow.Loopback ||
		a.Allow.PrivateAddresses || a.MaxResponse != 0 {
		p.add(
			"aws means that a service of AWS is called; url, headers, insecure, allow and maxResponse have " +
				"no meaning then",
		)
	}
	p = append(p, a.Classify.named()...)
	if len(a.Operations) == 0 {
		a.Operations = map[string]Operation{"*": {}}
	}
	operations := make(map[string]Operation, len(a.Operations))
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		o := a.Operations[name]
		var own problems
		if name != "*" && !operationName.MatchString(name) {
			own.add("the name must be letters, digits, -, _ and ., at most 80")
		}
		if o.Method != "" || o.Path != "" || o.Check != nil {
			own.add("method, path and check are for HTTP services; leave them out")
		}
		if o.Output != "" && o.Output != "json" && o.Output != "ignore" {
			own.add("output is %.40q; it must be json or ignore", o.Output)
		}
		if o.AWS == nil {
			o.AWS = a.AWS
		}
		if o.AWS == nil {
			own.add("neither it nor its agent has aws; write aws: {invoke: ARN} or another call")
		} else if _, err := o.AWS.target(); err != nil {
			own.add("aws: %w", err)
		}
		own = append(own, o.Classify.named()...)
		o.Classify = o.Classify.over(a.Classify)
		p.of(fmt.Sprintf("operation %q", name), own)
		operations[name] = o
	}
	a.Operations = operations
	return p
}

var errorName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_.$:-]{0,119}$`)

// named checks the entries of an agent that calls AWS services. Their keys are names of errors, not statuses.
func (c Classify) named() (p problems) {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		class := c[name]
		if !errorName.MatchString(name) {
			p.add("classify: %.60q is no name of an error; write one that the function or the execution "+
				"reports, as OutOfStock: permanent", name)
		}
		if class != classPermanent && class != classTransient && class != classDone {
			p.add(
				"classify: error %.60s has the class %.40q; write done, permanent or transient",
				name,
				class,
			)
		}
	}
	return p
}

// Times for which AWS services recognise a repeated call.
const (
	fifoMemory      = 5 * core.Minute
	executionMemory = 90 * core.Day
)

// CannotKeep returns a problem and a fix if an agent cannot keep the promises of a step, such as the
// step's grade. The problem is "" if the agent can keep the promises, or is not in the file. kept is
// the keyRetention of the agent in the workflow; 0 means no limit.
func (c Config) CannotKeep(agent string, s *core.StepDefinition,
	kept core.Duration,
) (problem, fix string) {
	a := c.Agents[agent]
	operations := []string{s.Operation}
	if s.Undo != nil {
		operations = append(operations, s.Undo.Operation)
	}
	for _, name := range operations {
		if t, calls := a.Target(name); calls {
			problem, fix = t.cannotKeep(agent, s, kept)
			if problem != "" {
				return fmt.Sprintf("operation %s of agent %s %s", name, agent, problem), fix
			}
		}
	}
	return "", ""
}

func (t Target) cannotKeep(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string) {
	long := t.Kind == StartExecution && !t.Express
	sends := t.Kind == PutEvents || t.Kind == Publish || t.Kind == Send
	forgets := func(memory core.Duration) bool { return kept == 0 || kept > memory }
	switch {
	case s.Grade == core.Fenced && (sends || long):
		return fmt.Sprintf("is %s, which cannot refuse a call that comes after its undo", t.Kind),
			"write grade: idempotent"
	case sends && !t.Unique && !t.FIFO && s.Grade == core.Idempotent:
		return fmt.Sprintf("is %s, and each repeated call makes another message", t.Kind),
			"write grade: plain, or deduplicates: true in the agents file if the consumers act once for " +
				"each idempotencyKey"
	case sends && !t.Unique && t.FIFO && s.Grade == core.Idempotent && forgets(fifoMemory):
		return "is a FIFO resource, which recognises a repeated message for 5 minutes",
			fmt.Sprintf(
				"write agents: {%s: {keyRetention: 5m}} in the workflow, or deduplicates: true in the "+
					"agents file if the consumers act once for each idempotencyKey",
				agent,
			)
	case long && s.Grade == core.Plain:
		return "is a standard state machine, which is polled, and a plain step cannot be",
			"write grade: idempotent"
	case long && s.PointOfNoReturn:
		return "is a standard state machine, which is polled, and a point of no return cannot be",
			"let a Lambda function or an express state machine do this step"
	case long && forgets(executionMemory):
		return "is a standard state machine, which recognises the name of an execution for 90 days",
			fmt.Sprintf("write agents: {%s: {keyRetention: 90d}} in the workflow", agent)
	}
	return "", ""
}
