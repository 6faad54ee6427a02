package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Service says what the remote service behind an agent truly is. What is left out is as the
// workflow declares it.
type Service struct {
	// Grade is what it offers: fenced, idempotent or plain; "": what each step declares.
	Grade core.Grade `json:"grade,omitempty"`
	// NoUndo: it refuses every undo, so that the operator has to do it by hand.
	NoUndo bool `json:"noUndo,omitempty"`
	// Latency is how long a call takes at least, SlowLatency now and then; milliseconds.
	Latency     core.Duration `json:"latency,omitempty"`
	SlowLatency core.Duration `json:"slowLatency,omitempty"`
	// Failures is the share of calls that fail for a while, Refusals those that fail for good; 0 to 1.
	Failures float64 `json:"failures,omitempty"`
	Refusals float64 `json:"refusals,omitempty"`
	// Forgets is how long it remembers keys; 0: what the agent declares.
	Forgets core.Duration `json:"forgets,omitempty"`
	// Check: it can be asked whether an operation has happened.
	Check bool `json:"check,omitempty"`
}

// Services are the services by agent.
type Services map[string]Service

// service is what a remote service knows of one key, and what is true of it.
type service struct {
	key     string
	order   string
	run     int
	step    string
	grade   core.Grade
	applied int   // effects that began
	net     int   // effects that stand
	known   bool  // it remembers that it did the key
	fenced  bool  // it refuses a later do
	undone  bool  // an undo has happened, or was answered
	since   int64 // when it did last what it remembers of the key
	pending int   // calls that may still land
	adrift  int   // those of them whose callers have given up
	proven  int   // the last attempt that was answered noEffect (P22a)
}

func (w *simulation) service(c worker.Call, agent string) *service {
	s := w.services[c.Key]
	if s == nil {
		s = &service{key: c.Key, order: c.OrderID, run: c.Run, step: c.Step, grade: c.Grade}
		if g := w.sc.Services[agent].Grade; g != "" {
			s.grade = g
		}
		w.services[c.Key] = s
	}
	return s
}

var errGone = errors.New("the connection broke; the outcome is not certain")

// operation is how an agent calls its service.
func (w *simulation) operation(p *process) worker.Operation {
	op := worker.Operation{Run: func(ctx context.Context, c worker.Call) (any, error) {
		return w.cur.callService(ctx, c)
	}}
	if w.conf(p.agent).Check {
		op.Check = func(_ context.Context, c worker.Call) (bool, any, error) {
			w.cur.pause(2)
			s, a := w.service(c, p.agent), &w.cur.agency
			a.checked, a.happened = true, s.applied > 0
			if c.Operation == core.UndoOp {
				a.happened = s.undone || w.traits[p.agent].standing && s.grade == core.Plain && s.net == 0
			}
			return a.happened, w.output(p.agent, c), nil
		}
	}
	return op
}

// conf is what the service behind an agent is in this world: as its user says, or as drawn.
func (w *simulation) conf(agent string) Service { return w.traits[agent].Service }

// trait is what a world draws for a service that its user says nothing of.
type trait struct {
	Service
	size      int  // of its outputs, in steps of w.room
	output    int  // 1: none; 2, 3: now and then too large, or no JSON (P28)
	forgetful bool // it forgets keys as soon as it may
	serial    bool // its agent takes one request at a time (P32)
	standing  bool // a plain one that, asked about an undo, only knows whether anything stands
}

// character draws what the services are like.
func (w *simulation) character(agent string) {
	s, said := w.sc.Services[agent]
	t := trait{Service: s}
	if w.room.Limit > 0 {
		t.size = w.choose("size", agent, len(sizes), 0.7)
	}
	if !said {
		if w.room.Failing {
			t.Failures = 0.5
		}
		if w.enabled[KeyForgotten] && w.agent(agent).KeyRetention > 0 {
			t.forgetful = w.choose("forgetful", agent, 2, 0.6) == 1
		}
		t.Check = w.choose("check", agent, 2, 0.15) == 1
		t.standing = t.Check && w.choose("standing", agent, 2, 0.5) == 1
		if w.enabled[Contradictory] {
			t.output = w.choose("output", agent, 4, 0.15)
		}
		if w.enabled[Concurrency] && w.choose("slow", agent, 2, 0.1) == 1 {
			t.serial, t.Latency = true, core.Day
			for _, d := range w.allSteps() {
				if slices.Contains(d.AllAgents(), agent) {
					t.Latency = min(t.Latency, d.Timeout/2)
				}
			}
		}
	}
	w.traits[agent] = t
}

