package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// submit: P14.
func (m *model) submit(o *message.SubmitOrder) {
	if m.t != nil {
		if !m.t.IsTombstone() && message.ContentHash(*o) != message.HashOf(m.t) {
			m.refuse(o.ReplyTo)
			return
		}
		if !m.direct { // it gets that at once
			m.received()
		}
		m.again()
		return
	}
	if m.expired { // its record has expired (P26)
		m.refuse(o.ReplyTo)
		return
	}
	if o.Deadline != 0 && o.Deadline <= m.now { // nothing is begun that has no time left
		m.refuse(o.ReplyTo)
		return
	}
	m.changed, m.content = true, o.Order
	t := &core.Task{
		OrderID: o.OrderID, Workflow: m.def.Name, Definition: m.def.Hash,
		ReplyTo: o.ReplyTo, ProcessState: core.Processing, Steps: make([]core.Step, len(m.def.Steps)),
	}
	if len(o.Order) <= core.InlineOrder(m.def) {
		t.Order = o.Order
	} else {
		t.ContentHash = message.ContentHash(*o)
	}
	for i := range t.Steps {
		t.Steps[i] = core.Step{Name: m.def.Steps[i].Name, State: core.Pending}
	}
	if m.def.Tokens {
		t.TokenKey = m.key
	}
	m.t = t
	m.received()
	switch {
	case o.Deadline != 0:
		m.deadline(o.Deadline)
	case m.def.Deadline != 0:
		m.deadline(m.now.Add(m.def.Deadline))
	}
	m.started()
	m.advance()
}

// received is the status that the order is there, each time it is submitted (P14).
func (m *model) received() {
	if !m.t.IsTombstone() && m.notifies(core.StatusReceived) {
		m.post('c', "", 0, 0)
	}
}

// refuse notifies the sender, or, without a queue for that, the operator.
func (m *model) refuse(replyTo string) {
	m.refused = true
	switch {
	case m.direct: // the sender has its answer
	case replyTo == shop:
		m.post('f', "", 0, 0)
	default:
		m.post('q', "", 0, 0)
	}
}

func (m *model) deadline(at core.Time) {
	m.t.Deadline = at
	m.t.DeadlineSeq++
}

func (m *model) started() {
	m.t.StartSeq, m.t.StartCause = 0, ""
	if m.notifies(core.StatusStarted) {
		m.t.StatusSeq++
		m.t.StartSeq, m.t.StartCause = m.t.StatusSeq, m.cause
		m.post('t', "", m.t.StartSeq, 0)
	}
}

// command: P5, then P17 and P18.
func (m *model) command(c *message.Control) {
	if m.t == nil {
		if c.Kind != message.Cancel || m.expired {
			m.refuse(c.ReplyTo)
			return
		}
		m.changed = true
		m.t = &core.Task{OrderID: c.OrderID, ProcessState: core.Cancelled, Why: core.WhyCancel,
			CancelAsked: true, Command: 1,
			Ended: m.now, EndCause: "cancel/0",
			Verdicts: []core.Verdict{{ID: c.ID, Command: "cancel", Accepted: true}}}
		return
	}
	if yes, known := m.verdict(c.ID); known {
		m.reported(yes)
		m.again()
		return
	}
	yes, act := m.judge(c)
	if m.ahead {
		return
	}
	m.changed = true
	switch {
	case yes || c.Kind == message.Cancel:
	case c.Command == m.t.Command:
		m.remember(string(c.Kind), c.ID)
	case c.Command <= m.t.Command:
	case len(m.t.Refused["command"]) < mostRefused:
		m.remember("command", c.ID)
	case c.Command-m.t.Command <= 1_000_000: // its number is passed over
		m.t.Command = c.Command + 1
	}
	m.t.Verdicts = lastEight(m.t.Verdicts, core.Verdict{ID: c.ID, Command: string(c.Kind), Accepted: yes})
	m.reported(yes)
	if yes && act != nil {
		m.t.Command++
		act()
	}
}

// mostRefused is how many refused commands of a kind a task remembers in a run.
const mostRefused = 16

// remember: P5, P17, P36: what was refused once stays refused in its run.
func (m *model) remember(kind, id string) {
	refused := maps.Clone(m.t.Refused)
	if refused == nil {
		refused = map[string][]string{}
	}
	all := slices.Clone(refused[kind])
	switch full := len(all) == mostRefused; {
	case full && kind == "cancel":
		return
	case full && kind == "answer":
		all = all[1:]
	case full:
		m.t.Command++
		all = nil
	}
	refused[kind] = append(all, idHash(id))
	m.t.Refused = refused
}

