package simulate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var errGone = errors.New("the connection broke; the outcome is not certain")

func operation(w *Simulation, p *Process) worker.Operation {
	op := worker.Operation{Run: func(ctx context.Context, c worker.Call) (any, error) {
		return callService(ctx, w.Cur, c)
	}}
	if w.Conf(p.Agent).Check {
		op.Check = func(_ context.Context, c worker.Call) (bool, any, error) {
			pauseFor(w.Cur, 2)
			s := w.ServiceOf(c, p.Agent)
			a := &w.Cur.Agency
			a.Checked = true
			a.Happened = s.Applied > 0
			if c.Operation == core.UndoOp {
				a.Happened = s.Undone || w.Traits[p.Agent].Standing && s.Grade == core.Plain && s.Net == 0
			}
			return a.Happened, output(w, p.Agent, c), nil
		}
	}
	return op
}

func character(w *Simulation, agent string) {
	s, said := w.Sc.Services[agent]
	said = said && (s.Described() || len(s.Outputs) == 0)
	t := Trait{Service: s}
	for _, all := range s.Outputs { // the order of the loop does not matter, because the result is a maximum
		t.Sample = max(t.Sample, len(all))
	}
	t.Sample = w.Choose("sample", agent, t.Sample, 0.7)
	if w.Room.Limit > 0 {
		t.Size = w.Choose("size", agent, len(sizes), 0.7)
	}
	if !said {
		if w.Room.Failing {
			t.Failures = 0.5
		}
		if w.Enabled[KeyForgotten] && w.Agent(agent).KeyRetention > 0 {
			t.Forgetful = w.Choose("forgetful", agent, 2, 0.6) == 1
		}
		t.Check = w.Choose("check", agent, 2, 0.15) == 1
		t.Standing = t.Check && w.Choose("standing", agent, 2, 0.5) == 1
		if w.Enabled[Contradictory] {
			t.Output = w.Choose("output", agent, 4, 0.15)
		}
		if w.Enabled[Concurrency] && w.Choose("slow", agent, 2, 0.1) == 1 {
			t.Serial = true
			t.Latency = core.Day
			for _, d := range w.AllSteps() {
				if slices.Contains(d.AllAgents(), agent) {
					t.Latency = min(t.Latency, d.Timeout/2)
				}
			}
		}
	}
	w.Traits[agent] = t
}

var huge = json.RawMessage(`"` + strings.Repeat("x", worker.MaxOutput) + `"`)

func output(w *Simulation, agent string, c worker.Call) any {
	if c.Operation == core.UndoOp {
		return nil
	}
	if o := w.Traits[agent].Output; o == 1 {
		return nil
	} else if o > 1 && w.Choose("unusable", c.Key, 2, 0.2) == 1 {
		if o == 2 {
			return huge
		}
		return json.RawMessage("{")
	}
	if all := w.Conf(agent).Outputs[c.Name]; len(all) > 0 { // the same key always gets the same output
		key := fnv.New32a()
		_, _ = key.Write([]byte(c.Key)) // Write never returns an error
		return all[(int(key.Sum32()>>1)+w.Traits[agent].Sample)%len(all)]
	}
	seen := ""
	// A service may return its input, and the input may contain a token (P39, a token is an answer's
	// permission).
	if bytes.Contains(c.Input, []byte(`"link"`)) {
		seen = `,"seen":` + string(c.Input)
	}
	return json.RawMessage(`{"key":"` + c.Key + `"` + seen + sizes[w.Traits[agent].Size] + `}`)
}

func callService(ctx context.Context, iv *Invocation, c worker.Call) (out any, err error) {
	w := iv.W
	s := w.ServiceOf(c, iv.P.Agent)
	conf := w.Conf(iv.P.Agent)
	checkCall(iv, c)
	site := CallDo
	if c.Operation == core.UndoOp {
		site = CallUndo
	}
	if err := works(ctx, iv, c); err != nil {
		return nil, err
	}
	left := c.Deadline.Sub(iv.P.Now()).Milliseconds()
	takes := takes(w, conf, c.Key, left)
	if takes > left && !w.Quiescing || int64(conf.Latency) > left {
		landLater(w, s, c, takes)
		pauseFor(iv, max(left, 0)+1)
		return nil, worker.WithCode(context.DeadlineExceeded, "timeout")
	}
	s.Pending++
	pauseFor(iv, takes)
	cut := portCall(iv.P, site, c.Key, func(f Fault) error {
		out, err = land(w, iv, s, c, conf, f)
		return nil
	})
	s.Pending--
	if cut != nil {
		return nil, cut
	}
	return out, err
}

