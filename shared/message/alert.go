package message

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// AlertKind states why the operator gets an alert about an incident.
type AlertKind string

// Kinds of alerts.
const (
	AlertFirst    AlertKind = "first"    // the incident has begun
	AlertReminder AlertKind = "reminder" // the incident has not ended yet
	AlertOver     AlertKind = "over"     // the incident has ended
)

// Alert is a message to the operator about the orders of one incident. Mails, logs and programs get the same
// content.
type Alert struct {
	Kind            AlertKind `json:"kind"`
	Deployment      string    `json:"deployment"` // name of the AWS stack, or address of the server
	core.RaiseAlert           // details of one order of the incident, usually the first
	// Orders is the number of the incident's orders in Error now. It is 0 for undone or refused orders.
	Orders int       `json:"orders"`
	Since  core.Time `json:"since"` // beginning of the incident
	// Intake marks an alert about refused new orders. Code and Message state the reason.
	Intake bool `json:"intake,omitempty"`
	// Agent marks an alert about an agent that does not call its service, or is not deployed. Code and Message
	// state the reason.
	Agent     string   `json:"agent,omitempty"`
	Operation string   `json:"operation,omitempty"` // operation that the agent does not call; "" means all
	Logs      string   `json:"logs,omitempty"`      // location of the order's log
	Commands  []string `json:"commands"`
	purposes  []string // purposes[i] describes Commands[i]
}

// Encode returns the alert as JSON for programs. The members subject and text are for people; chat services show
// the member text of a webhook.
func (a Alert) Encode() ([]byte, error) {
	return json.Marshal(struct {
		Alert
		Subject string `json:"subject"`
		Text    string `json:"text"`
	}{a, a.Subject(), a.Text()})
}

// Subject returns the alert in one line, with the deployment.
func (a Alert) Subject() string {
	return strings.TrimSuffix("Stepkeeper "+a.Deployment, " ") + ": " + a.Title()
}

// For returns a copy of the alert with the fields Deployment and Commands set. The argument options contains
// the command-line flags that select the deployment, such as "--stack Shop". It can be empty.
func (a Alert) For(deployment, options string) Alert {
	a.Deployment = deployment
	a.Commands = []string{}
	a.purposes = nil
	add := func(purpose string, words ...string) {
		line := append([]string{"stepkeeper"}, strings.Fields(options)...)
		for i := range words {
			// A word may be an agent's error code, which may contain spaces and quotation marks.
			words[i] = Quoted(words[i])
		}
		a.Commands = append(a.Commands, strings.Join(append(line, words...), " "))
		a.purposes = append(a.purposes, purpose)
	}
	if a.Kind == AlertOver {
		return a
	}
	if a.lasts() {
		add("Check agents and intake", "doctor")
		add("List running orders", "list", "--where", "state="+string(core.Processing))
		return a
	}
	if a.damaged() {
		add("List the orders that cannot be read", "doctor")
		add("Show it", "show", a.OrderID)
		add("If it cannot be restored from a backup, end it", "close", a.OrderID, "--reason", "TEXT")
		return a
	}
	if a.Orders > 1 {
		a.many(add)
		return a
	}
	a.one(add)
	return a
}

// one adds commands for the order of the alert.
func (a Alert) one(add func(purpose string, words ...string)) {
	add("Show it", "show", a.OrderID)
	if a.Undone {
		add("List all undone orders", "list", "--where", "state="+string(core.Compensated)+",workflow="+a.Workflow)
	}
	if a.Accepts.Resubmit {
		purpose := "When the cause is fixed, continue"
		switch {
		case a.Undone:
			purpose = "When the cause is fixed, start it again"
		case a.Phase == core.Undoing:
			purpose = "When the cause is fixed, continue the undo"
		}
		add(purpose, "resubmit", a.OrderID)
	}
	// In the phase undo, the command resubmit already continues the undo.
	if a.Accepts.Undo && a.Phase != core.Undoing {
		add("Undo the order", "undo", a.OrderID)
	}
	if a.Accepts.Resolve {
		otherwise := core.NotHappened
		if a.Phase == core.Undoing {
			otherwise = core.Undone
		}
		from := ""
		if t := a.Accepts.ResolveFrom; t != 0 {
			from = ", from " + t.String()
		}
		add("If the service did the step"+from, "resolve", a.OrderID, a.Step, string(core.Happened))
		add("If it did not happen, or was undone by hand"+from, "resolve", a.OrderID, a.Step,
			string(otherwise))
	}
}

var plain = regexp.MustCompile(`^[A-Za-z0-9._:/=,@%+-]+$`)

// Quoted removes the control characters of a word, and adds quotes for a POSIX shell if necessary.
func Quoted(word string) string {
	if plain.MatchString(word) {
		return word
	}
	word = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return -1
		}
		return r
	}, word)
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// many adds commands for all orders of the incident. The dry run shows the orders that would refuse the
// resubmit.
func (a Alert) many(add func(purpose string, words ...string)) {
	add("Show the first one", "show", a.OrderID)
	list := "workflow=" + a.Workflow
	if a.Step != "" {
		list += ",step=" + a.Step
	}
	// The flag --where cannot express a code with a comma, an equals sign or a quotation mark.
	odd := strings.ContainsAny(a.Code, `,="`)
	if a.Code != "" && !odd {
		list += ",code=" + a.Code
	}
	add("List them", "list", "--children", "--where", "state="+string(core.Error)+","+list)
	if odd {
		return
	}
	add("Check what a repair of all would do", "resubmit", "--where", list, "--reason",
		"fixed", "--dry-run")
	add("When the cause is fixed, repair all, five of them first", "resubmit", "--where", list,
		"--reason", "fixed", "--canary", "5")
}

