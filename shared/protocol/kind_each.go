package protocol

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// eachKind is the kind of a step that runs child tasks, one for each element of a list, or a single child
// (P40, a step can have child orders). The step is Waiting from its claim to its end, even while its
// children are undone.
type eachKind struct{}

// Codes of a step whose children have failed.
const (
	codeChildrenFailed = "children-failed"
	// codeChildInDoubt means that a child cannot be undone. The child was closed, or is no longer stored.
	codeChildInDoubt = "child-in-doubt"
)

// collectedSize is an upper limit of the bytes that {"index":9999,"output":} and a comma add to an output.
const collectedSize = 26

func (eachKind) prepare(r *deciding, i int) (prepared, error) {
	d := &r.def.Steps[i]
	if d.Input == nil {
		return prepared{children: 1}, nil
	}
	count, err := r.readItems(i, 0)
	switch {
	case r.err != nil || err != nil:
		return prepared{}, err
	case count > core.MaxChildren:
		return prepared{}, fmt.Errorf("each is a list of %d, the limit is %d: put them into groups, and let "+
			"a child workflow have an each of its own", count, core.MaxChildren)
	case d.Each.Collect && count*collectedSize > core.MaxCollected:
		return prepared{}, fmt.Errorf("each is a list of %d, whose outputs cannot be collected in %d bytes: "+
			"leave out collect, and let the children store what they find", count, core.MaxCollected)
	}
	return prepared{children: count, atOnce: count == 0}, nil
}

// readItems reads the step's list into r.items, and returns the length of the list. It keeps only the
// elements of open children, and the elements less than Concurrency places from n. Its errors contain no
// data of the order.
func (r *deciding) readItems(i, n int) (count int, err error) {
	if !r.orderKnown() {
		return 0, nil
	}
	s := &r.t.Steps[i]
	d := r.def.Steps[i].Each
	r.items = map[int]json.RawMessage{}
	r.itemsOf = i
	open := map[int]bool{}
	if s.Children != nil {
		for _, o := range s.Children.Open {
			open[o.Index] = true
		}
	}
	return r.def.Expr.Items(i, r.environment(i, false), func(k int, item json.RawMessage) {
		if k > n-d.Concurrency && k < n+d.Concurrency || open[k] {
			r.items[k] = item
		}
	})
}

// item returns the n-th element of the step's list, or nil for a step without a list.
func (r *deciding) item(i, n int) (json.RawMessage, error) {
	if r.def.Steps[i].Input == nil {
		return nil, nil
	}
	if item, known := r.items[n]; known && r.itemsOf == i {
		return item, nil
	}
	switch count, err := r.readItems(i, n); {
	case r.err != nil || err != nil:
		return nil, err
	case count != r.t.Steps[i].Children.Count:
		r.items = nil
		return nil, errors.New("the list is not the one that the step was claimed with")
	}
	return r.items[n], nil
}

func (eachKind) start(r *deciding, i int, p prepared) {
	r.take(i, core.Waiting, Claim{})
	s := &r.t.Steps[i]
	c := &Children{Count: p.children}
	if s.Children != nil {
		c.Started = s.Children.Started
	}
	s.Children = c
	if p.atOnce {
		r.endChildren(i)
		return
	}
	r.fillChildren(i)
	at := r.at.Now
	// If no child is open, every child's order had an error. The Wake then comes at once and ends the step.
	if len(c.Open) > 0 || r.err != nil {
		at = at.Add(c.Pause())
	}
	r.wait(i, at)
}

// fillChildren starts children until Concurrency children are open (P40). It stops earlier if all children
// were started, or if more children than Tolerate have failed.
func (r *deciding) fillChildren(i int) {
	c := r.t.Steps[i].Children
	d := r.def.Steps[i].Each
	for len(c.Open) < d.Concurrency && c.Next < c.Count && c.Failed <= d.Tolerate {
		n := c.Next
		order, err := r.childOrder(i, n)
		c.Next++
		c.Started = max(c.Started, c.Next)
		if err != nil {
			c.Fail(n, "expression", err.Error())
			continue
		}
		c.Open = append(c.Open, OpenChild{Index: n, Cause: r.cause})
		r.ask(i, n, core.AskStart, order)
	}
}

