package agenttest

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Grades of a remote service, as workflows declare them.
const (
	Fenced     = core.Fenced
	Idempotent = core.Idempotent
	Plain      = core.Plain
)

// Probe describes the operations to test, and how to count their effects.
type Probe struct {
	Do    string          // operation that has the effect; required
	Undo  string          // operation that reverses Do; "" if Do has no undo
	Input json.RawMessage // input of Do
	// UndoInput is the input of Undo; nil means Input. UndoInput cannot contain the output of Do, because
	// an undo must work even if the output was lost (P24, an undo needs no output).
	UndoInput json.RawMessage
	// Effects counts the effects of a key at the service, without the agent. It is required. It returns:
	//   - 0 before the do, and again after the undo;
	//   - 1 after the do;
	//   - 2 if the service executed the do twice;
	//   - -1 if the service undid a do that never happened.
	//
	// The trials do not call Effects while a call of the agent runs, except in the trial that uses Delay.
	Effects func(key string) int
	// Refuse(true) makes the service refuse each call, so that no call has an effect. Refuse(false) makes the
	// service accept calls again. If Refuse is nil, Find skips the trial of a do that follows a refusal.
	Refuse func(refuse bool)
	// Delay makes the service wait for d before each effect. If Delay is nil, Find skips the trial of calls
	// that take longer than their timeout.
	Delay func(d time.Duration)
	// Between is the number of other keys between two uses of a key; 0 means 50. The trials detect a
	// service that remembers only a smaller number of keys.
	Between int
	// Timeout is the time limit of one call; 0 means 5 s.
	Timeout time.Duration
	// Together is the number of concurrent calls; 0 means 8.
	Together int
	// Tried is called after each trial with the number of trials that have run, and of all that will. It may be nil.
	Tried func(done, of int)
}

// Trial is the result of one trial.
type Trial struct {
	Name  string       `json:"name"`
	Rule  string       `json:"rule"` // rule that the trial checks, such as "P15"
	For   []core.Grade `json:"for"`
	Wrong string       `json:"wrong,omitempty"` // fault that the trial found; "" if the trial passed
}

// Report is the result of all trials.
type Report struct {
	// Grade is the highest grade that the operations earn. "" means that the operations do not work or
	// return false results, so they earn no grade.
	Grade  core.Grade `json:"grade"`
	Trials []Trial    `json:"trials"`
}

// Earns runs all trials and returns their results. It fails the test, with the reasons, if the operations
// earn a lower grade than want.
func Earns(t testing.TB, ops worker.Operations, probe Probe, want core.Grade) Report {
	t.Helper()
	return judge(t, Find(t, ops, probe), probe, want)
}

func judge(t testing.TB, r Report, probe Probe, want core.Grade) Report {
	t.Helper()
	switch {
	case rank(want) == 0:
		t.Errorf("there is no grade %q; it is fenced, idempotent or plain", want)
	case rank(r.Grade) < rank(want):
		t.Errorf("%s %s", title(probe), r.WhyNot(want))
	default:
		t.Logf("%s earns %s", title(probe), r)
	}
	return r
}

// Find runs all trials and returns their results. It ends the test if a trial cannot run.
func Find(t testing.TB, ops worker.Operations, probe Probe) Report {
	t.Helper()
	queues, err := newQueues("agent-under-test")
	if err != nil {
		t.Fatal(err)
	}
	r, err := find(t.Context(), queues, &ops, probe)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// ErrProbe means that the probe lacks a required field.
var ErrProbe = errors.New("agenttest: the probe needs Do and Effects")

func (p Probe) complete() (Probe, error) {
	if p.Do == "" || p.Effects == nil {
		return p, ErrProbe
	}
	if p.UndoInput == nil {
		p.UndoInput = p.Input
	}
	for _, input := range []json.RawMessage{p.Input, p.UndoInput} {
		if len(input) == 0 {
			continue
		}
		if err := rawjson.Check(input, rawjson.MaxLevels); err != nil {
			return p, fmt.Errorf("agenttest: the input of the probe: %w", err)
		}
	}
	p.Timeout = cmp.Or(p.Timeout, 5*time.Second)
	p.Together = cmp.Or(p.Together, 8)
	p.Between = cmp.Or(p.Between, 50)
	return p, nil
}

// find runs the trials. If operations is nil, the agent is outside.
func find(ctx context.Context, queues *agentQueues, operations *worker.Operations, probe Probe) (r Report, err error) {
	probe, err = probe.complete()
	if err != nil {
		return r, err
	}
	possible := slices.DeleteFunc(slices.Clone(trials), func(tr trial) bool {
		return !tr.possible(probe, operations != nil)
	})
	for i := range possible {
		tr := &possible[i]
		b := newBench(ctx, queues, probe, tr.of.with)
		b.run(tr.steps, operations)
		if b.broken != nil {
			return r, fmt.Errorf("agenttest: %s: %w", tr.name, b.broken)
		}
		r.Trials = append(r.Trials, Trial{Name: tr.name, Rule: tr.rule, For: tr.of.grades, Wrong: b.wrong})
		if probe.Tried != nil {
			probe.Tried(i+1, len(possible))
		}
	}
	if probe.Undo == "" {
		r.Trials = append(r.Trials, Trial{
			Name: "has an undo", Rule: "P20", For: []core.Grade{Fenced},
			Wrong: "there is no undo that could fence; a step without one is idempotent at best",
		})
	}
	for _, g := range []core.Grade{Fenced, Idempotent, Plain} {
		if len(r.failed(g)) == 0 {
			r.Grade = g
			break
		}
	}
	return r, nil
}

func title(p Probe) string {
	if p.Undo == "" {
		return p.Do
	}
	return p.Do + " with " + p.Undo
}

func rank(g core.Grade) int {
	return map[core.Grade]int{Plain: 1, Idempotent: 2, Fenced: 3}[g]
}

func (r Report) failed(g core.Grade) (all []Trial) {
	for _, t := range r.Trials {
		if t.Wrong != "" && slices.Contains(t.For, g) {
			all = append(all, t)
		}
	}
	return all
}

// WhyNot returns the reasons why the operations do not earn the grade, each on a separate line. It returns ""
// if the operations earn the grade.
func (r Report) WhyNot(g core.Grade) string {
	failed := r.failed(g)
	if len(failed) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "is not %s:", g)
	for _, t := range failed {
		fmt.Fprintf(&b, "\n  %s: %s", t.Name, t.Wrong)
	}
	return b.String()
}

// String returns the grade, and the reasons why the operations do not earn the next higher grade.
func (r Report) String() string {
	switch r.Grade {
	case Fenced:
		return string(Fenced)
	case Idempotent:
		return string(r.Grade) + "; it " + r.WhyNot(Fenced)
	case Plain:
		return string(r.Grade) + "; it " + r.WhyNot(Idempotent)
	}
	return "no grade; it " + r.WhyNot(Plain)
}
