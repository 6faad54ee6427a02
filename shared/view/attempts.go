package view

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Attempt is an attempt that did not end with the outcome done.
type Attempt struct {
	Step      string         `json:"step"`
	Number    int            `json:"attempt"`
	Operation core.Operation `json:"operation" enum:"do,undo"`
	Agent     string         `json:"agent"`
	Began     core.Time      `json:"began"`
	Ended     core.Time      `json:"ended" doc:"time when the end of the attempt was counted"`
	Outcome   core.Outcome   `json:"outcome" enum:"failed,retry-later,overdue,superseded" doc:"overdue: no reply came in time; superseded: the step was undone before a reply came"`
	Code      string         `json:"code,omitempty" doc:"short, stable word for programs"`
}

// Earlier counts the unsuccessful attempts that are too old to be listed.
type Earlier struct {
	Failed     int `json:"failed,omitempty"`
	RetryLater int `json:"retryLater,omitempty"`
	Overdue    int `json:"overdue,omitempty"`
	Superseded int `json:"superseded,omitempty"`
}

func attemptsOf(t *protocol.Task, def *core.Definition) (list []Attempt, earlier *Earlier) {
	for _, a := range t.Attempts.Last {
		v := Attempt{
			Step: a.Step, Number: a.Number, Operation: core.Do, Agent: a.Agent, Began: a.Began,
			Ended: a.Ended, Outcome: a.Outcome, Code: a.Code,
		}
		if d := definitionOf(def, a.Step); v.Agent == "" && d != nil {
			v.Agent = d.Agent
		}
		if a.Undo {
			v.Operation = core.UndoOp
		}
		list = append(list, v)
	}
	if e := t.Attempts.Earlier; e != (protocol.Earlier{}) {
		earlier = &Earlier{
			Failed: e.Failed, RetryLater: e.Later, Overdue: e.Overdue,
			Superseded: e.Superseded,
		}
	}
	return list, earlier
}