// works simulates long work of an operation before the call of the service (P43, long work reports progress).
// The operation reports progress, sometimes after pauses that are too long. Sometimes it defers the reply.
func works(ctx context.Context, iv *Invocation, c worker.Call) error {
	w := iv.W
	d := longStep(w, c)
	if d == nil || w.Quiescing {
		return nil
	}
	for n := w.Choose("works", c.Key, 8, 0.6); n > 0; n-- {
		pause := int64(d.Timeout) / 3
		// The long pause does not occur in a run with selected faults, because the user cannot select this
		// fault.
		if w.Sc.Only == nil && w.Choose("silent", c.Key, 2, 0.1) == 1 {
			pause = w.Spread("silent", c.Key+"/for", int64(d.MaxDuration))
		}
		if left := c.Deadline.Sub(iv.P.Now()).Milliseconds(); pause >= left {
			pauseFor(iv, max(left, 0)+1)
			return worker.WithCode(context.DeadlineExceeded, "timeout")
		}
		pauseFor(iv, pause)
		_ = worker.Progress(ctx, 100-10*n, "works")
		if iv.Dead {
			return errGone
		}
	}
	if left := c.Deadline.Sub(iv.P.Now()).Milliseconds(); left > 0 && w.Choose("defers", c.Key, 2, 0.3) == 1 {
		return deferred(w, iv, c, w.Spread("defers", c.Key+"/for", left))
	}
	return nil
}

// deferred defers the reply of a call. The work continues outside the agent, and the reply comes later.
// Sometimes the work stops, and the reply never comes.
func deferred(w *Simulation, iv *Invocation, c worker.Call, after int64) error {
	s := w.ServiceOf(c, iv.P.Agent)
	agent := iv.P.Agent
	within := time.Duration(0)
	if w.Choose("within", c.Key, 2, 0.5) == 1 {
		within = time.Duration(w.Spread("within", c.Key+"/for", 2*after)) * time.Millisecond
	}
	lost := w.Sc.Only == nil && w.Choose("deferred", c.Key, 2, 0.1) == 1 // the work may stop
	s.Pending++
	w.After(after, func() {
		s.Pending--
		if lost {
			return
		}
		w.Trace("service", "", "does what was deferred: "+c.Key)
		r := &message.Reply{
			Schema: message.Schema, OrderID: c.OrderID, Run: c.Run, Step: c.Step,
			Attempt: c.Attempt, Agent: agent, Operation: core.Do, Outcome: core.OutcomeDone,
		}
		if err := effect(w, s, c); err != nil {
			r.Outcome = core.OutcomeFailed
			r.Error = &message.ReplyError{Code: "fenced"}
		}
		put(w.Queues[port.Replies], port.Message{Value: r}, 0)
	})
	return worker.Deferred(within)
}

// longStep returns the step of a call, or nil if the call may not last longer than the step's timeout.
func longStep(w *Simulation, c worker.Call) *core.StepDefinition {
	t := w.Store.Task(c.OrderID)
	if t == nil || c.Operation == core.UndoOp || c.Attempt == 0 {
		return nil
	}
	if _, d := w.StepOf(t, c.Step); d != nil && d.MaxDuration > 0 {
		return d
	}
	return nil
}

// takes returns the duration of a call in milliseconds.
func takes(w *Simulation, conf Service, key string, left int64) int64 {
	d := int64(conf.Latency)
	if d == 0 {
		d = min(20, left/2)
	}
	if conf.SlowLatency > 0 && !w.Quiescing && w.Choose("slow", key, 2, 0.1) == 1 {
		d = int64(conf.SlowLatency)
	}
	return d
}

// landLater schedules the effect of a call whose caller has given up, after d milliseconds. If the grade of the service
// or of the call is not fenced, the call has no effect, because the other grades declare that calls end in time.
func landLater(w *Simulation, s *Remote, c worker.Call, d int64) {
	if s.Grade != core.Fenced || c.Grade != core.Fenced {
		return
	}
	s.Pending++
	s.Adrift++
	w.After(d, func() {
		s.Pending--
		s.Adrift--
		w.Trace("service", "", "a call whose caller has given up lands: "+string(c.Operation)+" "+c.Key)
		_ = effect(w, s, c) // no caller receives the result
	})
}