// idHash is what a task remembers of an ID.
func idHash(id string) string {
	sum := sha256.Sum256([]byte(id))
	return base64.RawURLEncoding.EncodeToString(sum[:8])
}

// reported: P5: the sender of a command that came through the queue is notified that it was refused.
func (m *model) reported(yes bool) {
	if !yes && !m.direct && m.t.ReplyTo == shop {
		m.post('v', "", 0, 0)
	}
}

// judge answers whether a command is accepted, and what it does then.
func (m *model) judge(c *message.Control) (yes bool, act func()) {
	t := m.t
	if c.Kind == message.Cancel {
		return m.judgeCancel(c)
	}
	if t.Erased != nil { // P52: it takes no other command
		return c.Kind == message.Erase && c.Command == t.Command, nil
	}
	if c.Command != t.Command || c.Kind == message.Resubmit && c.Deadline != 0 && c.Deadline <= m.now {
		return false, nil
	}
	inError := t.ProcessState == core.Error
	switch c.Kind {
	case message.Undo:
		why := core.WhyOperator
		if t.Phase == core.Undoing {
			why = t.Why
		}
		return inError && !m.pastReturn(), func() { m.turn(why) }
	case message.Resubmit:
		return m.judgeResubmit(c)
	case message.Move:
		if !m.movable(c) {
			return false, nil
		}
		return true, func() {
			m.move(c.Definition)
			m.askOn()
			m.advance()
		}
	case message.Close:
		return inError && m.silent(), func() { m.close(c) }
	case message.Erase:
		return t.Terminal() && t.ResendAt == 0, func() { m.erase(c) }
	}
	i := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.Name == c.Step })
	if !inError || i < 0 || !m.resolvable(i) || c.Fact == core.Happened && t.Phase == core.Undoing &&
		m.def.Steps[i].PointOfNoReturn {
		return false, nil
	}
	if len(c.Output) > 0 && !m.outputStated(i, c) {
		return false, nil
	}
	return true, func() { m.resolve(i, c.Fact, c.Output) }
}

// judgeResubmit: P18, and with a definition P49 in the same command.
func (m *model) judgeResubmit(c *message.Control) (yes bool, act func()) {
	inError := m.t.ProcessState == core.Error
	if !inError && m.t.ProcessState != core.Compensated {
		return false, nil
	}
	moves := c.Definition != "" &&
		(m.target(c.Definition) == nil || m.target(c.Definition).Hash != m.t.Definition)
	if moves && !m.movable(c) {
		return false, nil
	}
	then := *m
	then.t = copyOf(m.t)
	if moves {
		then.move(c.Definition)
	}
	if inError && then.forgotten() || c.Step != "" && !then.correctable(c) {
		return false, nil
	}
	return true, func() {
		if moves {
			m.move(c.Definition)
		}
		switch {
		case !inError:
			m.restart(c)
		case m.t.Phase == core.Undoing:
			m.turn(m.t.Why)
		default:
			m.resume(c)
		}
	}
}

// correctable: P51, what has been asked under a key is asked with another input only where nothing can have
// come of it.
func (m *model) correctable(c *message.Control) bool {
	i := m.def.Index(c.Step)
	if i < 0 || m.def.Steps[i].Agent == "" || m.t.Phase == core.Undoing && m.t.ProcessState == core.Error {
		return false
	}
	s := &m.t.Steps[i]
	remembered := s.Resolved != nil && s.Resolved.Fact == core.Undone && s.Resolved.At > s.ClaimedAt &&
		m.def.Steps[i].Grade != core.Plain
	if m.t.ProcessState == core.Error && (s.State != core.Failed && s.State != core.Pending ||
		s.Attempted() && (!withoutEffect(s) || remembered)) {
		return false
	}
	s.Corrected = m.corrected(c)
	return m.keepsReserve(m.t, c.ID)
}

func (m *model) corrected(c *message.Control) *core.Corrected {
	return &core.Corrected{Input: c.Input, Command: c.Command + 1, By: c.By, Reason: c.Reason, At: m.now}
}

// target is the definition that a command names; nil: there is none.
func (m *model) target(definition string) *core.Definition {
	if definition == message.Latest {
		return m.latest
	}
	for _, d := range m.defs {
		if d.Hash == definition {
			return d
		}
	}
	return nil
}

