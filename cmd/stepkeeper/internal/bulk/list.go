// Package bulk sends the same command to many orders.
//
// It writes the list of orders to a file before it sends the first command. It starts with a few orders and
// keeps to a rate limit. It stops if too many orders fail again. The file also records the result of each
// order, so that another run can continue after a crash.
package bulk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Commands lists the commands that can be sent to many orders.
var Commands = []string{"resubmit", "undo", "cancel", "resolve", "move", "close"}

// Action is the command that each order gets.
type Action struct {
	Command    string      `json:"command"`
	Step       string      `json:"step,omitempty"`       // step that the command names; "" if none
	Fact       client.Fact `json:"fact,omitempty"`       // only for resolve
	Definition string      `json:"definition,omitempty"` // only for move and resubmit
	By         string      `json:"by,omitempty"`
	Reason     string      `json:"reason,omitempty"`
}

// Where selects the orders that match all its values. The valid keys are in Keys.
type Where map[string]string

// Keys lists the valid keys of a Where.
var Keys = []string{"state", "workflow", "step", "code", "id", "older", "late"}

// query returns the query for a command. Without the key state, it selects orders in Error. An empty Where is an
// error.
func (w Where) query() (client.Query, error) {
	if len(w) == 0 {
		return client.Query{}, fmt.Errorf("no orders are selected; select them with --where and some of %s",
			strings.Join(Keys, ", "))
	}
	return w.Query(core.Error)
}

// Query returns the query of a valid Where. The argument state is that of a Where without the key state.
func (w Where) Query(state core.State) (client.Query, error) {
	q := client.Query{State: state, PageSize: 1000}
	texts := map[string]*string{"workflow": &q.Workflow, "step": &q.Step, "code": &q.Code, "id": &q.IDPrefix}
	times := map[string]*time.Duration{"older": &q.OlderThan, "late": &q.Late}
	for _, key := range slices.Sorted(maps.Keys(w)) {
		value := w[key]
		d, isTime := core.ParseDuration(value)
		switch {
		case strings.TrimSpace(value) == "":
			return q, fmt.Errorf("%s is empty", key)
		case key == "state":
			i := slices.IndexFunc(States,
				func(s core.State) bool { return strings.EqualFold(string(s), value) })
			if i < 0 {
				return q, fmt.Errorf("there is no state %.40q: write one of %s", value,
					strings.Trim(fmt.Sprint(States), "[]"))
			}
			q.State = States[i]
		case key == "workflow" && !message.IsWorkflow(value):
			return q, fmt.Errorf("there is no workflow %.40q: its name has small letters, digits and -", value)
		case texts[key] != nil:
			*texts[key] = value
		case times[key] != nil && isTime && d > 0:
			*times[key] = d.Std()
		case times[key] != nil:
			return q, fmt.Errorf("%s is %.40q: write a duration like 90m or 7d", key, value)
		default:
			hint := ""
			if near := suggest.Nearest(key, Keys); near != "" {
				hint = fmt.Sprintf(", perhaps %s", near)
			}
			return q, fmt.Errorf("--where has no field %.40q%s; use one of %s", key, hint,
				strings.Join(Keys, ", "))
		}
	}
	if q.Late > 0 && w["state"] == "" { // no order in another state has a deadline that can pass
		q.State = core.Processing
	}
	return q, nil
}

// States lists the states of an order, the values of the key state. The first value is the default.
var States = []core.State{
	core.Error, core.Processing, core.Compensating, core.Processed, core.Compensated, core.Cancelled, core.Closed,
}

// Order is an order of the list. It contains the state of the order when the list was made, and the result of
// the command.
type Order struct {
	OrderID string `json:"orderId"`
	// Number is the command number of the order when the list was made. If the order has accepted another
	// command since then, the Scheduler refuses the list's command (P5, commands have a number and an ID).
	Number int `json:"number"`
	// Created tells the order from one of the same ID at another server. 0 means that it is not known.
	Created core.Time `json:"created,omitzero"`
	Step    string    `json:"step,omitempty"`
	Undoing bool      `json:"undoing,omitempty"`
	Would   string    `json:"would"`
	Result  Result    `json:"result,omitempty"`
	Text    string    `json:"text,omitempty"`
	At      time.Time `json:"at,omitzero"`
}

// Result is the state of a command to one order.
type Result string

// The values of Result. The empty Result means that the command was not sent.
const (
	Accepted Result = "accepted" // the server accepted the command; the effect is not known yet
	Fixed    Result = "fixed"    // the command has reached its goal
	Again    Result = "failed again"
	Refused  Result = "refused"
	Unknown  Result = "unknown" // no response came, or the effect was not known in time
)