func land(w *Simulation, iv *Invocation, s *Remote, c worker.Call, conf Service, f Fault) (any, error) {
	if c.Grade != core.Fenced && !iv.P.Now().Before(c.Deadline) {
		// The call arrives after its deadline, when the agent has already closed the connection.
		return nil, worker.WithCode(context.DeadlineExceeded, "timeout")
	}
	forget(w, s, c, conf, f)
	switch {
	case f == Hang || w.Now < w.Outages[iv.P.Agent] && !w.Quiescing:
		hang(w, iv, s, c, f == Hang)
		return nil, worker.WithCode(context.DeadlineExceeded, "timeout")
	case f == BreakerOpen:
		w.Trace("service", iv.P.Name, "is not called, the circuit breaker is open: "+c.Key)
		return nil, worker.NoEffect(worker.WithCode(errors.New("the circuit breaker is open"),
			core.CodeBreakerOpen))
	case f == CredentialExpired || w.Now < w.Expired[iv.P.Agent] && !w.Quiescing:
		return nil, unauthorized(w, iv, c, f == CredentialExpired)
	case f == NotYet || w.Now < w.Coming[c.Key] && !w.Quiescing:
		return nil, notYet(w, iv, c, f == NotYet)
	case f == PermanentFailure && w.Choose("refusal", c.Key, 4, 0.5) > 0:
		return nil, refusal(w, c.Key)
	case f == PermanentFailure, conf.Refusals > 0 && !w.Quiescing && w.Choose("refuses", c.Key, 2,
		conf.Refusals) == 1, conf.NoUndo && c.Operation == core.UndoOp:
		w.Trace("service", iv.P.Name, "refuses "+string(c.Operation)+" "+c.Key)
		return nil, worker.NoEffect(worker.Permanent(complaint(w, "refused")))
	case conf.Failures > 0 && !w.Quiescing && w.Choose("fails", c.Key, 2, conf.Failures) == 1:
		w.Trace("service", iv.P.Name, "fails for a while: "+c.Key)
		return nil, worker.NoEffect(worker.Transient(complaint(w, "overloaded")))
	}
	err := effect(w, s, c)
	if err != nil {
		return nil, err
	}
	switch f {
	case ReplyLost:
		w.Trace("service", iv.P.Name, "does it, and the reply is lost: "+c.Key)
		if w.Long {
			outage(w, iv.P.Agent)
		}
		return nil, errGone
	case Contradictory:
		w.Trace("service", iv.P.Name, "does it, and says that it failed: "+c.Key)
		return nil, worker.Permanent(complaint(w, "failed"))
	}
	return output(w, iv.P.Agent, c), nil
}

// hang simulates a call that does not end while its caller waits. At a fenced service the call may take
// effect later. If begins is true, the call may instead take effect at once, and other calls to the service
// may also hang for some time.
func hang(w *Simulation, iv *Invocation, s *Remote, c worker.Call, begins bool) {
	w.Trace("service", iv.P.Name, "hangs: "+c.Key)
	if begins {
		outage(w, iv.P.Agent)
	}
	if !begins || w.Choose("lands", c.Key, 2, 0.5) == 0 {
		landLater(w, s, c, 1000+w.Spread("lands", c.Key+"/late", 30*60_000))
	} else {
		_ = effect(w, s, c)
	}
	pauseFor(iv, max(c.Deadline.Sub(iv.P.Now()).Milliseconds(), 0)+1)
}

// unauthorized returns the error of a call with expired credentials. If begins is true, the service refuses
// all calls of the agent for some time.
func unauthorized(w *Simulation, iv *Invocation, c worker.Call, begins bool) error {
	if begins {
		w.Expired[iv.P.Agent] = w.Now + 10_000*(1+w.Spread("expired", iv.P.Agent, 120))
		w.Trace("service", "", "the credentials of "+iv.P.Agent+" have expired, for "+
			Seconds(w.Expired[iv.P.Agent]-w.Now).String())
	}
	w.Trace("service", iv.P.Name, "does not accept the credentials: "+c.Key)
	err := worker.Unauthorized(errors.New("the credentials are not accepted"))
	if w.Choose("expired", c.Key+"/how", 2, 0.5) == 1 {
		return worker.RetryAfter(err, time.Duration(1+w.Spread("retry-after", c.Key, 2400))*time.Second)
	}
	return err
}

// notYet returns the error of a service that cannot execute the call yet (P45, "not now" is not a failure).
// If begins is true, the error may affect all calls with the same key for some time.
func notYet(w *Simulation, iv *Invocation, c worker.Call, begins bool) error {
	if begins {
		w.Coming[c.Key] = w.Now + 10_000*w.Spread("coming", c.Key, 40)
	}
	w.Trace("service", iv.P.Name, "says not yet: "+c.Key)
	return worker.NotYet(time.Duration(w.Spread("retry-after", c.Key, 120)) * time.Second)
}

func outage(w *Simulation, agent string) {
	odds := 0.1
	if w.Long {
		odds = 0.5
	}
	if w.Choose("outage", agent, 2, odds) == 1 {
		w.Outages[agent] = w.Now + 60_000*(1+w.Spread("outage", agent+"/long", 240))
		w.Trace("service", "", "the service behind "+agent+" hangs for all callers, for "+
			Seconds(w.Outages[agent]-w.Now).String())
	}
}

