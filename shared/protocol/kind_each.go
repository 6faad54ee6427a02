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

// tooMuchCollected is the reason why no more children are started if their outputs have no room.
var tooMuchCollected = fmt.Sprintf("%s: the outputs of the children take more than %d bytes, or have no room in the "+
	"order's document; let the child workflow return less", core.CodeOutputTooLarge, core.MaxCollected)

// collectedSize is an upper limit of the bytes that {"index":9999,"output":} and a comma add to an output.
const collectedSize = 26

func (eachKind) prepare(s step) (prepared, error) {
	if s.d.Input == nil {
		return prepared{children: 1}, nil
	}
	count, err := s.readItems(0)
	switch {
	case s.err != nil || err != nil:
		return prepared{}, err
	case count > core.MaxChildren:
		return prepared{}, fmt.Errorf("each is a list of %d, the limit is %d: put them into groups, and let "+
			"a child workflow have an each of its own", count, core.MaxChildren)
	case s.d.Each.Collect && count*collectedSize > core.MaxCollected:
		return prepared{}, fmt.Errorf("each is a list of %d, whose outputs cannot be collected in %d bytes: "+
			"leave out collect, and let the children store what they find", count, core.MaxCollected)
	}
	enough, err := s.enough(count)
	if err != nil {
		return prepared{}, err
	}
	return prepared{children: count, enough: enough, atOnce: count == 0}, nil
}

// readItems reads the step's list into s.items, and returns the length of the list. It keeps only the
// elements of open children, and the elements less than Concurrency places from n. Its errors contain no
// data of the order.
func (s step) readItems(n int) (count int, err error) {
	if !s.orderKnown() {
		return 0, nil
	}
	d := s.d.Each
	s.items = map[int]json.RawMessage{}
	s.itemsOf = s.i
	open := map[int]bool{}
	if s.Children != nil {
		for _, o := range s.Children.Open {
			open[o.Index] = true
		}
	}
	return s.def.Expr.Items(s.i, s.environment(false), func(k int, item json.RawMessage) {
		if k > n-d.Concurrency && k < n+d.Concurrency || open[k] {
			s.items[k] = item
		}
	})
}

// item returns the n-th element of the step's list, or nil for a step without a list.
func (s step) item(n int) (json.RawMessage, error) {
	if s.d.Input == nil {
		return nil, nil
	}
	if item, known := s.items[n]; known && s.itemsOf == s.i {
		return item, nil
	}
	switch count, err := s.readItems(n); {
	case s.err != nil || err != nil:
		return nil, err
	case count != s.Children.Count:
		s.items = nil
		return nil, errors.New("the list is not the one that the step was claimed with")
	}
	return s.items[n], nil
}

func (eachKind) start(s step, p prepared) {
	s.take(core.Waiting, Claim{})
	c := &Children{Count: p.children, Enough: p.enough}
	if s.Children != nil {
		c.Started = s.Children.Started
		c.Ends = s.Children.Ends
	}
	s.Children = c
}

// fillChildren starts children until Concurrency children are open (P40). It stops earlier if all children
// were started, or if more children than Tolerate have failed.
func (s step) fillChildren() {
	c := s.OwnChildren()
	for len(c.Open) < s.d.Each.Concurrency && c.Next < c.Count && c.Failed <= c.Tolerates(s.d.Each) {
		n := c.Next
		c.Next++
		c.Started = max(c.Started, c.Next)
		if err := s.open(n, core.AskStart, false); err != nil {
			c.Fail(n, "expression", err.Error())
		}
	}
}

// open asks a child for its start or its undo, and adds it to the open children. A child that has ended before is asked
// without its order.
func (s step) open(n int, ask core.ChildAsk, ended bool) (err error) {
	var order json.RawMessage
	if !ended {
		order, err = s.childOrder(n)
	}
	if err == nil {
		s.Children.Open = append(s.Children.Open, OpenChild{Index: n, Cause: s.cause, Ended: ended})
		s.ask(n, ask, order)
	}
	return err
}

