package awsagent

import (
	"cmp"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/loopback"
	"github.com/stepkeeper/stepkeeper/shared/partition"
)

// Entry is a field aws of an agents file. It configures a call of an AWS service instead of an HTTP request.
// Exactly one of the first five fields is set.
type Entry struct {
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
	FIFO, Express, Unique bool   // Unique is Entry.Deduplicates
}

// Permission is an IAM permission that the agent's role needs.
type Permission struct{ Action, Resource string }

var actions = map[string]string{
	Invoke: "lambda:InvokeFunction", PutEvents: "events:PutEvents", Publish: "sns:Publish", Send: "sqs:SendMessage",
}

// Permissions returns the permissions that the agent's role needs for the call.
func (t Target) Permissions() []Permission {
	switch {
	case t.Kind != StartExecution:
		return []Permission{{actions[t.Kind], t.ARN}}
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
	field    func(e *Entry) *string
	resource *regexp.Regexp // pattern of the resource in the ARN
	service  string
	what     string // content of the field, for error texts
	example  string
}

var kinds = []kind{
	{
		Invoke, func(e *Entry) *string { return &e.Invoke },
		regexp.MustCompile(`^function:[A-Za-z0-9_-]{1,64}(:(\$LATEST|[A-Za-z0-9_-]{1,128}))?$`), "lambda",
		"ARN of a Lambda function", "arn:aws:lambda:eu-central-1:111122223333:function:reserve",
	},
	{
		PutEvents, func(e *Entry) *string { return &e.PutEvents },
		regexp.MustCompile(`^event-bus/[A-Za-z0-9/._-]{1,256}$`), "events",
		"ARN of an event bus", "arn:aws:events:eu-central-1:111122223333:event-bus/shop",
	},
	{
		Publish, func(e *Entry) *string { return &e.Publish },
		regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}(\.fifo)?$`), "sns",
		"ARN of an SNS topic", "arn:aws:sns:eu-central-1:111122223333:orders",
	},
	{
		Send, func(e *Entry) *string { return &e.Send },
		regexp.MustCompile(`^[A-Za-z0-9_-]{1,80}(\.fifo)?$`), "sqs",
		"URL of an SQS queue", "https://sqs.eu-central-1.amazonaws.com/111122223333/orders",
	},
	{
		StartExecution, func(e *Entry) *string { return &e.StartExecution },
		regexp.MustCompile(`^stateMachine:[A-Za-z0-9_-]{1,80}(:[A-Za-z0-9_-]{1,80})?$`), "states",
		"ARN of a state machine", "arn:aws:states:eu-central-1:111122223333:stateMachine:ship",
	},
}

var (
	resourceARN = regexp.MustCompile(`^arn:([a-z-]+):([a-z]+):(` + partition.Region + `):(\d{12}):(.+)$`)
	queueURL    = regexp.MustCompile(`^https://sqs\.(` + partition.Region + `)\.([a-z0-9.-]+)/(\d{12})/([^/]+)$`)
	// The URL of an emulator's queue may contain a Region.
	emulatedQueue = regexp.MustCompile(`^(?:/queue/(` + partition.Region + `))?/(\d{12})/([^/]+)$`)
)

// Target returns the AWS resource that the entry names.
func (e Entry) Target() (Target, error) {
	var set []kind
	var names []string
	for _, k := range kinds {
		names = append(names, k.name)
		if *k.field(&e) != "" {
			set = append(set, k)
		}
	}
	if len(set) != 1 {
		return Target{}, fmt.Errorf("it names %d calls; write one of %s", len(set), strings.Join(names, ", "))
	}
	k := set[0]
	value := *k.field(&e)
	t := Target{Kind: k.name, ARN: value, Express: e.Express, Unique: e.Deduplicates}
	if k.name == Send {
		t.URL = value
		t.ARN = queueARN(value)
	}
	m := resourceARN.FindStringSubmatch(t.ARN)
	if m == nil || m[1] != partition.Of(m[3]).Name || m[2] != k.service || !k.resource.MatchString(m[5]) {
		return Target{}, fmt.Errorf("%s: %.200q is not the %s, as in %s", k.name, value, k.what, k.example)
	}
	t.Region = m[3]
	t.FIFO = strings.HasSuffix(m[5], ".fifo")
	switch {
	case e.Express && k.name != StartExecution:
		return Target{}, fmt.Errorf("express is for startExecution; leave it out")
	case e.Deduplicates && (k.name == Invoke || k.name == StartExecution):
		return Target{}, fmt.Errorf("deduplicates is for putEvents, publish and send; leave it out")
	}
	return t, nil
}

// queueARN returns the ARN of the queue with this URL, or "" for any other URL. If the URL of an
// emulator's queue names no Region, the Region is us-east-1, the default of emulators.
func queueARN(text string) string {
	if m := queueURL.FindStringSubmatch(text); m != nil && m[2] == partition.Of(m[1]).DNS {
		return fmt.Sprintf("arn:%s:sqs:%s:%s:%s", partition.Of(m[1]).Name, m[1], m[3], m[4])
	}
	u, err := url.Parse(text)
	if err != nil || u.User != nil || u.RawQuery != "" || !loopback.Is(u.Hostname()) {
		return ""
	}
	if m := emulatedQueue.FindStringSubmatch(u.Path); m != nil {
		return fmt.Sprintf("arn:aws:sqs:%s:%s:%s", cmp.Or(m[1], "us-east-1"), m[2], m[3])
	}
	return ""
}

// Fill replaces the value of each call by fill(value, example). The example shows the form of the value.
func (e *Entry) Fill(fill func(value, example string) (string, error)) error {
	if e == nil {
		return nil
	}
	for _, k := range kinds {
		value, err := fill(*k.field(e), k.example)
		if err != nil {
			return fmt.Errorf("aws: %s: %w", k.name, err)
		}
		*k.field(e) = value
	}
	return nil
}

var errorName = regexp.MustCompile(`^[A-Za-z_$][A-Za-z0-9_.$:-]{0,119}$`)

// CheckClasses checks the entries of a field classify. Their keys are names of errors, not statuses.
func CheckClasses(classes map[string]string) (problems []error) {
	for _, name := range slices.Sorted(maps.Keys(classes)) {
		class := classes[name]
		if !errorName.MatchString(name) {
			problems = append(problems,
				fmt.Errorf("classify: %.60q is no name of an error; write one that the function or the execution "+
					"reports, as OutOfStock: permanent", name))
		}
		if class != "permanent" && class != "transient" && class != "done" {
			problems = append(problems,
				fmt.Errorf("classify: error %.60s has the class %.40q; write done, permanent or transient", name, class))
		}
	}
	return problems
}

// Times for which AWS services recognise a repeated call.
const (
	fifoMemory      = 5 * core.Minute
	executionMemory = 90 * core.Day
)

// CannotKeep returns what is wrong with the call, and a fix, if the call cannot keep the promises of a step of
// the agent, such as the step's grade. kept is the keyRetention of the agent; 0 means no limit.
func (t Target) CannotKeep(agent string, s *core.StepDefinition, kept core.Duration) (problem, fix string) {
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