// Fact is one detail of an alert.
type Fact struct{ Name, Value string }

// Facts returns the known details of the alert, without the order and the workflow.
func (a Alert) Facts() []Fact {
	number := func(n int) string {
		if n == 0 {
			return ""
		}
		return strconv.Itoa(n)
	}
	ended := "stopped"
	at := ""
	if a.Undone {
		ended = "undone"
	}
	run := strconv.Itoa(a.Run)
	switch {
	case a.lasts():
		run = ""
	case a.RaiseAlert.At != 0:
		at = a.RaiseAlert.At.String()
	}
	all := []Fact{
		{"in", a.Deployment},
		{"agent", a.Agent},
		{"operation", a.Operation},
		{"phase", string(a.Phase)},
		{"step", a.Step},
		{"attempts", number(a.Attempts)},
		{"tried", a.tried()},
		{"key", a.Key},
		{"code", a.Code},
		{"reason", a.RaiseAlert.Message},
		{"run", run},
		{ended, at},
		{"orders", number(a.Orders)},
		{"since", a.Since.String()},
		{"log", a.Logs},
	}
	known := all[:0]
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

func (a Alert) tried() string {
	switch {
	case a.FirstTry == 0:
		return ""
	case a.LastTry <= a.FirstTry:
		return a.FirstTry.String()
	}
	return a.FirstTry.String() + " to " + a.LastTry.String()
}

// Title returns the alert in one line.
func (a Alert) Title() string {
	still := ""
	if a.Kind == AlertReminder {
		still = "still "
	}
	switch over := a.Kind == AlertOver; {
	case a.Agent != "" && over:
		return a.waited() + " is called again"
	case a.Agent != "":
		return a.waited() + " is " + still + "not called" + a.since() + ", and its steps wait"
	case a.Intake && over:
		return "new orders are accepted again"
	case a.Intake:
		return "new orders are " + still + "refused" + a.since()
	case a.Undone:
		return a.place() + ": order " + a.OrderID + " was undone"
	case a.damaged() && over:
		return a.Workflow + ": no damaged order any more"
	case a.damaged() && a.Orders > 1:
		return fmt.Sprintf("%s: %d orders %scannot be read%s", a.Workflow, a.Orders, still, a.since())
	case a.damaged():
		return fmt.Sprintf("%s: order %s %scannot be read%s", a.Workflow, a.OrderID, still, a.since())
	case over:
		return a.place() + ": no order in Error any more"
	case a.Orders > 1:
		return fmt.Sprintf("%s: %d orders %sin Error%s", a.place(), a.Orders, still, a.since())
	}
	return fmt.Sprintf("%s: order %s %sin Error%s", a.place(), a.OrderID, still, a.since())
}

// lasts reports whether the alert is about a condition instead of orders.
func (a Alert) lasts() bool { return a.Intake || a.Agent != "" }

func (a Alert) waited() string {
	if a.Operation == "" {
		return "agent " + a.Agent
	}
	return "agent " + a.Agent + ", operation " + a.Operation + ","
}

// damaged reports whether the alert is about orders that cannot be read (P60, a damaged order is set aside).
func (a Alert) damaged() bool {
	return a.Code == core.CodeDamaged && a.Step == "" && !a.Undone && !a.Intake
}

func (a Alert) since() string {
	if a.Since == 0 {
		return ""
	}
	return " since " + a.Since.Std().UTC().Format("2006-01-02 15:04 UTC")
}

func (a Alert) place() string {
	if a.Step == "" {
		return a.Workflow
	}
	return a.Workflow + ", step " + a.Step
}

// Text returns the alert as text for people. The first line contains the cause and the first command. The
// facts and all commands follow.
func (a Alert) Text() string {
	var first []string
	// Agents write codes and reasons, which must not look like parts of the alert.
	switch cause := core.Printable(a.cause()); {
	case a.Kind == AlertOver:
		first = append(first, "Ended: "+cause+".")
	case cause != "":
		first = append(first, cause+".")
	}
	if a.Undone {
		first = append(first, "Nothing waits for an operator.")
	}
	if len(a.Commands) > 0 {
		first = append(first, "More: "+a.Commands[0])
	}
	var b strings.Builder
	if len(first) > 0 {
		b.WriteString(strings.Join(first, " ") + "\n\n")
	}
	facts := a.Facts()
	if !a.lasts() {
		facts = append([]Fact{{"order", a.OrderID}, {"workflow", a.Workflow}}, facts...)
	}
	for _, f := range facts {
		fmt.Fprintf(&b, "%-8s %s\n", f.Name, core.Printable(f.Value))
	}
	for i, purpose := range a.purposes {
		fmt.Fprintf(&b, "\n%s:\n    %s\n", purpose, a.Commands[i])
	}
	return b.String()
}

func (a Alert) cause() string {
	message := strings.TrimRight(a.RaiseAlert.Message, ". ")
	if message == "" || a.Code == "" {
		return message + a.Code
	}
	return message + " (" + a.Code + ")"
}
