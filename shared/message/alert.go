package message

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Alert is what the operator is told of an order that stopped, with the commands that it accepts now.
// It is the same wherever it is told: in a mail, to a program, in the log.
type Alert struct {
	core.RaiseAlert
	Commands []string `json:"commands"`
	purposes []string // of the commands
}

// AlertOf makes the alert of an effect. options are those by which the command line reaches the
// deployment, as "--stack Shop"; "" for none.
func AlertOf(a core.RaiseAlert, options string) Alert {
	alert := Alert{RaiseAlert: a}
	add := func(purpose string, words ...string) {
		line := append([]string{"stepkeeper"}, strings.Fields(options)...)
		alert.Commands = append(alert.Commands, strings.Join(append(line, words...), " "))
		alert.purposes = append(alert.purposes, purpose)
	}
	add("Look at it", "show", a.OrderID)
	if a.Accepts.Resubmit {
		purpose := "When the cause is fixed, go on"
		if a.Phase == core.Undoing {
			purpose = "When the cause is fixed, go on undoing"
		}
		add(purpose, "resubmit", a.OrderID)
	}
	if a.Accepts.Undo && a.Phase != core.Undoing { // there it is the same as resubmit
		add("To reverse all of it", "undo", a.OrderID)
	}
	if a.Accepts.Resolve {
		otherwise := core.NotHappened
		if a.Phase == core.Undoing {
			otherwise = core.Undone
		}
		add("If the step has happened after all", "resolve", a.OrderID, a.Step, string(core.Happened))
		add("If it has certainly not, or was undone by hand", "resolve", a.OrderID, a.Step, string(otherwise))
	}
	return alert
}

// Fact is one thing that an alert says of its order.
type Fact struct{ Name, Value string }

// Facts are what is known beside order and workflow; what is not known is left out.
func (a Alert) Facts() []Fact {
	attempts := ""
	if a.Attempts > 0 {
		attempts = strconv.Itoa(a.Attempts)
	}
	all := []Fact{
		{"phase", string(a.Phase)}, {"step", a.Step}, {"attempts", attempts}, {"key", a.Key}, {"code", a.Code},
		{"reason", a.RaiseAlert.Message}, {"run", strconv.Itoa(a.Run)}, {"since", a.At.String()},
	}
	known := all[:0]
	for _, f := range all {
		if f.Value != "" {
			known = append(known, f)
		}
	}
	return known
}

// Text is what an operator reads at 3 a.m.: what happened, to what, and what to do.
func (a Alert) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Order %s of workflow %s has stopped and waits for an operator.\n\n", a.OrderID, a.Workflow)
	for _, f := range a.Facts() {
		fmt.Fprintf(&b, "%-8s %s\n", f.Name, f.Value)
	}
	for i, purpose := range a.purposes {
		fmt.Fprintf(&b, "\n%s:\n    %s\n", purpose, a.Commands[i])
	}
	return b.String()
}