// refusal returns an error of one of the kinds that services return. Two kinds prove that the call had no
// effect. A permanent error proves nothing about the effect.
func refusal(w *Simulation, key string) error {
	err := complaint(w, "not now")
	switch w.Choose("refusal", key+"/how", 3, 0.6) {
	case 0:
		return worker.NoEffect(worker.Transient(err))
	case 1:
		return worker.NoEffect(worker.RetryAfter(err,
			time.Duration(1+w.Spread("retry-after", key, 2400))*time.Second))
	}
	if w.Choose("refusal", key+"/code", 2, 0.5) == 1 { // "unauthorized" does not make the failure temporary
		err = worker.WithCode(err, core.CodeUnauthorized)
	}
	return worker.Permanent(err)
}

// forget simulates a service that forgets a key after its retention. The retention begins with the last
// effect for the key; a refusal does not count. A late call, whose caller no longer waits, still finds the
// key. The workflow's author declares that keys and fences outlast every call (docs/explanation/protocol.md,
// Grades).
func forget(w *Simulation, s *Remote, c worker.Call, conf Service, f Fault) {
	_, step := w.StepOf(w.Store.Task(c.OrderID), c.Step)
	agent := step.Agent
	standing := s.Net
	if c.Attempt == 0 { // a reminder
		agent = w.Cur.P.Agent
		standing = s.Applied
	}
	kept := w.Retention(agent)
	if late := !w.Cur.P.Now().Before(c.Deadline); late || kept == 0 || w.Now-s.Since <= kept ||
		s.Adrift > 0 || !s.Known && !s.Fenced {
		return
	}
	declared := int64(w.Agent(agent).KeyRetention)
	w.never(c.Operation == core.Do && c.Grade != core.Plain && declared > 0 && standing > 0 && w.Now-s.Since > declared,
		"P18", "attempt %d of %s is called, and the service may have forgotten the key", c.Attempt, c.Key)
	if f == KeyForgotten || conf.Forgets > 0 || w.Traits[agent].Forgetful {
		s.Known = false
		s.Fenced = false
		w.Faults[KeyForgotten]++
		w.Trace("service", "", "has forgotten the key: "+c.Key)
	}
}

func effect(w *Simulation, s *Remote, c worker.Call) error {
	t := w.Store.Task(s.Order)
	closed := t != nil && t.ProcessState == core.Closed && t.Run == s.Run
	w.never(closed && s.Grade != core.Fenced && c.Attempt > 0,
		"P48", "a call of %s takes effect after its order was closed", s.Key)
	if c.Operation == core.UndoOp {
		undoing(w, s, c)
		if s.Grade == core.Plain && s.Net == 0 {
			return worker.NoEffect(worker.Permanent(errors.New("there is nothing to undo")))
		}
		s.Net = 0
		s.Undone = true
		s.Since = w.Now
		s.Fenced = s.Fenced || s.Grade == core.Fenced
		w.Trace("service", "", "undone: "+c.Key)
		check(w)
		return nil
	}
	switch {
	case s.Fenced:
		return worker.NoEffect(worker.Permanent(errors.New("fenced")))
	case s.Known && s.Grade != core.Plain:
		return nil
	}
	s.Applied++
	s.Known = true
	s.Since = w.Now
	if o := w.ByID[s.Order]; o != nil {
		meant := o.Seen.Meant[s.Key+string(core.Do)]
		w.never(meant != "" && !strings.HasSuffix(meant, " "+string(c.Input)), "P51",
			"%s takes effect with the input %s, and what it is to do is %s", s.Key, c.Input, meant)
	}
	// Nothing undoes a reminder (P59, a step can have reminders).
	if c.Attempt > 0 && !noEffect(w, w.Store.Task(c.OrderID), c.Step) {
		s.Net++
	}
	w.Trace("service", "", "done: "+c.Key)
	if c.Attempt > 0 {
		doing(w, s)
	}
	if c.PointOfNoReturn && t != nil && t.Run == s.Run { // a proven refusal permits undo (P22a)
		undoing := []core.State{core.Compensating, core.Compensated, core.Cancelled}
		w.never(slices.Contains(undoing, t.ProcessState),
			"P22a", "the effect of %s begins in an order that is %s", s.Key, t.ProcessState)
	}
	w.never(s.Undone, "11", "an effect of %s began after its undo", s.Key)
	w.never(s.Applied > 1, "3", "key %s had %d effects", s.Key, s.Applied)
	w.Dirty(s.Order)
	return nil
}
