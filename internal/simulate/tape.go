package simulate

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// NewTape returns the tape of a run.
func NewTape(sc Scenario, choices []Choice, v *Violation) *Tape {
	t := &Tape{Schema: 1, Services: sc.Services, Order: sc.Order, Answers: sc.Answers, Choices: choices}
	if b := sc.Begun; b != nil {
		t.At = b.At
		t.Task, _ = state.EncodeTask(b.Task) // EncodeTask cannot fail for a stored task
	}
	if data, err := workflow.Encode(sc.Definition); err == nil {
		t.Workflow = data
	}
	for _, d := range sc.Definition.WithChildren()[1:] {
		if data, err := workflow.Encode(d); err == nil {
			t.Children = append(t.Children, data)
		}
	}
	if v != nil {
		t.Invariant = v.Invariant
		t.Note = v.Text
	}
	return t
}

// Scenario returns the scenario of the recorded run. If def is not nil, it takes the place of the recorded workflow,
// whose name it must have.
func (t *Tape) Scenario(def *core.Definition) (Scenario, error) {
	all, err := sealedAll(append([]json.RawMessage{t.Workflow}, t.Children...))
	if err != nil {
		return Scenario{}, fmt.Errorf("the workflow of the tape: %w", err)
	}
	if def == nil {
		def = all[0]
	} else if def.Name != all[0].Name {
		return Scenario{}, fmt.Errorf("the tape was recorded of the workflow %s, and the file has the workflow %s",
			all[0].Name, def.Name)
	}
	sc := Scenario{Definition: def, Services: t.Services, Order: t.Order, Answers: t.Answers}
	if t.Task == nil {
		return sc, nil
	}
	task, err := state.DecodeTask(t.Task)
	if err != nil {
		return Scenario{}, fmt.Errorf("the order of the tape: %w", err)
	}
	sc.Begun = &Begun{Task: task, At: t.At}
	sc.Orders = 1
	return sc, nil
}

// Play runs the tape, and records the story. Scenario tells what def is.
func (t *Tape) Play(def *core.Definition) (Scenario, Result, error) {
	sc, err := t.Scenario(def)
	if err != nil {
		return sc, Result{}, err
	}
	return sc, Tell(sc, NewPlayer(t.Choices)), nil
}

// Tape records a run as a list of the choices that are not 0. The choice 0 means no fault and no delay.
// Unlike a seed, a tape usually stays valid when the code changes.
type Tape struct {
	Schema   int               `json:"schema"` // always 1
	Note     string            `json:"note,omitempty"`
	Workflow json.RawMessage   `json:"workflow,omitempty"` // compiled definition
	Children []json.RawMessage `json:"children,omitempty"` // definitions of child orders at all levels
	Services Services          `json:"services,omitempty"`
	Order    json.RawMessage   `json:"order,omitempty"` // content of every order
	// answers by the name of the step
	Answers map[string]json.RawMessage `json:"answers,omitempty"`
	// document of the order Scenario.Begun; absent if the scenario has none
	Task      json.RawMessage `json:"task,omitempty"`
	At        core.Time       `json:"at,omitempty"`        // start of the run; 0 if Task is absent
	Invariant string          `json:"invariant,omitempty"` // invariant that the recorded run broke
	Choices   []Choice        `json:"choices"`
}

// ReadTape reads a tape from a file.
func ReadTape(file string) (*Tape, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the tape: %w", err)
	}
	t, err := ParseTape(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return t, nil
}

// ParseTape parses a tape.
func ParseTape(data []byte) (*Tape, error) {
	t := &Tape{}
	if err := json.Unmarshal(data, t); err != nil {
		return nil, fmt.Errorf("this is no tape, or a damaged one: %w", err)
	}
	if t.Schema != 1 {
		return nil, fmt.Errorf("the tape has schema %d; this program reads schema 1", t.Schema)
	}
	for _, c := range t.Choices {
		if c.At == "" || c.Nth < 1 || c.Value < 1 {
			return nil, fmt.Errorf("the tape is damaged: a choice %+v is none", c)
		}
	}
	return t, nil
}

// Write writes the tape to a file.
func (t *Tape) Write(file string) error {
	data, err := json.MarshalIndent(t, "", " ")
	if err != nil {
		return fmt.Errorf("write the tape: %w", err)
	}
	return os.WriteFile(file, append(data, '\n'), 0o600)
}
