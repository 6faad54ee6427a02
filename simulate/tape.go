package simulate

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Choice is one choice that was not the plain course.
type Choice struct {
	At    string `json:"at"` // site
	Of    string `json:"of,omitempty"`
	Nth   int    `json:"nth"`
	Value int    `json:"value"`
	// for people; of a fault its name, which counts instead of the number
	What string `json:"what,omitempty"`
}

// Tape is a run as a list of the choices that matter; all others are the plain course. It outlives
// changes of the code, which a seed does not.
type Tape struct {
	Schema   int               `json:"schema"` // 1
	Note     string            `json:"note,omitempty"`
	Workflow json.RawMessage   `json:"workflow,omitempty"` // the compiled definition
	Children []json.RawMessage `json:"children,omitempty"` // those of its child orders, and of theirs
	Services Services          `json:"services,omitempty"`
	Order    json.RawMessage   `json:"order,omitempty"` // the content of every order
	// the document of the one order, as it stands when the run begins
	Task      json.RawMessage `json:"task,omitempty"`
	At        core.Time       `json:"at,omitempty"`        // when that is, in Unix milliseconds
	Invariant string          `json:"invariant,omitempty"` // that it broke when it was recorded
	Choices   []Choice        `json:"choices"`
	// Scope is the small world of an exploration, and Path what happens there, step by step, instead.
	Scope string   `json:"scope,omitempty"`
	Path  []action `json:"path,omitempty"`
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

// ParseTape reads a tape.
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

// Player plays a tape's choices.
type Player struct{ at map[Point]Choice }

// NewPlayer gives the chooser of some choices.
func NewPlayer(choices []Choice) *Player {
	p := &Player{at: make(map[Point]Choice, len(choices))}
	for _, c := range choices {
		p.at[Point{c.At, c.Of, c.Nth}] = c
	}
	return p
}

// Choose looks the choice up.
func (p *Player) Choose(at Point, n int, _ float64) int {
	c, ok := p.at[at]
	if !ok {
		return 0
	}
	if i := slices.Index(actNames(at.Site), c.What); i >= 0 {
		return min(i+1, n-1)
	}
	return min(c.Value, n-1)
}
