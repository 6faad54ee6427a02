package console

import (
	"cmp"
	"context"
	"net/http"
	"strings"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// mostNeeds is the maximum number of incidents, and of open questions, that the overview lists.
const mostNeeds = 5

// need is something that a person has to do: what is wrong, since when, who is affected, and where to act.
type need struct {
	ID       string
	Kind     string // CSS class of its mark
	What     string
	Code     string // error code; "" if there is none
	Affected int
	More     bool   // true if it affects more than Affected
	Of       string // unit of Affected: "order" or "message"; "" if the number is unknown
	Orders   string // address of the affected orders; "" if there is none
	Since    core.Time
	Why      string
	Examples []string
	Do       string // label of the action
	Address  string // address of the page for the action; "" if the page has none
}

// needsOf returns what a person has to do, the worst first.
func needsOf(x stopped, under open, unattended []view.Unattended, f figures, refused []client.Workflow) []need {
	var all []need
	for _, i := range x.Incidents[:min(len(x.Incidents), mostNeeds)] {
		step := i.Step
		if i.Phase == core.Undoing {
			step += " (undo)"
		}
		all = append(all, need{
			ID: "incident-" + i.Workflow + "-" + i.Step + "-" + i.Code, Kind: "failed",
			What: i.Workflow + ": " + step + " failed", Code: i.Code, Affected: i.Count, More: x.More, Of: "order",
			Orders: i.Address, Since: i.First, Why: i.Text, Examples: i.Examples,
			Do: "Repair…", Address: i.Bulk(),
		})
	}
	all = append(all, serviceNeeds(unattended, f)...)
	if f.Overdue != nil && f.Overdue.Orders > 0 {
		all = append(all, need{
			ID: "need-overdue", Kind: "failed", What: "Orders are overdue", Affected: f.Overdue.Orders,
			Of: "order", Since: f.Overdue.Since, Why: "The sweep of the Supervisor should have handled them.",
			Do: "Check the health", Address: "/health",
		})
	}
	for _, w := range refused {
		if len(w.Problems) > 0 {
			all = append(all, need{
				ID: "problem-" + w.Name, Kind: "failed", What: "Workflow file " + w.Name + " is refused",
				Why: strings.Join(w.Problems, " "), Do: "Show the workflow", Address: "/workflows/" + w.Name,
			})
		}
	}
	return append(all, questionNeeds(under)...)
}

// serviceNeeds returns the queues without a consumer, and the operations that agents do not call.
func serviceNeeds(unattended []view.Unattended, f figures) (all []need) {
	for _, u := range unattended {
		why := u.Reason + "; " + u.Fix
		if u.Reason == "" {
			why = "Its agent is not running. Start it."
		}
		all = append(all, need{
			ID: "queue-" + u.Queue, Kind: "failed", What: "Queue " + u.Queue + " has no consumer",
			Affected: u.Waiting, Of: "message", Since: u.Since, Why: why,
			Do: "Show who waits", Address: "/waiting#agent-" + u.Agent,
		})
	}
	for _, a := range f.Agents {
		for _, c := range a.NotCalled {
			if c.Code == core.CodeNoConsumer { // the need of its queue says so
				continue
			}
			all = append(all, need{
				ID: "paused-" + a.Agent + "-" + c.Operation, Kind: "operator",
				What: "Agent " + a.Agent + " does not call " + cmp.Or(c.Operation, "its service"), Code: c.Code, Since: c.Since,
				Why: render.HandedBack(c.Code), Do: "Show who waits", Address: "/waiting#agent-" + a.Agent,
			})
		}
	}
	return all
}

func questionNeeds(under open) (all []need) {
	for _, w := range under.Waits {
		if w.For != view.WaitAnswer || len(all) == mostNeeds {
			continue
		}
		all = append(all, need{
			ID: "question-" + w.Workflow + "-" + w.Step, Kind: "answer",
			What: w.Workflow + ": " + w.Step + " waits for an answer", Affected: w.Count, Of: "order",
			Orders: w.Address, Since: w.Oldest, Examples: []string{w.Example},
			Do: "Answer", Address: address("/answers", filter{"workflow": w.Workflow, "step": w.Step}),
		})
	}
	return all
}

type overviewPage struct {
	Counts    []number
	Oldest    core.Time
	Stopped   number // orders in Error
	First     core.Time
	Needs     []need
	More      int // number of incidents that the page leaves out
	Unknown   string
	Schedules []client.Schedule
	Figures   figures
}

func (s *server) overview(ctx context.Context, _ *http.Request, _ *kept) (content, error) {
	inError, err := s.inError(ctx)
	if err != nil {
		return content{}, err
	}
	under, err := s.underWay(ctx)
	if err != nil {
		return content{}, err
	}
	data := overviewPage{
		Counts:  append(under.Counts, inError.number),
		Stopped: inError.number, More: max(0, len(inError.Incidents)-mostNeeds),
		Figures: figuresOf(s.Client.Statistics(ctx)),
	}
	for _, i := range inError.Incidents {
		data.First = older(data.First, i.First)
	}
	data.Oldest, err = s.oldest(ctx, under)
	if err != nil {
		return content{}, err
	}
	unattended, unknown := s.Client.Unattended(ctx, "")
	if unknown != nil {
		data.Unknown = unknown.Error()
	}
	refused, err := s.listed(ctx)
	if err != nil {
		return content{}, err
	}
	data.Needs = needsOf(inError, under, unattended, data.Figures, refused)
	data.Schedules, err = s.Client.Schedules(ctx)
	if err != nil {
		return content{}, err
	}
	return content{Title: "Overview", Template: "overview", Data: data, Charts: true}, nil
}