// movable: P49.
func (m *model) movable(c *message.Control) bool {
	t, to := m.t, m.target(c.Definition)
	state := t.ProcessState
	if to == nil || t.ResendAt != 0 || state != core.Error && state != core.Compensated &&
		state != core.Processing {
		return false
	}
	begun := func(s *core.Step) bool {
		return s != nil && (s.Attempted() || s.State == core.Skipped || s.FailureCode != "")
	}
	for i := range t.Steps {
		s, d := &t.Steps[i], &m.def.Steps[i]
		if s.InFlight() {
			return false
		}
		if state == core.Compensated || !begun(s) {
			continue
		}
		n := to.Index(s.Name)
		if n < 0 {
			return false
		}
		e := &to.Steps[n]
		same := (d.Wait == nil) == (e.Wait == nil) && (d.Fail == nil) == (e.Fail == nil) &&
			slices.Equal(d.AllAgents(), e.AllAgents()) && d.Operation == e.Operation &&
			undoOf(d) == undoOf(e) && d.Grade == e.Grade &&
			d.PointOfNoReturn == e.PointOfNoReturn && d.OnFailure == e.OnFailure
		if (d.Answer == nil) != (e.Answer == nil) || d.Answer != nil && (d.Answer.Event != e.Answer.Event ||
			!slices.Equal(d.Answer.Values, e.Answer.Values) || d.Answer.Refuse != e.Answer.Refuse) {
			return false
		}
		if !same || d.Wait == nil && d.Answer == nil && string(d.Input) != string(e.Input) &&
			!withoutEffect(s) {
			return false
		}
		for _, name := range e.After {
			if !begun(t.Step(name)) {
				return false
			}
		}
	}
	then := *m
	then.t = copyOf(t)
	then.move(c.Definition)
	return m.keepsReserve(then.t, c.ID)
}

func undoOf(d *core.StepDefinition) string {
	if d.Undo == nil {
		return ""
	}
	return d.Undo.Operation
}

// withoutEffect: the service, or the operator, has proven that nothing of the step stands (P22a, Resolve).
func withoutEffect(s *core.Step) bool {
	stated := s.Resolved != nil && s.Resolved.Fact != core.Happened && s.Resolved.At > s.ClaimedAt
	return s.NoEffect != 0 || stated && s.State == core.Compensated || s.First == 0 && s.FailureCode != ""
}

// move: P49. The steps stand in the new order; what was removed leaves its attempts.
func (m *model) move(definition string) {
	t, to := m.t, m.target(definition)
	gone := map[string]int{}
	for name, n := range t.Removed {
		gone[name] = n
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; to.Index(s.Name) < 0 && s.Attempt > 0 {
			gone[s.Name] = s.Attempt
		}
	}
	var steps []core.Step
	for i := range to.Steps {
		s := core.Step{Name: to.Steps[i].Name, State: core.Pending, Attempt: gone[to.Steps[i].Name]}
		if was := t.Step(s.Name); was != nil {
			s = *was
			if d, e := &m.def.Steps[m.def.Index(s.Name)], &to.Steps[i]; (d.Agent == "") != (e.Agent == "") ||
				d.Operation != e.Operation || string(d.Input) != string(e.Input) {
				s.Corrected = nil // P51
			}
		}
		s.Agent = ""
		if s.Answers != nil && s.Answers.RemindedAt != 0 { // P37: no reminder is sent again
			a := *s.Answers
			a.Moved, s.Answers = true, &a
		}
		if s.State == core.Failed && s.First == 0 {
			s.State, s.Error = core.Pending, nil
		}
		delete(gone, s.Name)
		steps = append(steps, s)
	}
	kept := slices.Clone(t.Attempts)
	for i, a := range kept {
		if was := m.def.Index(a.Step); a.Agent == "" && was >= 0 &&
			m.agentIn(to, a.Step) != m.def.Steps[was].Agent {
			kept[i].Agent = m.def.Steps[was].Agent
		}
	}
	t.Attempts = kept
	t.Steps, t.Removed, t.Definition, t.EndCause, m.def = steps, gone, to.Hash, "", to
	switch { // P39
	case !to.Tokens:
		t.TokenKey = ""
	case t.TokenKey == "":
		t.TokenKey = m.key
	}
}