// final reports whether the order's command needs no more work. If a result is unknown, a later run sends the
// command again with the same ID.
func (r Result) final() bool { return r == Fixed || r == Again || r == Refused }

// Unseen is for a caller of Select that shows no progress.
func Unseen(_, _ int) {}

// Select returns the selected orders, oldest first, with the expected effect of the command on each. It sends
// no command. An invalid w leads to an error that wraps client.ErrInvalid. It calls seen with the number of orders
// that it has read, and of all; several goroutines do so.
func Select(ctx context.Context, c *client.Client, w Where, a Action, seen func(done, of int)) ([]Order, error) {
	q, err := w.query()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrInvalid, err)
	}
	var all []Order
	for s, err := range c.List(ctx, q) {
		if err != nil {
			return nil, err
		}
		all = append(all, Order{OrderID: s.OrderID})
	}
	slices.Reverse(all)
	var read atomic.Int64
	return all, each(ctx, len(all), func(i int) error {
		defer func() { seen(int(read.Add(1)), len(all)) }()
		t, err := c.Get(ctx, all[i].OrderID)
		if err != nil {
			return fmt.Errorf("order %s: %w", all[i].OrderID, err)
		}
		o := &all[i]
		o.Number = t.Command
		o.Created = t.Created
		o.Undoing = t.Phase == core.Undoing
		if t.Error != nil {
			o.Step = t.Error.Step
		}
		v, err := Would(ctx, c, t, a)
		if err != nil {
			return fmt.Errorf("order %s: %w", o.OrderID, err)
		}
		o.Would = v.Reason
		if !v.Accepted {
			o.Result = Refused
			o.Text = v.Reason
		}
		return nil
	})
}

// Group is a set of orders with the same expected effect.
type Group struct {
	Would   string
	Refused bool
	IDs     []string
}

// Groups groups the orders by expected effect. Groups whose orders would accept the command come first, and
// groups whose orders would refuse the command come last. Otherwise the groups are sorted by effect.
func Groups(orders []Order) (all []Group) {
	for i := range orders {
		o := &orders[i]
		k := slices.IndexFunc(all,
			func(g Group) bool { return g.Would == o.Would && g.Refused == (o.Result != "") })
		if k < 0 {
			k = len(all)
			all = append(all, Group{Would: o.Would, Refused: o.Result != ""})
		}
		all[k].IDs = append(all[k].IDs, o.OrderID)
	}
	slices.SortFunc(all, func(a, b Group) int {
		return cmp.Or(strings.Compare(strconv.FormatBool(a.Refused), strconv.FormatBool(b.Refused)),
			strings.Compare(a.Would, b.Would))
	})
	return all
}

// Would returns the expected verdict on a command. The verdict's reason describes the effect.
func Would(ctx context.Context, c *client.Client, t *client.Task, a Action) (client.Verdict, error) {
	if a.Command == "move" || a.Definition != "" {
		return wouldMove(ctx, c, t, a)
	}
	return would(t, a), nil
}

func would(t *client.Task, a Action) client.Verdict {
	accepts := view.Command{Command: a.Command, Step: a.Step, Fact: a.Fact}
	v := client.Verdict{Command: a.Command, Accepted: slices.Contains(t.Accepts, accepts)}
	switch {
	case !v.Accepted:
		v.Reason = whyRefused(t, accepts)
	case a.Command == "undo" || a.Command == "cancel":
		v.Reason = "what it did would be undone"
	case a.Command == "close":
		v.Reason = "it would end as it stands"
	case a.Command == "resolve" && t.State != core.Error:
		v.Reason = "its wait " + a.Step + " would end"
	case a.Command == "resolve":
		v.Reason = fmt.Sprintf("it would stay in Error, with %s stated as %s", a.Step, a.Fact)
	case a.Step != "":
		v.Reason = "it would go on, with another input for " + a.Step
	case t.State == core.Compensated:
		v.Reason = "it would start again from the beginning"
	case t.Phase == core.Undoing:
		v.Reason = "its undo would go on"
	case t.Error != nil && t.Error.Step != "":
		v.Reason = "it would go on with " + t.Error.Step
	default:
		v.Reason = "it would go on"
	}
	return v
}

// whyRefused returns the reason why an order does not accept a command now. Orders with the same reason form
// one group of a plan. Therefore the text contains no IDs or times.
func whyRefused(t *client.Task, c view.Command) string {
	ofError := c.Command == "undo" || c.Command == "resolve" || c.Command == "close"
	later := slices.ContainsFunc(t.AcceptsLater, func(l view.LaterCommand) bool { return l.Command == c })
	switch {
	case t.Parent != nil && (c.Command == "cancel" || c.Command == "undo" || c.Command == "resubmit" &&
		t.State == core.Compensated):
		return "it is a child order, which its parent decides about; give the command to the parent, " +
			"which `show` names"
	case ofError && t.State != core.Error:
		return fmt.Sprintf("only an order in Error takes %s; this one is %s", c.Command, t.State)
	case c.Command == "resubmit" && t.State != core.Error && t.State != core.Compensated:
		return fmt.Sprintf("only an order in Error, or a Compensated one, takes resubmit; this one is %s",
			t.State)
	case c.Step != "" && t.Step(c.Step) == nil:
		return "it has no step " + c.Step
	case later:
		return "a call may still take effect; `show` prints until when"
	}
	return "it would be refused as the order is now"
}

