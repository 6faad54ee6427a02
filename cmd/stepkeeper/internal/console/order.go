package console

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/diagram"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type orderPage struct {
	Task         *client.Task
	Name         string
	Down, Across template.HTML // graphs of the steps, drawn from top to bottom and from left to right
	Gantt        template.HTML
	Legend       [][2]string
	Waits        []stepWait
	Primary      *advice  // command that the page suggests; nil if a person must first choose
	Others       []advice // other commands that the page can send
	Lines        []render.Advice
	Later        []render.Advice
	Questions    []question
	History      []view.Entry
	Show         string // "all", "messages" or "commands"
	Order        string
	OrderProblem string
	Outcome      *outcome // result of the command that led to this page; nil if there was no command
	Movable      bool     // true if the order accepts a move to the definition for new orders
}

// advice is a command that the operator can send, with the properties of the command's form.
type advice struct {
	render.Advice
	Label      string
	Danger     bool
	NeedReason bool
	NeedInput  bool // true if the form must contain an input for the step
	MayOutput  bool // true if the form may contain an output of the step
	Task       *client.Task
}

// stepWait is what a step waits for, and the steps that cannot begin before its end.
type stepWait struct {
	view.Wait
	HoldsUp []string
}

func (s *server) order(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	t, err := s.Client.Get(ctx, r.PathValue("id"))
	if err != nil {
		return content{}, err
	}
	var open []client.Approval
	below, err := app.Below(ctx, s.Client, t)
	if err != nil { // without them the page still shows the order
		below = []*client.Task{t}
	}
	for _, o := range below {
		open = append(open, view.ApprovalsOf(o)...)
	}
	became, _ := s.outcomes.Get(r.URL.Query().Get("command"))
	p := orderPage{
		Task: t, Name: s.Name, Show: r.URL.Query().Get("show"),
		Questions: s.questions(open), Outcome: became,
	}
	for _, w := range t.Waits {
		if st := t.Step(w.Step); st != nil {
			w.Agent = st.Agent
		}
		p.Waits = append(p.Waits, stepWait{w, heldUp(t, w.Step)})
	}
	if p.Show != "messages" && p.Show != "commands" {
		p.Show = "all"
	}
	for _, e := range t.History {
		if p.Show == "all" || p.Show == "messages" && e.Message() || e.Kind == view.EntryCommand {
			p.History = append(p.History, e)
		}
	}
	nodes := nodesOf(t)
	label := "steps of order " + t.OrderID + " and their states"
	p.Down = picture(nodes, diagram.Down, label)
	p.Across = picture(nodes, diagram.Across, label)
	//nolint:gosec // it escapes texts
	p.Gantt = template.HTML(gantt(t, core.TimeOf(s.Now())))
	p.Legend = legendOf(t, core.TimeOf(s.Now()))
	s.advise(&p)
	p.Later = render.Later(*t, s.Program)
	p.Movable = slices.Contains(t.Accepts, view.Command{Command: "move", Definition: client.Latest})
	order, err := s.Client.Submitted(ctx, t.OrderID)
	p.Order = s.shown(order)
	if err != nil {
		p.Order = ""
		p.OrderProblem = err.Error()
	}
	return content{Title: t.OrderID, Template: "order", Data: p}, nil
}

// advise sorts the commands that help with an order. A command that stops or ends the order is never the one that
// the page suggests, and neither is a fact, which only a person knows.
func (s *server) advise(p *orderPage) {
	for _, a := range render.Next(*p.Task, s.Program) {
		if a.Do.Command == "" {
			p.Lines = append(p.Lines, a)
			continue
		}
		v := adviceOf(a)
		v.MayOutput = a.Do.Command == "resolve" && render.MayOutput(p.Task, a.Do.Step, a.Do.Fact)
		v.Task = p.Task
		if a.Do.Command == "resubmit" && !v.NeedInput && len(p.Others) == 0 && p.Primary == nil {
			p.Primary = &v
			continue
		}
		p.Others = append(p.Others, v)
	}
}

func heldUp(t *client.Task, by string) (names []string) {
	for i := range t.Steps {
		if st := &t.Steps[i]; st.State == core.Pending && st.FirstAt == 0 && slices.Contains(st.After, by) {
			names = append(names, st.Name)
		}
	}
	return names
}

func adviceOf(a render.Advice) advice {
	v := advice{Advice: a, Label: strings.ToUpper(a.Do.Command[:1]) + a.Do.Command[1:]}
	switch a.Do.Command {
	case "undo", "cancel":
		v.Danger = true
	case "close":
		v.Danger = true
		v.NeedReason = true
	case "resubmit":
		v.NeedInput = a.Do.Step != ""
		if v.NeedInput {
			v.Label = "Resubmit with another input for " + a.Do.Step
		}
	case "resolve":
		v.Label = fmt.Sprintf("Resolve %s: %s", a.Do.Step, a.Do.Fact)
	}
	return v
}