// askOn: P37, an open question of a task that goes forward gets the times of the new definition.
func (m *model) askOn() {
	for i := range m.t.Steps {
		if m.t.ProcessState == core.Processing && m.def.Steps[i].Answer != nil &&
			m.t.Steps[i].State == core.Waiting {
			m.askAgain(i)
		}
	}
}

// agentIn is whom the definition asks for the step.
func (m *model) agentIn(def *core.Definition, step string) string {
	if i := def.Index(step); i >= 0 {
		return def.Steps[i].Agent
	}
	return ""
}

// judgeCancel: P17.
func (m *model) judgeCancel(c *message.Control) (yes bool, act func()) {
	t := m.t
	switch {
	case c.Run > t.Run:
		m.ahead = true
		return false, nil
	case c.Run < t.Run:
		return false, nil
	case t.ProcessState == core.Closed:
		return false, nil
	case t.ProcessState == core.Cancelled || t.CancelAsked:
		return true, nil
	case t.ProcessState == core.Processed || t.Erased != nil:
		return false, nil
	case m.pastReturn():
		m.remember("cancel", c.ID)
		return false, nil
	case len(t.Refused["cancel"]) == mostRefused:
		return false, nil
	}
	return true, func() {
		t.CancelAsked = true
		switch {
		case t.ProcessState == core.Processing:
			t.ProcessState, t.Why = core.Compensating, core.WhyCancel
			m.advance()
		case t.ProcessState == core.Error && t.Phase == core.Forward:
			m.turn(core.WhyCancel)
		case t.ProcessState == core.Compensated:
			m.enter(core.Cancelled, "")
		}
	}
}

// silent: P48, nothing is in flight, and no call can begin any more.
func (m *model) silent() bool {
	for i := range m.t.Steps {
		s := &m.t.Steps[i]
		last := s.LastStop().Add(m.def.Agents[m.def.Steps[i].Agent].ClockSkew)
		if s.InFlight() || s.Attempted() && m.now <= last {
			return false
		}
	}
	return true
}

// close: P48, an end in which the steps stay as they are.
func (m *model) close(c *message.Control) {
	m.t.Closing = &core.Closing{By: c.By, Reason: c.Reason}
	m.enter(core.Closed, "")
}

// erase: P52, what people and services have sent is gone.
func (m *model) erase(c *message.Control) {
	t := m.t
	t.Order, t.Output, m.content = nil, nil, nil
	t.Erased = &core.Erasure{By: c.By, Reason: c.Reason, At: m.now}
	if t.Closing != nil {
		t.Closing = &core.Closing{By: t.Closing.By}
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		s.Output = nil
		if s.Corrected != nil {
			s.Corrected = &core.Corrected{Command: s.Corrected.Command, By: s.Corrected.By,
				At: s.Corrected.At}
		}
		if s.Progress != nil {
			s.Progress = &core.StepProgress{Percent: s.Progress.Percent, At: s.Progress.At}
		}
		if s.Answers != nil {
			a := *s.Answers
			a.Who, a.NotSelf, a.Votes, s.Answers = nil, "", nil, &a
		}
	}
}

// leave takes the task out of its end.
func (m *model) leave(state core.State, why core.Why) {
	t := m.t
	t.ProcessState, t.Phase, t.Why, t.Ended, t.EndCause, t.EndSeq, t.EndCommand, t.ResendAt = state, "", why,
		0, "", 0, 0, 0
}

// turn goes on with the undo: every wait ends (P9a), undo failures count anew.
func (m *model) turn(why core.Why) {
	m.leave(core.Compensating, why)
	for i := range m.t.Steps {
		s := &m.t.Steps[i]
		s.UndoFailures, s.Queued = 0, 0
		unheld(s)
		if waits(s) {
			s.WakeAt, s.CompleteBy = 0, 0
		}
	}
	m.advance()
}

// forgotten: P18, a step in doubt whose key its service may have forgotten.
func (m *model) forgotten() bool {
	for i := range m.t.Steps {
		if m.mayForget(i) {
			return true
		}
	}
	return false
}

func (m *model) mayForget(i int) bool {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	if !waits(s) || !s.Attempted() {
		return false
	}
	timeout := d.Timeout
	if s.Undo {
		timeout = d.Undo.Timeout
	}
	return m.now.Add(timeout) > m.knownUntil(i)
}