var huge = json.RawMessage(`"` + strings.Repeat("x", worker.MaxOutput) + `"`)

func (w *simulation) output(agent string, c worker.Call) any {
	if c.Operation == core.UndoOp {
		return nil
	}
	if o := w.traits[agent].output; o == 1 {
		return nil
	} else if o > 1 && w.choose("unusable", c.Key, 2, 0.2) == 1 {
		if o == 2 {
			return huge
		}
		return json.RawMessage("{")
	}
	seen := ""
	if bytes.Contains(c.Input, []byte(`"link"`)) { // a service may repeat what it was sent (P39)
		seen = `,"seen":` + string(c.Input)
	}
	return json.RawMessage(`{"key":"` + c.Key + `"` + seen + sizes[w.traits[agent].size] + `}`)
}

// callService is one call over the network.
func (iv *invocation) callService(ctx context.Context, c worker.Call) (out any, err error) {
	w := iv.w
	s, conf := w.service(c, iv.p.agent), w.conf(iv.p.agent)
	iv.calls(c)
	defer func() { iv.agency.outcome = shown(err) }()
	site := callDo
	if c.Operation == core.UndoOp {
		site = callUndo
	}
	if err := iv.works(ctx, c); err != nil {
		return nil, err
	}
	left := c.Deadline.Sub(iv.p.Now()).Milliseconds()
	takes := w.takes(conf, c.Key, left)
	if takes > left && !w.quiescing || int64(conf.Latency) > left {
		return w.tooLong(iv, s, c, left, takes)
	}
	s.pending++
	iv.pause(takes)
	cut := iv.io(site, c.Key, func(f Fault) error {
		out, err = w.land(iv, s, c, conf, f)
		return nil
	})
	s.pending--
	if cut != nil {
		return nil, cut
	}
	return out, err
}

// works is long work (P43): it reports, or reports too late or no more, or hands the work on. What comes then
// is the last call of it.
func (iv *invocation) works(ctx context.Context, c worker.Call) error {
	w := iv.w
	d := w.longStep(c)
	if d == nil || w.quiescing {
		return nil
	}
	for n := w.choose("works", c.Key, 8, 0.6); n > 0; n-- {
		pause := int64(d.Timeout) / 3
		if w.sc.Only == nil && w.choose("silent", c.Key, 2, 0.1) == 1 { // which is no restart
			pause = w.spread("silent", c.Key+"/for", int64(d.MaxDuration))
		}
		if left := c.Deadline.Sub(iv.p.Now()).Milliseconds(); pause >= left {
			iv.pause(max(left, 0) + 1)
			return worker.WithCode(context.DeadlineExceeded, "timeout")
		}
		iv.pause(pause)
		_ = worker.Progress(ctx, 100-10*n, "works")
		if iv.dead {
			return errGone
		}
	}
	if left := c.Deadline.Sub(iv.p.Now()).Milliseconds(); w.driver == nil && left > 0 &&
		w.choose("defers", c.Key, 2, 0.3) == 1 {
		return w.deferred(iv, c, w.spread("defers", c.Key+"/for", left))
	}
	return nil
}

// deferred is a call whose work goes on elsewhere, and is replied to from there; now and then not at all.
func (w *simulation) deferred(iv *invocation, c worker.Call, after int64) error {
	s, agent := w.service(c, iv.p.agent), iv.p.agent
	within := time.Duration(0)
	if w.choose("within", c.Key, 2, 0.5) == 1 {
		within = time.Duration(w.spread("within", c.Key+"/for", 2*after)) * time.Millisecond
	}
	lost := w.sc.Only == nil && w.choose("deferred", c.Key, 2, 0.1) == 1 // as above
	s.pending++
	w.after(after, func() {
		s.pending--
		if lost {
			return
		}
		w.trace("service", "", "does what was deferred: "+c.Key)
		r := &message.Reply{Schema: message.Schema, OrderID: c.OrderID, Run: c.Run, Step: c.Step,
			Attempt: c.Attempt, Agent: agent, Operation: core.Do, Outcome: core.OutcomeDone}
		if err := w.effect(s, c); err != nil {
			r.Outcome, r.Error = core.OutcomeFailed, &message.ReplyError{Code: "fenced"}
		}
		w.queues[port.Replies].put(port.Message{Value: r}, 0)
	})
	return worker.Deferred(within)
}