// move shows the differences between an order's definition and a second definition of the same workflow. The
// address names the second definition. By default, the second definition is the definition for new orders.
// The form on the page moves the order to the second definition.
func (s *server) move(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	t, err := s.Client.Get(ctx, r.PathValue("id"))
	if err != nil {
		return content{}, err
	}
	plan, err := s.Client.PlanMove(ctx, t.OrderID, cmp.Or(r.URL.Query().Get("definition"), client.Latest))
	if err != nil {
		return content{}, err
	}
	data := struct {
		Task      *client.Task
		Plan      client.Plan
		Now, Then template.HTML
		Unknown   string // reason why there is no picture of the second definition
		Simulate  string // command that simulates the move
	}{Task: t, Plan: plan}
	data.Simulate = fmt.Sprintf("%s move %s --definition %s --simulate --dry-run", s.Program, t.OrderID, plan.Definition)
	data.Now = picture(nodesOf(t), diagram.Down, "steps of order "+t.OrderID+" as it runs now")
	if plan.Definition != "" {
		def, err := s.Client.Definition(ctx, t.Workflow, plan.Definition)
		if err != nil {
			data.Unknown = err.Error()
		} else {
			data.Then = picture(compared(t, def, plan), diagram.Down,
				"steps of order "+t.OrderID+" after the move")
		}
	}
	return content{Title: "Move " + t.OrderID, Template: "move", Data: data}, nil
}

func picture(nodes []diagram.Node, d diagram.Direction, label string) template.HTML {
	return template.HTML(diagram.SVG(nodes, d, label)) //nolint:gosec // the diagram escapes texts
}

// compared returns the steps of the second definition as nodes that show the differences.
func compared(t *client.Task, def client.Definition, plan client.Plan) []diagram.Node {
	nodes := nodesOf(&client.Task{Steps: def.Steps})
	for i := range nodes {
		n := &nodes[i]
		n.Class = "pending"
		n.Link = ""
		before := t.Step(n.ID) != nil
		changed := 0
		refused := false
		for _, d := range plan.Differences {
			if d.Step == n.ID {
				changed++
				refused = refused || d.Refused
			}
		}
		_, detail, _ := strings.Cut(n.Detail, ", ")
		switch {
		case refused:
			n.Class = "failed"
			n.Detail = "cannot be moved"
		case !before:
			n.Class = "processing"
			n.Detail = "new: " + detail
		case changed > 0:
			n.Class = "compensating"
			n.Detail = "changed: " + detail
		default:
			n.Detail = "as before: " + detail
		}
	}
	return nodes
}

func nodesOf(t *client.Task) []diagram.Node {
	nodes := make([]diagram.Node, len(t.Steps))
	groups := map[string]string{}
	won := map[string]bool{}
	for i := range t.Steps {
		st := &t.Steps[i]
		if st.Any == nil {
			continue
		}
		for _, m := range st.Any.Members {
			groups[core.MemberName(st.Name, m)] = st.Name
		}
		for _, m := range st.Any.Won {
			won[core.MemberName(st.Name, m)] = true
		}
	}
	for i := range t.Steps {
		st := &t.Steps[i]
		detail := strings.ToLower(string(st.State))
		switch {
		case st.Agent != "":
			detail += ", " + st.Agent + ": " + st.Operation
		case st.Kind != "":
			detail += ", " + st.Kind
		}
		class := strings.ToLower(string(st.State))
		if t.State == core.Error && t.Error != nil && t.Error.Step == st.Name {
			class += " stopped"
			detail = "✕ " + detail
		}
		if st.NoReturn {
			class += " no-return"
		}
		if st.Withdrawn != 0 {
			class += " lost"
		}
		if won[st.Name] {
			class += " won"
		}
		after := st.After
		if st.Any != nil { // the members stand between it and what they come after
			after = nil
			for _, m := range st.Any.Members {
				after = append(after, core.MemberName(st.Name, m))
			}
		}
		nodes[i] = diagram.Node{
			ID: st.Name, After: after, Title: st.Name, Detail: detail, Class: class,
			Link: "#step-" + st.Name, Group: groups[st.Name],
		}
	}
	return nodes
}

func (s *server) commandOf(ctx context.Context, id string, r *http.Request,
	command string,
) (client.Verdict, error) {
	by := strings.TrimSpace(r.PostFormValue("by"))
	reason := strings.TrimSpace(r.PostFormValue("reason"))
	number, err := wholeNumber(r.PostForm, "number")
	if err != nil {
		return client.Verdict{}, err
	}
	form := func(name string) string { return r.PostFormValue(name) }
	action := bulk.Action{
		Command: form("kind"), Step: form("step"), Fact: client.Fact(form("fact")),
		Definition: form("definition"), By: by, Reason: reason,
	}
	switch input := strings.TrimSpace(form("input")); {
	case action.Command == "answer":
		return s.answer(ctx, id, r, action, client.CommandID(command))
	case action.Command == "resubmit" && input != "":
		return action.Send(ctx, s.Client, id, number, command,
			client.NewInput(action.Step, json.RawMessage(input)))
	case action.Command == "resolve":
		return action.Send(ctx, s.Client, id, number, command,
			client.StepOutput(json.RawMessage(strings.TrimSpace(form("output")))))
	}
	return action.Send(ctx, s.Client, id, number, command)
}

func (s *server) answer(ctx context.Context, id string, r *http.Request, a bulk.Action,
	named client.CommandOption,
) (client.Verdict, error) {
	reply := client.Reply{Step: a.Step, Value: r.PostFormValue("value"), By: a.By, Reason: a.Reason}
	var err error
	reply.Round, err = wholeNumber(r.PostForm, "round")
	if err == nil {
		reply.Run, err = wholeNumber(r.PostForm, "run")
	}
	if err != nil {
		return client.Verdict{}, err
	}
	return s.Client.Answer(ctx, id, reply, named)
}