// childOrder computes a child's order from values that do not change in the run (P12, effects are emitted
// again). If the task's order is needed and absent, childOrder sets s.err, and the decision is dropped.
func (s step) childOrder(n int) (json.RawMessage, error) {
	order, err := s.item(n)
	if err != nil || !s.orderKnown() {
		return nil, err
	}
	switch d := s.d.Each; {
	case d.Order != nil:
		env := s.environment(false)
		env.Item = order
		if d.Repeat != nil {
			env.Item = s.Children.Last
		}
		env.Index = n
		order, err = s.def.Expr.Value(core.PartChildOrder, s.i, env)
		if err != nil {
			return nil, fmt.Errorf("the order of child %d: %w", n, err)
		}
	case order == nil:
		order = s.order
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

func (s step) ask(n int, ask core.ChildAsk, order json.RawMessage) {
	d := s.d.Each
	p := core.Parent{OrderID: s.t.OrderID, Run: s.t.Run, Step: s.Name, Index: n, Attempt: s.Attempt}
	e := core.AskChild{
		OrderID: p.ChildID(), Parent: p, Ask: ask, Workflow: d.Workflow,
		Definition: d.Definition,
		Priority:   s.t.Priority, Order: order,
	}
	if ask == core.AskStart {
		e.Answers = s.Passing.toPass()
	}
	s.emit(e)
}

// askOpen sends the step's present request (start, undo or cancel) to the open children. If cause is not "",
// askOpen sends it only to the children whose last request had this cause. askOpen skips a child if the
// child's order cannot be computed. A Closed task asks it without an order, so that its end can be settled (P11).
func (s step) askOpen(cause string) {
	ask := core.AskStart
	switch {
	case s.UndoesChildren():
		ask = core.AskUndo
	case s.Children.Stopped:
		ask = core.AskCancel
	}
	for _, o := range s.Children.Open {
		if cause != "" && o.Cause != cause {
			continue
		}
		var order json.RawMessage
		var err error
		if !o.Ended {
			order, err = s.childOrder(o.Index)
		}
		if err == nil || s.t.ProcessState == core.Closed {
			s.ask(o.Index, ask, order)
		}
	}
}

func (eachKind) resend(s step) {
	if s.cause == "" || s.Claim.Cause == s.cause {
		waitKind{}.resend(s)
	}
	s.askOpen(s.cause)
}

// goOn starts more children, and ends the step if no child is open. When its time has come, it asks all open
// children again, because a request or the report of an end may be lost.
func (eachKind) goOn(s step) {
	switch {
	case s.Claim.Undo: // the step is undone alone (P42, orders can go on after failures)
		s.undoChildren()
		return
	case s.State == core.Settling:
		s.settleChildren()
		return
	}
	again := s.Wait.At != 0 && s.due(s.at.Now)
	if again {
		s.OwnChildren().Rounds++
		s.askOpen("")
	}
	s.lookAtChildren()
	if s.State == core.Waiting && s.err == nil && s.due(s.at.Now) {
		s.wait(s.at.Now.Add(s.Children.Pause()))
	}
}

// due reports whether the time of a Waiting step has come, or is not set.
func (s *Step) due(now core.Time) bool { return s.Wait.At <= now || s.CompleteBy == 0 }

// childEnded applies the report of an open child about its end or Error (P41, parent and child talk by
// messages). During an undo, a child stays open until it is undone.
func (s step) childEnded(ev core.Event) (string, error) {
	e := ev.(core.ChildEnded)
	n := s.Children.At(e.Parent.Index)
	if n < 0 {
		return notOpen, nil
	}
	c := s.OwnChildren()
	switch {
	case c.Open[n].State == string(e.State) && (e.State == core.ChildError || s.t.ProcessState == core.Error):
		return "it was reported before", nil
	case e.State == core.ChildError, s.UndoesChildren() &&
		(e.State == core.ChildClosed || e.State == core.ChildExpired):
		c.Open[n].State = string(e.State)
		s.childInDoubt(e)
		return "", nil
	case s.UndoesChildren() && e.State != core.ChildCompensated && e.State != core.ChildRefused:
		return "the child is to be undone, and is not yet", nil
	}
	c.Close(func(o OpenChild) bool { return o.Index == e.Parent.Index })
	s.taken(e.Took)
	if s.d.Each.Repeat != nil && !s.UndoesChildren() {
		c.addEnd(IterationEnd{Index: e.Parent.Index, State: e.State, At: s.at.Now})
	}
	switch {
	case s.UndoesChildren():
	case e.State == core.ChildProcessed && s.d.Each.Repeat != nil:
		s.keepLast(e)
	case e.State == core.ChildProcessed:
		s.collect(e)
		s.decideChildren()
	case e.State == core.ChildRefused && s.d.Each.Repeat != nil:
		s.cannotBegin(e.Parent.Index, e.Code, e.Message)
	case c.Stopped && e.State == core.ChildCompensated: // by the step, not because the child has failed
	default:
		c.Fail(e.Parent.Index, e.Code, cmp.Or(e.Message, "it was "+string(e.State)))
	}
	return "", nil
}

// childInDoubt stops the task if a child can no longer be undone.
func (s step) childInDoubt(e core.ChildEnded) {
	if e.State == core.ChildError || s.t.ProcessState == core.Error {
		return
	}
	how := "was closed by hand"
	if e.State == core.ChildExpired {
		how = "is no longer stored"
	}
	s.recordFailure(codeChildInDoubt, fmt.Sprintf("child %d (%s) %s, so it cannot be undone; undo by "+
		"hand what it did, and resolve the step as undone", e.Parent.Index, e.Parent.ChildID(), how),
		s.Attempt)
	s.enterError()
}

// collect stores a child's output if the step needs it. If the output does not fit, collect cancels the
// open children.
func (s step) collect(e core.ChildEnded) {
	d := s.d.Each
	single := s.d.Input == nil
	c := s.Children
	output := e.Output
	if c.Enough > 0 && len(output) == 0 { // the list of those that have won needs it
		output = json.RawMessage("null")
	}
	if !d.Collect && !single || len(output) == 0 {
		return
	}
	before := c.Results
	size := 0
	c.Results = append(slices.Clip(before), Collected{Index: e.Parent.Index, Output: output})
	for _, have := range c.Results {
		size += len(have.Output) + collectedSize
	}
	if !single && size > core.MaxCollected || !s.at.SizeLimit.Fits(s.def, s.t) {
		c.Results = before
		s.stopChildren(tooMuchCollected)
	}
}

// stopChildren cancels the open children and prevents further starts.
func (s step) stopChildren(reason string) {
	c := s.OwnChildren()
	c.Stopped = true
	c.Reason = reason
	c.ask(s.cause, false)
	s.askOpen("")
}

// lookAtChildren continues a step that goes forward. It starts more children, cancels the children if too
// many have failed, and ends the step if no child is open.
func (s step) lookAtChildren() {
	if s.d.Each.Repeat != nil {
		s.lookAtIterations()
		return
	}
	if !s.Children.Stopped {
		s.fillChildren()
	}
	if s.err == nil && !s.Children.Stopped && s.Children.Failed > s.Children.Tolerates(s.d.Each) {
		s.stopChildren(s.Children.Reason)
	}
	switch {
	case s.err != nil || len(s.Children.Open) > 0:
	case s.Children.Stopped:
		s.failChildren()
	default:
		s.endChildren()
	}
}

// failChildren fails a step whose children were stopped. All children have ended, so the step needs no
// Resolve.
func (s step) failChildren() {
	c := s.Children
	code := codeChildrenFailed
	text := c.Reason
	if s.d.Input == nil {
		code, text, _ = strings.Cut(c.Reason, ": ")
	} else if most := c.Tolerates(s.d.Each); c.Failed > most {
		text = fmt.Sprintf("%d of %d children failed, %d may; the first: child %d, %s", c.Failed, c.Count, most,
			c.FailedAt[0], c.Reason)
	}
	s.fail(code, text, s.Attempt)
}

// endChildren ends a step whose children have all ended.
func (s step) endChildren() {
	var output json.RawMessage
	if len(s.Children.Results) > 0 {
		output = s.Children.Results[0].Output
	}
	if s.d.Input != nil {
		output = s.Children.Output(s.d.Each.Collect)
	}
	c := *s.Children
	c.Results = nil
	s.Children = &c
	s.finishIfFits(output, "collect less")
}

// finishIfFits makes the step Processed. If its output does not fit into the document, the step fails.
func (s step) finishIfFits(output json.RawMessage, fix string) {
	if s.outputFits(output) {
		s.finish(output)
		return
	}
	s.fail(core.CodeOutputTooLarge, fmt.Sprintf("the output of %d bytes does not fit into the order's document beside "+
		"the outputs of its steps; %s", len(output), fix), s.Attempt)
}

// undoChildren begins or continues the undo of a step's children, the latest child first. It reports whether
// all children are undone.
func (s step) undoChildren() bool {
	begun := s.State == core.Waiting && s.Claim.Undo
	if s.bySupervisor() {
		if !begun {
			s.claimLater()
		}
		return false
	}
	asks := !begun || s.due(s.at.Now)
	c := s.OwnChildren()
	switch {
	case !begun:
		s.take(core.Waiting, Claim{Undo: true})
		c.Cursor = c.Started
		c.Rounds = 0
		c.Results = nil
		c.ask(s.cause, true)
		if s.d.Each.Repeat != nil {
			c.undoIterations()
		}
	case asks:
		c.Rounds++
	}
	if asks {
		s.askOpen("")
	}
	if s.err != nil || s.fillUndo() {
		return s.err == nil
	}
	if asks {
		s.wait(s.at.Now.Add(c.Pause()))
	}
	return false
}

// fillUndo asks more children for their undo, until the limit of concurrent children is reached. It reports
// whether all children are undone.
func (s step) fillUndo() bool {
	c := s.Children
	for c.Cursor > 0 && len(c.Open) < s.d.Each.Concurrency {
		c.Cursor--
		if c.At(c.Cursor) < 0 {
			_ = s.open(c.Cursor, core.AskUndo, s.d.Each.Repeat != nil) // a child without an order was never started
		}
	}
	if c.Cursor > 0 || len(c.Open) > 0 {
		return false
	}
	s.undone()
	return true
}