// knownUntil is the last moment at which the service of a step knows its key for sure.
func (m *model) knownUntil(i int) core.Time {
	s, agent := &m.t.Steps[i], m.def.Agents[m.def.Steps[i].Agent]
	if agent.KeyRetention == 0 {
		return 1 << 62
	}
	from := cmp.Or(s.FirstClaim(), m.now)
	if s.Resolved != nil {
		if from = max(from, s.Resolved.At); s.Resolved.At > s.ClaimedAt {
			from = m.now
		}
	}
	return from.Add(agent.KeyRetention - agent.ClockSkew)
}

// resume: Resubmit of an Error (forward). The same run, the same keys.
func (m *model) resume(c *message.Control) {
	m.leave(core.Processing, m.t.Why)
	m.t.Hops = 0
	if c.Step != "" { // P51
		m.t.Step(c.Step).Corrected = m.corrected(c)
	}
	m.renew(c)
	m.started()
	for i := range m.t.Steps {
		s := &m.t.Steps[i]
		if s.State == core.Processed && s.FinishSeq == 0 {
			m.notifyFinished(s)
		}
		s.FailureCount, s.UndoFailures, s.Queued = 0, 0, 0
		unheld(s)
		if s.State == core.Failed && !s.Attempted() {
			s.State = core.Pending
		}
	}
	var again []int
	for i := range m.t.Steps {
		s := &m.t.Steps[i]
		switch {
		case s.State == core.Waiting: // P33: every one is looked at first
			m.lookAgain(i)
		case s.State == core.UndoWait: // P42
			m.undo(i)
		case s.Attempted() && (s.State == core.Failed || s.State == core.Pending):
			again = append(again, i)
		}
		if m.t.ProcessState != core.Processing { // an answer is a refusal, or its time was over
			return
		}
	}
	m.forward(again...)
}

// restart: Resubmit of a Compensated order. A new run, new keys, and the attempts go on (P1, P2).
func (m *model) restart(c *message.Control) {
	m.leave(core.Processing, "")
	t := m.t
	t.Run++
	t.Hops, t.DeadlineSeq = 0, 0
	ahead := t.Refused["command"]
	t.Refused = nil
	if len(ahead) > 0 { // its number may come in any later run
		t.Refused = map[string][]string{"command": ahead}
	}
	for i := range t.Steps {
		verdicts := verdictsOf(&t.Steps[i])
		kept := t.Steps[i].Answers != nil
		t.Steps[i] = core.Step{Name: t.Steps[i].Name, State: core.Pending, Attempt: t.Steps[i].Attempt}
		if kept { // P36
			t.Steps[i].Answers = &core.Answers{Round: 1, Verdicts: verdicts}
		}
	}
	if c.Step != "" { // P51
		t.Step(c.Step).Corrected = m.corrected(c)
	}
	m.renew(c)
	m.started()
	m.advance()
}

// renew: P23a, a new deadline or none.
func (m *model) renew(c *message.Control) {
	m.t.Deadline = 0
	if c.Deadline != 0 {
		m.deadline(c.Deadline)
	}
}

// resolvable: in doubt, and no agent can be at work on it.
func (m *model) resolvable(i int) bool {
	s := &m.t.Steps[i]
	return s.State != core.Waiting && m.def.Steps[i].Answer == nil && s.Attempted() && waits(s) &&
		m.now > s.LastStop().Add(m.def.Agents[m.def.Steps[i].Agent].ClockSkew)
}

// outputStated: of a step that becomes Processed, and only what fits.
func (m *model) outputStated(i int, c *message.Control) bool {
	if c.Fact != core.Happened || m.t.Phase == core.Undoing || m.t.Steps[i].State == core.UndoWait {
		return false
	}
	then := m.t.Steps[i]
	defer func() { m.t.Steps[i] = then }()
	m.t.Steps[i].Output = c.Output
	return m.keepsReserve(m.t, c.ID)
}

func (m *model) resolve(i int, fact core.Fact, output json.RawMessage) {
	s := &m.t.Steps[i]
	s.Resolved = &core.Resolved{Fact: fact, Command: m.t.Command, At: m.now}
	undo := m.t.Phase == core.Undoing || s.State == core.UndoWait // P42
	switch {
	case undo && fact == core.Happened:
		s.State = core.UndoWait
	case undo:
		m.end(s, core.Compensated)
	case fact == core.Happened:
		m.finish(i, output)
	default:
		m.proven(s)
	}
}