// wouldMove returns the expected verdict on a move, or on a resubmit with a definition. The reason lists the
// differences between the definitions.
func wouldMove(ctx context.Context, c *client.Client, t *client.Task, a Action) (client.Verdict, error) {
	p, err := c.PlanMove(ctx, t.OrderID, a.Definition)
	if err != nil {
		return client.Verdict{}, err
	}
	v := client.Verdict{Command: a.Command, Accepted: p.Accepted, Reason: p.Reason}
	if a.Command == "resubmit" && v.Accepted {
		v = would(t, a)
	}
	// refused is the first difference that prevents the move.
	lines := []string{}
	refused := ""
	for _, d := range p.Differences {
		what := "allowed"
		if d.Refused {
			what = "refused"
			refused = cmp.Or(refused, d.What)
		}
		if d.Step != "" {
			d.What = "step " + d.Step + ": " + d.What
		}
		lines = append(lines, d.What+" ("+what+")")
	}
	switch {
	// If the reason is not a difference, the verdict keeps the reason.
	case refused != "" && strings.Contains(p.Reason, refused):
		v.Reason = "the definitions differ: " + strings.Join(lines, "; ")
	case len(lines) == 0 && v.Accepted && v.Reason == "":
		v.Reason = "its steps would stay as they are: the definitions do not differ"
	case len(lines) > 0 && v.Accepted:
		v.Reason = strings.TrimPrefix(v.Reason+"; the definitions differ: "+strings.Join(lines, "; "), "; ")
	}
	return v, nil
}

// Send sends the command to an order. number is the order's command number at the time of the decision. id is
// the ID of the command (P5).
func (a *Action) Send(ctx context.Context, c *client.Client, order string, number int, id string,
	more ...client.CommandOption,
) (client.Verdict, error) {
	return c.Send(ctx, order, a.event(), append(more, client.CommandID(id), client.IfCommand(number))...)
}

func (a *Action) event() core.Command {
	return core.Command{
		Name: a.Command, Step: a.Step, Fact: a.Fact, Definition: a.Definition,
		Sender: core.Sender{By: a.By, Reason: a.Reason},
	}
}

// commandID returns the ID of the command to an order. It consists of the list's ID and the order's ID. If
// this is not a valid command ID, a hash of the order's ID replaces the order's ID.
func commandID(bulk, order string) string {
	id := bulk + ":" + order
	if !message.IsCommandID(id) {
		id = bulk + ":" + uuid.NewSHA1(uuid.NameSpaceOID, []byte(order)).String()
	}
	return id
}

// becameOf returns the result for an order whose command was accepted. It returns "" while the result is not
// known.
func becameOf(h *Header, o *Order, t *client.Task) (Result, string) {
	switch {
	case h.Command == "resolve" || h.Command == "move" || h.Command == "close":
		return Fixed, ""
	case t.State == core.Error && t.Command > o.Number:
		text := ""
		if t.Error != nil {
			text = strings.TrimPrefix(t.Error.Step+": "+t.Error.Message, ": ")
		}
		return Again, text
	case h.Command != "resubmit" || o.Undoing:
		if t.State == core.Compensated || t.State == core.Cancelled {
			return Fixed, ""
		}
		if t.Ended {
			return Again, "it is " + string(t.State)
		}
		return "", ""
	case t.State == core.Processed || t.State == core.Processing && passed(t, o.Step):
		return Fixed, ""
	case t.State == core.Compensating || t.Ended:
		return Again, "it is " + string(t.State)
	}
	return "", ""
}

// passed reports whether an order that goes forward is past the step at which it stopped: the step is done, or undone
// alone (P42, orders can go on after failures). An order that stopped at no step, as at its deadline, is past it.
func passed(t *client.Task, step string) bool {
	s := t.Step(step)
	return s == nil || s.State == core.Processed || s.State == core.Compensated || s.State == core.Skipped
}

// Check returns an error if every order would refuse the action.
func (a *Action) Check() error {
	ev := a.event()
	ev.ID = "any"
	ctl := message.Control{OrderID: "any", Event: ev}
	if err := ctl.Check(); err != nil {
		return errors.New(message.Reason(err))
	}
	return nil
}