// longStep is the step of a call that may take longer than its timeout.
func (w *simulation) longStep(c worker.Call) *core.StepDefinition {
	t := w.store.task(c.OrderID)
	if t == nil || c.Operation == core.UndoOp {
		return nil
	}
	if _, d := w.stepOf(t, c.Step); d != nil && d.MaxDuration > 0 {
		return d
	}
	return nil
}

// shown is what the caller knows after a call.
func shown(err error) outcome {
	f := (*worker.Failure)(nil)
	switch {
	case err == nil:
		return happenedIt
	case !errors.As(err, &f) || !f.NoEffect:
		return inTheDark
	case f.Permanent:
		return refusedIt
	}
	return laterIt
}

// takes is how long a call is under way.
func (w *simulation) takes(conf Service, key string, left int64) int64 {
	d := int64(conf.Latency)
	if d == 0 && w.driver != nil {
		return 0
	}
	if d == 0 {
		d = min(20, left/2)
	}
	if conf.SlowLatency > 0 && !w.quiescing && w.choose("slow", key, 2, 0.1) == 1 {
		d = int64(conf.SlowLatency)
	}
	return d
}

// tooLong is a call that the caller gives up: of a service with a fence it may land later, any
// other one is cut at its end (the longest call that its author declares).
func (w *simulation) tooLong(iv *invocation, s *service, c worker.Call, left, takes int64) (any, error) {
	w.landLater(s, c, takes)
	iv.pause(max(left, 0) + 1)
	return nil, worker.WithCode(context.DeadlineExceeded, "timeout")
}

// landLater lets a call of a service with a fence land at any time.
func (w *simulation) landLater(s *service, c worker.Call, d int64) {
	if s.grade != core.Fenced || c.Grade != core.Fenced {
		return
	}
	s.pending++
	s.adrift++
	if w.driver != nil {
		w.driver.landings = append(w.driver.landings, landing{string(c.Operation) + " " + c.Key, c})
		return
	}
	w.after(d, func() { w.lands(s, c) })
}

// lands is such a call that arrives.
func (w *simulation) lands(s *service, c worker.Call) {
	s.pending--
	s.adrift--
	w.trace("service", "", "a call whose caller has given up lands: "+string(c.Operation)+" "+c.Key)
	_ = w.effect(s, c) // no caller gets the answer
}

// land is the call at the service.
func (w *simulation) land(iv *invocation, s *service, c worker.Call, conf Service, f Fault) (any, error) {
	if c.Grade != core.Fenced && !iv.p.Now().Before(c.Deadline) {
		return nil, worker.WithCode(context.DeadlineExceeded, "timeout") // the connection was closed before
	}
	w.forget(s, c, conf, f)
	switch {
	case f == Hang || w.now < w.outages[iv.p.agent] && !w.quiescing:
		w.hang(iv, s, c, f == Hang)
		return nil, worker.WithCode(context.DeadlineExceeded, "timeout")
	case f == BreakerOpen:
		w.trace("service", iv.p.name, "is not called, the circuit breaker is open: "+c.Key)
		return nil, worker.NoEffect(worker.WithCode(errors.New("the circuit breaker is open"),
			core.CodeBreakerOpen))
	case f == CredentialExpired || w.now < w.expired[iv.p.agent] && !w.quiescing:
		return nil, w.unauthorized(iv, c, f == CredentialExpired)
	case f == NotYet || w.now < w.coming[c.Key] && !w.quiescing:
		return nil, w.notYet(iv, c, f == NotYet)
	case f == PermanentFailure && w.choose("refusal", c.Key, 4, 0.5) > 0:
		return nil, w.refusal(c.Key)
	case f == PermanentFailure, conf.Refusals > 0 && !w.quiescing &&
		w.choose("refuses", c.Key, 2, conf.Refusals) == 1,
		conf.NoUndo && c.Operation == core.UndoOp:
		w.trace("service", iv.p.name, "refuses "+string(c.Operation)+" "+c.Key)
		return nil, worker.NoEffect(worker.Permanent(w.complaint("refused")))
	case conf.Failures > 0 && !w.quiescing && w.choose("fails", c.Key, 2, conf.Failures) == 1:
		w.trace("service", iv.p.name, "fails for a while: "+c.Key)
		return nil, worker.NoEffect(worker.Transient(w.complaint("overloaded")))
	}
	err := w.effect(s, c)
	if err != nil {
		return nil, err
	}
	switch f {
	case ReplyLost:
		w.trace("service", iv.p.name, "does it, and the reply is lost: "+c.Key)
		if w.long {
			w.outage(iv.p.agent)
		}
		return nil, errGone
	case Contradictory:
		w.trace("service", iv.p.name, "does it, and says that it failed: "+c.Key)
		return nil, worker.Permanent(w.complaint("failed"))
	}
	return w.output(iv.p.agent, c), nil
}