// childOrder computes a child's order from values that do not change in the run (P12, effects are emitted
// again). If the task's order is needed and absent, childOrder sets r.err, and the decision is dropped.
func (r *deciding) childOrder(i, n int) (json.RawMessage, error) {
	order, err := r.item(i, n)
	if err != nil || !r.orderKnown() {
		return nil, err
	}
	switch d := r.def.Steps[i].Each; {
	case d.Order != nil:
		env := r.environment(i, false)
		env.Item = order
		env.Index = n
		order, err = r.def.Expr.ChildOrder(i, env)
		if err != nil {
			return nil, fmt.Errorf("the order of child %d: %w", n, err)
		}
	case order == nil:
		order = r.order
	}
	switch {
	case !bytes.HasPrefix(order, []byte("{")):
		return nil, fmt.Errorf("the order of child %d is no JSON object", n)
	case len(order) > core.MaxChildOrder:
		return nil, fmt.Errorf("the order of child %d has %d bytes, the limit is %d: store large data "+
			"elsewhere and give a reference", n, len(order), core.MaxChildOrder)
	}
	return order, nil
}

func (r *deciding) ask(i, n int, ask core.ChildAsk, order json.RawMessage) {
	s := &r.t.Steps[i]
	d := r.def.Steps[i].Each
	p := core.Parent{OrderID: r.t.OrderID, Run: r.t.Run, Step: s.Name, Index: n, Attempt: s.Attempt}
	r.emit(core.AskChild{
		OrderID: p.ChildID(), Parent: p, Ask: ask, Workflow: d.Workflow,
		Definition: d.Definition,
		Priority:   r.t.Priority, Order: order,
	})
}

// askOpen sends the step's present request (start, undo or cancel) to the open children. If cause is not "",
// askOpen sends it only to the children whose last request had this cause. askOpen skips a child if the
// child's order cannot be computed.
func (r *deciding) askOpen(i int, cause string) {
	s := &r.t.Steps[i]
	ask := core.AskStart
	switch {
	case s.Claim.Undo:
		ask = core.AskUndo
	case s.Children.Stopped:
		ask = core.AskCancel
	}
	for _, o := range s.Children.Open {
		if cause != "" && o.Cause != cause {
			continue
		}
		if order, err := r.childOrder(i, o.Index); err == nil {
			r.ask(i, o.Index, ask, order)
		}
	}
}

func (eachKind) resend(r *deciding, i int) {
	if s := &r.t.Steps[i]; r.cause == "" || s.Claim.Cause == r.cause {
		waitKind{}.resend(r, i)
	}
	r.askOpen(i, r.cause)
}

// woken asks all open children again, because a request or the report of an end may be lost.
func (eachKind) woken(r *deciding, i int) {
	if r.t.Steps[i].Claim.Undo { // the step is undone alone (P42, orders can go on after failures)
		r.undoChildren(i)
		return
	}
	r.askAgain(i)
}

// askAgain asks the open children of a step again, and ends the step if no child is open.
func (r *deciding) askAgain(i int) {
	s := &r.t.Steps[i]
	s.OwnChildren().Rounds++
	r.askOpen(i, "")
	if r.err == nil {
		r.lookAtChildren(i)
	}
	if r.err == nil && s.State == core.Waiting && !s.Claim.Undo {
		r.wait(i, r.at.Now.Add(s.Children.Pause()))
	}
}

func (eachKind) resume(r *deciding, i int) {
	s := &r.t.Steps[i]
	if s.Claim.Undo {
		s.Wait.At = 0
		r.undoChildren(i)
		return
	}
	s.Claim.Cause = r.cause
	r.askAgain(i)
}