// sweep is all that the Supervisor has to decide about a task that it has loaded (P16, P23a, P11).
// It answers the rule of the last event that counted, "" where nothing is overdue.
func (m *model) sweep() (rule string) {
	m.sweeping = true
	t := m.t
	going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
	var steps []int
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.CompleteBy != 0 && s.CompleteBy <= m.now && (s.InFlight() || going && waits(s)) {
			steps = append(steps, i)
		}
	}
	late := t.ProcessState == core.Processing && t.Deadline != 0 && t.Deadline <= m.now
	unreported := t.ResendAt != 0 && t.ResendAt <= m.now
	for _, i := range steps {
		if !t.Steps[i].InFlight() && m.backlog(port.Control) {
			continue // its Wake waits there (P32)
		}
		m.overdue(i)
		rule = "P16"
	}
	if late && t.ProcessState == core.Processing {
		m.tooLate()
		rule = "P23a"
	}
	if unreported && t.ResendAt != 0 && t.ResendAt <= m.now {
		t.ResendAt = m.now.Add(m.def.ResendAfter)
		m.post('s', "", 0, 0)
		rule = "P11"
	}
	m.changed = rule != ""
	return rule
}

func (m *model) overdue(i int) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	if s.CompleteBy == 0 || s.CompleteBy > m.now {
		return // what came before has renewed it
	}
	m.cause = "overdue/" + s.Name + "/" + itoa(s.Attempt)
	state := m.t.ProcessState
	switch {
	case s.State == core.Processing && state == core.Processing && s.Progress == nil &&
		m.queueing(d.AskedAgent(s)),
		s.State == core.Compensating && state != core.Error && m.queueing(d.AskedAgent(s)):
		m.queued(i)
	case s.State == core.Processing && state != core.Processing:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		m.end(s, core.Failed)
		if state == core.Compensating {
			m.ask(s)
		}
	case s.State == core.Processing:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		s.FailureCount++
		if s.FailureCount < d.Retry.Budget() {
			m.handBack(i, 0)
			return
		}
		m.end(s, core.Failed)
		if d.OnFailure == core.OnFailureContinue || m.needless(d.Name) {
			m.goOn(i, core.CodeTimeout)
			return
		}
		if d.OnFailure == core.OnFailureStop || m.pastReturn() {
			m.stop(core.Forward)
			return
		}
		m.t.ProcessState, m.t.Why = core.Compensating, core.WhyFailure
		m.ask(s)
	case s.State == core.Compensating:
		m.ended(i, core.OutcomeOverdue, core.CodeTimeout)
		m.undoFailed(i, 0)
	case state == core.Processing || state == core.Compensating:
		m.ask(s)
	}
}

// ask leaves a time and wakes the Scheduler at once.
func (m *model) ask(s *core.Step) {
	s.CompleteBy = m.now.Add(m.def.Grace)
	m.post('w', s.Name, s.Attempt, 0)
}

// queueing: the request, or its reply, may still wait (P32).
func (m *model) queueing(agent string) bool {
	return m.backlog(port.Requests(agent)) || m.backlog(port.Replies)
}

// queued: P32, handed back uncounted.
func (m *model) queued(i int) {
	s, d := &m.t.Steps[i], &m.def.Steps[i]
	undo := s.State == core.Compensating
	m.ended(i, core.OutcomeOverdue, core.CodeQueue)
	s.Queued += m.now.Sub(s.ClaimedAt)
	s.Allowance = min(max(s.Allowance, 1)*2, d.MaxQueueTime-s.Queued)
	if s.Queued >= d.MaxQueueTime {
		s.Allowance = 0
		state := core.Failed
		if undo {
			state = core.UndoWait
		}
		m.end(s, state)
		m.stop(m.direction())
		return
	}
	if undo {
		m.wait(i, core.UndoWait, 0, 0)
		return
	}
	m.t.Hops = max(0, m.t.Hops-1)
	m.wait(i, core.Pending, 0, 0)
}

// tooLate: P23a.
func (m *model) tooLate() {
	m.cause = "deadline/" + itoa(m.t.Run) + "/" + itoa(m.t.DeadlineSeq)
	if m.def.OnDeadline != core.OnFailureUndo || m.pastReturn() {
		m.stop(core.Forward)
		return
	}
	m.t.ProcessState, m.t.Why = core.Compensating, core.WhyDeadline
	for i := range m.t.Steps {
		if s := &m.t.Steps[i]; s.State == core.Pending && s.Attempted() || s.State == core.Waiting {
			m.ask(s)
		}
	}
	m.post('w', "", 0, 0)
}