// hang is a call that does not end while its caller waits. It may land all the same: before the
// caller gives up, or, at a service with a fence, at any time. Now and then the service hangs for
// all callers, for hours.
func (w *simulation) hang(iv *invocation, s *service, c worker.Call, begins bool) {
	w.trace("service", iv.p.name, "hangs: "+c.Key)
	if begins {
		w.outage(iv.p.agent)
	}
	if !begins || w.choose("lands", c.Key, 2, 0.5) == 0 {
		w.landLater(s, c, 1000+w.spread("lands", c.Key+"/late", 30*60_000))
	} else {
		_ = w.effect(s, c)
	}
	iv.pause(max(c.Deadline.Sub(iv.p.Now()).Milliseconds(), 0) + 1)
}

// unauthorized is a call that the service refuses, since the agent's credentials have expired: for all of
// its calls, until the operator has renewed them.
func (w *simulation) unauthorized(iv *invocation, c worker.Call, begins bool) error {
	if begins && w.driver == nil { // of which a state of the exploration knows nothing
		w.expired[iv.p.agent] = w.now + 10_000*(1+w.spread("expired", iv.p.agent, 120))
		w.trace("service", "", "the credentials of "+iv.p.agent+" have expired, for "+
			seconds(w.expired[iv.p.agent]-w.now).String())
	}
	w.trace("service", iv.p.name, "does not accept the credentials: "+c.Key)
	err := worker.Unauthorized(errors.New("the credentials are not accepted"))
	if w.choose("expired", c.Key+"/how", 2, 0.5) == 1 {
		return worker.RetryAfter(err, time.Duration(1+w.spread("retry-after", c.Key, 2400))*time.Second)
	}
	return err
}

// notYet is a call for what cannot be done yet: this one, or all of its key for a while (P45).
func (w *simulation) notYet(iv *invocation, c worker.Call, begins bool) error {
	if begins && w.driver == nil { // of which a state of the exploration knows nothing
		w.coming[c.Key] = w.now + 10_000*w.spread("coming", c.Key, 40)
	}
	w.trace("service", iv.p.name, "says not yet: "+c.Key)
	return worker.NotYet(time.Duration(w.spread("retry-after", c.Key, 120)) * time.Second)
}

// outage: now and then a service hangs for all callers, for a while or for hours.
func (w *simulation) outage(agent string) {
	odds := 0.1
	if w.long {
		odds = 0.5
	}
	if w.choose("outage", agent, 2, odds) == 1 {
		w.outages[agent] = w.now + 60_000*(1+w.spread("outage", agent+"/long", 240))
		w.trace("service", "", "the service behind "+agent+" hangs for all callers, for "+
			seconds(w.outages[agent]-w.now).String())
	}
}

// refusal is a failure without effect, said in one of the ways that services have.
func (w *simulation) refusal(key string) error {
	err := w.complaint("not now")
	switch w.choose("refusal", key+"/how", 3, 0.6) {
	case 0:
		return worker.NoEffect(worker.Transient(err))
	case 1:
		return worker.NoEffect(worker.RetryAfter(err,
			time.Duration(1+w.spread("retry-after", key, 2400))*time.Second))
	}
	if w.choose("refusal", key+"/code", 2, 0.5) == 1 { // a permanent failure, whatever its code
		err = worker.WithCode(err, core.CodeUnauthorized)
	}
	return worker.Permanent(err) // it proves nothing
}

// retention is how long the service of a step remembers keys, 0: for ever.
func (w *simulation) retention(agent string) int64 {
	if f := w.conf(agent).Forgets; f > 0 {
		return int64(f)
	}
	return int64(w.agent(agent).KeyRetention)
}