func (eachKind) validState(s *Step, d *core.StepDefinition) bool {
	begun := s.Attempted() && s.Attempt > 0 && s.Children != nil
	switch s.State {
	case core.Skipped:
		return !s.Attempted()
	case core.Pending, core.Failed:
		return !s.Attempted() || begun
	case core.Waiting, core.Processed, core.UndoWait:
		return begun
	case core.Compensated:
		return begun || !s.Attempted() && s.FailureCode != "" && d.OnFailure == core.OnFailureContinue
	}
	return false
}

// childEnded applies the report of an open child about its end or Error (P41, parent and child talk by
// messages). During an undo, a child stays open until it is undone.
func (r *deciding) childEnded(i int, ev core.Event) (string, error) {
	e := ev.(core.ChildEnded)
	s := &r.t.Steps[i]
	n := s.Children.At(e.Parent.Index)
	if n < 0 {
		return notOpen, nil
	}
	c := s.OwnChildren()
	switch {
	case e.State == core.ChildError && c.Open[n].State == string(e.State):
		return "it was reported before", nil
	case e.State == core.ChildError, s.Claim.Undo &&
		(e.State == core.ChildClosed || e.State == core.ChildExpired):
		c.Open[n].State = string(e.State)
		r.childInDoubt(i, e)
		return "", nil
	case s.Claim.Undo && e.State != core.ChildCompensated:
		return "the child is to be undone, and is not yet", nil
	}
	c.Close(func(o OpenChild) bool { return o.Index == e.Parent.Index })
	switch {
	case s.Claim.Undo:
	case e.State == core.ChildProcessed:
		r.collect(i, e)
	default:
		c.Fail(e.Parent.Index, e.Code, cmp.Or(e.Message, "it was "+string(e.State)))
	}
	switch {
	case s.Claim.Undo && r.t.ProcessState != core.Error:
		r.fillUndo(i)
	case r.t.ProcessState == core.Processing:
		r.lookAtChildren(i)
	}
	return "", nil
}

// childInDoubt stops the task if a child can no longer be undone.
func (r *deciding) childInDoubt(i int, e core.ChildEnded) {
	if e.State == core.ChildError || r.t.ProcessState == core.Error {
		return
	}
	how := "was closed by hand"
	if e.State == core.ChildExpired {
		how = "is no longer stored"
	}
	r.recordFailure(i, codeChildInDoubt, fmt.Sprintf("child %d (%s) %s, so it cannot be undone; undo by "+
		"hand what it did, and resolve the step as undone", e.Parent.Index, e.Parent.ChildID(), how),
		r.t.Steps[i].Attempt)
	r.enterError(r.t.Direction(), i)
}

// collect stores a child's output if the step needs it. If the output does not fit, collect cancels the
// open children.
func (r *deciding) collect(i int, e core.ChildEnded) {
	s := &r.t.Steps[i]
	d := r.def.Steps[i].Each
	single := r.def.Steps[i].Input == nil
	if !d.Collect && !single || len(e.Output) == 0 {
		return
	}
	c := s.Children
	before := c.Results
	size := 0
	c.Results = append(slices.Clip(before), Collected{Index: e.Parent.Index, Output: e.Output})
	for _, have := range c.Results {
		size += len(have.Output) + collectedSize
	}
	if !single && size > core.MaxCollected || !r.at.SizeLimit.KeepsReserve(r.def, r.t) {
		c.Results = before
		r.stopChildren(i, fmt.Sprintf("%s: the outputs of the children take more than %d bytes, or have no "+
			"room in the order's document; let the child workflow return less", core.CodeOutputTooLarge,
			core.MaxCollected))
	}
}

// stopChildren cancels the open children and prevents further starts.
func (r *deciding) stopChildren(i int, reason string) {
	c := r.t.Steps[i].Children
	c.Stopped = true
	c.Reason = reason
	for n := range c.Open {
		c.Open[n].Cause = r.cause
	}
	r.askOpen(i, "")
}

