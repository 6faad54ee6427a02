package check

import (
	"fmt"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/workflows"
)

// answers checks a step that waits for an answer, after every commit (P35, an answer decides a round; P36,
// answers may come early, late or twice).
func (m *move) answers(was, s *protocol.Step) {
	m.did("P35", "P36")
	if s.Failures.Do > 0 || s.InFlight() {
		m.fail("P35", "step %s is answered, and is %s with %d failures", s.Name, s.State, s.Failures.Do)
	}
	for _, v := range verdictsOf(s) {
		if v.ID == "" { // the step's claim has removed the vote and its ID
			continue
		}
		if yes, known := m.o.Seen.Answered[v.ID]; known && yes != v.Accepted {
			m.fail("P36", "answer %s got the verdict %v, and now %v", v.ID, yes, v.Accepted)
		}
		m.o.Seen.Answered[v.ID] = v.Accepted
	}
	if s.Answers == nil || m.before.Definition != m.after.Definition || m.after.Erased != nil {
		return
	}
	round := fmt.Sprintf("%s/%d/%d", s.Name, m.after.Run, s.Answers.Round)
	d, decided := DecidedOf(s)
	if text := string(d.Value) + " by " + d.By; decided {
		if first, known := m.o.Seen.Decisions[round]; known && first != text {
			m.fail("P35", "round %s was decided as %s, and now as %s", round, first, text)
		}
		m.o.Seen.Decisions[round] = text
	} else if first, known := m.o.Seen.Decisions[round]; known {
		m.fail("P35", "round %s was decided as %s, and is open", round, first)
	}
	if i := m.def.Index(s.Name); decided && s.State == core.Processed && m.def.Steps[i].Answer.Refuse != "" {
		refused, err := m.def.Expr.Refused(i, core.Environment{Value: d.Value})
		if err == nil && refused && d.By != protocol.ByTimeout {
			m.fail("P35", "step %s is Processed, and %s refuses it", s.Name, d.Value)
		}
	}
	if s.State == core.Processed && !decided {
		m.fail("P35", "step %s is Processed, and nothing was decided", s.Name)
	}
	m.attempts(was, s)
	m.votes(was, s, decided)
	m.decidedInTime(was, s, &d, decided)
}

// attempts checks the rounds that refused answers have opened: each by one, only while there are attempts, in the same
// time.
func (m *move) attempts(was, s *protocol.Step) {
	most := max(1, m.def.Steps[m.def.Index(s.Name)].Answer.Attempts)
	if s.Answers.Refused >= most && !m.o.Seen.Moved {
		m.fail("P35", "step %s has opened %d rounds after refusals, and has %d attempts", s.Name, s.Answers.Refused, most)
	}
	if was.Answers == nil || was.Attempt != s.Attempt || m.before.Run != m.after.Run || was.State != core.Waiting {
		return
	}
	if more := s.Answers.Refused - was.Answers.Refused; more < 0 || more != s.Answers.Round-was.Answers.Round {
		m.fail("P35", "step %s went from round %d to %d, with %d refusals and before %d", s.Name, was.Answers.Round,
			s.Answers.Round, s.Answers.Refused, was.Answers.Refused)
	}
	if s.State == core.Waiting && s.Wait.Until != was.Wait.Until {
		m.fail("P37", "the time of step %s was %s and is %s", s.Name, was.Wait.Until, s.Wait.Until)
	}
}

// passed checks the decision of a child by an answer that its parent has passed on (invariant 26). One child takes it,
// and a child that began with an answer does not wait in vain.
func (m *move) passed(s *protocol.Step) {
	d, decided := DecidedOf(s)
	if m.before != nil {
		if _, before := DecidedOf(m.was(s.Name)); before {
			return
		}
	}
	if m.after.Parent == nil || !decided {
		return
	}
	parent := m.w.ByID[m.after.Parent.OrderID]
	if parent == nil {
		return
	}
	m.did("26")
	taker := fmt.Sprintf("%s, run %d", m.after.OrderID, m.after.Run)
	switch other := parent.Seen.Passed[string(d.Value)]; {
	case d.By == workflows.Passer && other != "" && other != taker:
		m.fail("26", "it takes the answer %s, which %s has taken", d.Value, other)
	case d.By == workflows.Passer:
		parent.Seen.Passed[string(d.Value)] = taker
	case d.By == protocol.ByTimeout && m.after.Run == 0 && m.w.Room.Limit == 0 &&
		parent.Seen.Carried[m.after.OrderID] > s.Answers.Refused:
		m.fail("26", "step %s has waited in vain, and the order began with %d answers", s.Name,
			parent.Seen.Carried[m.after.OrderID])
	}
}

// votes checks that no accepted answer is lost, and that each person has at most one vote (P35, P36). The
// claim of the step may remove the votes of people who may not answer.
func (m *move) votes(was, s *protocol.Step, decided bool) {
	if was.Answers == nil || was.Answers.Round != s.Answers.Round || m.before.Run != m.after.Run {
		return
	}
	people := map[string]bool{}
	for _, v := range s.Answers.Votes {
		if people[v.By] && v.Passed == "" {
			m.fail("P35", "%s has two votes on step %s", v.By, s.Name)
		}
		people[v.By] = true
	}
	if m.def.Steps[m.def.Index(s.Name)].Answer.Event != "" && decided {
		return // the output of the step holds the value
	}
	for _, v := range was.Answers.Votes {
		if !people[v.By] && (was.Answers.Need > 0 || s.Answers.Excludes(v.By) == "") {
			m.fail("P36", "the answer of %s to step %s is lost", v.By, s.Name)
		}
	}
}

// decidedInTime checks that a step gets its timeoutValue only after its timeout (P37, a question has a time).
// When no faults occur, the step must get the value soon after the timeout.
func (m *move) decidedInTime(was, s *protocol.Step, d *protocol.Decided, decided bool) {
	if _, before := DecidedOf(was); !decided || before || was.State != core.Waiting {
		return
	}
	m.did("P37")
	at := was.Wait.At
	if people := strings.Split(d.By, ", "); d.By != protocol.ByTimeout && len(people) < s.Answers.Need {
		m.fail("P35", "step %s is decided by %s, and needs %d people", s.Name, d.By, s.Answers.Need)
	}
	switch {
	case d.By == protocol.ByTimeout && core.Time(m.w.Start+m.w.Now+m.w.Skew()) < at:
		m.fail("P37", "the time for an answer to step %s was over at %s by the true time, and it is "+
			"waited for until %s", s.Name, core.Time(m.w.Start+m.w.Now), at)
	case d.By == protocol.ByTimeout && m.w.Quiescing && m.w.Driver == nil &&
		m.before.ProcessState == core.Processing:
		m.prompt(s, at)
	}
}