// kept is the longest retention there is.
func (w *simulation) kept() (most int64) {
	for _, a := range w.agents {
		most = max(most, w.retention(a))
	}
	return most
}

// forget takes a key out of the service's memory, once it may: its retention counts from what it did
// last, since a refusal is not remembered. A call that lands after its caller has given it up finds the
// key all the same: keys and fences are kept for longer than any call lasts, which is what their
// author declares (docs/protocol.md, section 7).
func (w *simulation) forget(s *service, c worker.Call, conf Service, f Fault) {
	_, step := w.stepOf(w.store.task(c.OrderID), c.Step)
	agent := step.Agent
	kept := w.retention(agent)
	if late := !w.cur.p.Now().Before(c.Deadline); late || kept == 0 || w.now-s.since <= kept ||
		s.adrift > 0 || !s.known && !s.fenced {
		return
	}
	if f == KeyForgotten || conf.Forgets > 0 || w.traits[agent].forgetful {
		s.known, s.fenced = false, false
		w.Hits[KeyForgotten]++
		w.trace("service", "", "has forgotten the key: "+c.Key)
	}
}

// effect carries out a call that has arrived.
func (w *simulation) effect(s *service, c worker.Call) error {
	if t := w.store.task(s.order); t != nil && t.ProcessState == core.Closed && t.Run == s.run &&
		s.grade != core.Fenced {
		w.checks.did("P48")
		w.violate("P48", "a call of %s takes effect after its order was closed", s.key)
	}
	if c.Operation == core.UndoOp {
		w.undoing(s, c)
		if s.grade == core.Plain && s.net == 0 {
			return worker.NoEffect(worker.Permanent(errors.New("there is nothing to undo")))
		}
		s.net, s.undone, s.since = 0, true, w.now
		s.fenced = s.fenced || s.grade == core.Fenced
		w.trace("service", "", "undone: "+c.Key)
		w.check()
		return nil
	}
	switch {
	case s.fenced:
		return worker.NoEffect(worker.Permanent(errors.New("fenced")))
	case s.known && s.grade != core.Plain:
		return nil
	}
	s.applied++
	s.known, s.since = true, w.now
	w.checks.did("P51")
	if o := w.byID[s.order]; o != nil {
		if meant := o.seen.meant[s.key+string(core.Do)]; meant != "" &&
			!strings.HasSuffix(meant, " "+string(c.Input)) {
			w.violate("P51", "%s takes effect with the input %s, and what it is to do is %s", s.key, c.Input,
				meant)
		}
	}
	w.checks.did("3")
	w.checks.did("11")
	if !w.noEffect(w.store.task(c.OrderID), c.Step) {
		s.net++
	}
	w.trace("service", "", "done: "+c.Key)
	if c.PointOfNoReturn {
		w.beyond(s)
	}
	switch {
	case s.undone:
		w.violate("11", "an effect of %s began after its undo", s.key)
	case s.applied > 1:
		w.violate("3", "key %s had %d effects", s.key, s.applied)
	}
	w.dirty(s.order)
	return nil
}

// beyond holds the effect of a point of no return to P22a: the order is not being undone.
func (w *simulation) beyond(s *service) {
	w.checks.did("P22a")
	t := w.store.task(s.order)
	if t == nil || t.Run != s.run {
		return
	}
	switch t.ProcessState {
	case core.Compensating, core.Compensated, core.Cancelled:
		w.violate("P22a", "the effect of %s begins in an order that is %s", s.key, t.ProcessState)
	}
}

// noEffect is a step that says "undo: none", without being behind a point of no return: it has
// nothing that could stand.
func (w *simulation) noEffect(t *core.Task, step string) bool {
	def, d := w.stepOf(t, step)
	ask := slices.ContainsFunc(def.Steps, func(o core.StepDefinition) bool {
		return o.Answer != nil &&
			o.Answer.Ask == step
	})
	return d.Undo == nil && (ask || !behind(def, step))
}

func (s *service) String() string {
	return fmt.Sprintf("%s: %d effects, %d stand, undone %v", s.key, s.applied, s.net, s.undone)
}

// behind reports a point of no return, or a step that comes after one.
func behind(def *core.Definition, step string) bool {
	d := &def.Steps[def.Index(step)]
	return d.PointOfNoReturn ||
		slices.ContainsFunc(d.After, func(name string) bool { return behind(def, name) })
}

func seconds(ms int64) time.Duration { return time.Duration(ms) * time.Millisecond }