// lookAtChildren continues a step that goes forward. It starts more children, cancels the children if too
// many have failed, and ends the step if no child is open.
func (r *deciding) lookAtChildren(i int) {
	s := &r.t.Steps[i]
	d := r.def.Steps[i].Each
	c := s.Children
	if !c.Stopped && c.Next < c.Count && c.Failed <= d.Tolerate && len(c.Open) < d.Concurrency {
		r.fillChildren(i)
	}
	if r.err == nil && !c.Stopped && c.Failed > d.Tolerate {
		r.stopChildren(i, c.Reason)
	}
	if r.err != nil || len(c.Open) > 0 {
		return
	}
	if c.Stopped {
		r.failChildren(i)
		return
	}
	r.endChildren(i)
}

// failChildren fails a step whose children were stopped. All children have ended, so the step needs no
// Resolve.
func (r *deciding) failChildren(i int) {
	s := &r.t.Steps[i]
	d := &r.def.Steps[i]
	c := s.Children
	code := codeChildrenFailed
	text := c.Reason
	if d.Input == nil {
		code, text, _ = strings.Cut(c.Reason, ": ")
	} else if c.Failed > d.Each.Tolerate {
		text = fmt.Sprintf("%d of %d children failed, %d may; the first: child %d, %s", c.Failed, c.Count,
			d.Each.Tolerate, c.FailedAt[0], c.Reason)
	}
	r.recordFailure(i, code, text, s.Attempt)
	giveUp(&r.t.Steps[i])
}

// endChildren makes the step Processed. If its output does not fit into the document, the step fails.
func (r *deciding) endChildren(i int) {
	s := &r.t.Steps[i]
	var output json.RawMessage
	if len(s.Children.Results) > 0 {
		output = s.Children.Results[0].Output
	}
	if r.def.Steps[i].Input != nil {
		output = s.Children.Output(r.def.Steps[i].Each.Collect)
	}
	c := *s.Children
	c.Results = nil
	s.Children = &c
	if r.outputFits(i, output) {
		r.finish(i, output)
		return
	}
	r.recordFailure(i, core.CodeOutputTooLarge, fmt.Sprintf("the output of %d bytes does not fit into the "+
		"order's document beside the outputs of its steps; collect less", len(output)), s.Attempt)
	giveUp(&r.t.Steps[i])
}

// undoChildren begins or continues the undo of a step's children, the latest child first. It reports whether
// all children are undone.
func (r *deciding) undoChildren(i int) bool {
	s := &r.t.Steps[i]
	begun := s.State == core.Waiting && s.Claim.Undo
	if begun && r.at.Now < s.Wait.At {
		return false
	}
	c := s.OwnChildren()
	if begun {
		c.Rounds++
	} else {
		if r.bySupervisor() {
			r.claimLater(i)
			return false
		}
		r.take(i, core.Waiting, Claim{Undo: true})
		c.Cursor = c.Started
		c.Rounds = 0
		c.Results = nil
		for n := range c.Open {
			c.Open[n] = OpenChild{Index: c.Open[n].Index, Cause: r.cause}
		}
	}
	r.askOpen(i, "")
	if r.err != nil || r.fillUndo(i) {
		return r.err == nil
	}
	r.wait(i, r.at.Now.Add(c.Pause()))
	return false
}

// fillUndo asks more children for their undo, until the limit of concurrent children is reached. It reports
// whether all children are undone.
func (r *deciding) fillUndo(i int) bool {
	s := &r.t.Steps[i]
	d := r.def.Steps[i].Each
	c := s.Children
	for c.Cursor > 0 && len(c.Open) < d.Concurrency {
		n := c.Cursor - 1
		if c.At(n) >= 0 {
			c.Cursor--
			continue
		}
		order, err := r.childOrder(i, n)
		c.Cursor--
		if err != nil { // a child without an order was never started
			continue
		}
		c.Open = append(c.Open, OpenChild{Index: n, Cause: r.cause})
		r.ask(i, n, core.AskUndo, order)
	}
	if c.Cursor > 0 || len(c.Open) > 0 {
		return false
	}
	undone(&r.t.Steps[i])
	return true
}
