package operate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// guarded returns an account that checks each call against a policy of the template, and has an open order
// o-1.
func guarded(t *testing.T, policy string) *guard {
	t.Helper()
	environment(t)
	g := newGuard(t, policy)
	w := stacktest.New(t, stacktest.Memory())
	c := w.Client()
	submit(t, c, order("o-1", "order", "never"))
	started(t, c, "o-1")
	records, errs := w.Store.Load(t.Context(), []string{"o-1"})
	require.NoError(t, errs[0])
	task, err := state.DecodeTask(records[0].Document)
	require.NoError(t, err)
	task.Version = 1
	definition, err := w.Store.Definition(t.Context(), task.Definition)
	require.NoError(t, err)
	g.outputs["EngineWorkflowOrder"] = task.Definition
	store := dynamo.New(dynamo.NewClient(g.config(t)), dynamo.Tables{
		Orders: g.outputs["EngineOrdersTable"], Definitions: g.outputs["EngineDefinitionsTable"],
	}, dynamo.Options{Shards: 8})
	r := *records[0]
	r.Version = 1
	r.Document, err = state.EncodeTask(task)
	require.NoError(t, err)
	require.NoError(t, errors.Join(store.Commit(t.Context(), []port.Write{{Record: r}})[0],
		store.PutDefinition(t.Context(), task.Definition, definition)))
	g.evaluates = true
	return g
}

// calling is what a program or the command line does with a client.
type calling = func(ctx context.Context, c *client.Client) error

func second[T any](_ T, err error) error { return err }

// calls returns calls of a client by name.
func calls(workflow string) map[string]calling {
	letter := func(queue string) client.Handling {
		return client.Handling{
			Queue: queue, All: true, By: "ada", Reason: "test", Rate: 1000,
			Record: func(client.Handled) error { return nil },
		}
	}
	all := map[string]calling{
		"submit": func(ctx context.Context, c *client.Client) error {
			return second(c.Submit(ctx, order("o-2", "order", "")))
		},
		"submit many": func(ctx context.Context, c *client.Client) error {
			return c.SubmitMany(ctx, strings.NewReader(letterOf("IntakeDead")), func(client.Result) {})
		},
		"get":       func(ctx context.Context, c *client.Client) error { return second(c.Get(ctx, "o-1")) },
		"submitted": func(ctx context.Context, c *client.Client) error { return second(c.Submitted(ctx, "o-1")) },
		"list": func(ctx context.Context, c *client.Client) error {
			for _, err := range c.List(ctx, client.Query{}) {
				return err
			}
			return nil
		},
		"definition": func(ctx context.Context, c *client.Client) error {
			return second(c.Definition(ctx, "order", workflow))
		},
		"approvals": func(ctx context.Context, c *client.Client) error {
			_, _, err := c.Approvals(ctx, client.Query{}, "")
			return err
		},
		"document":       func(ctx context.Context, c *client.Client) error { return second(c.Document(ctx, "o-1")) },
		"plan of a move": func(ctx context.Context, c *client.Client) error { return second(c.PlanMove(ctx, "o-1", workflow)) },
		"plan of a move with documents": func(ctx context.Context, c *client.Client) error {
			return second(c.PlanMoveDocuments(ctx, "o-1", workflow))
		},
		"letters of a queue": func(ctx context.Context, c *client.Client) error {
			return second(c.DeadLetters(ctx, port.Intake, 1))
		},
		"schedules":  func(ctx context.Context, c *client.Client) error { return second(c.Schedules(ctx)) },
		"unattended": func(ctx context.Context, c *client.Client) error { return second(c.Unattended(ctx, "order")) },
		"statistics": func(ctx context.Context, c *client.Client) error {
			s, err := c.Statistics(ctx)
			if err == nil && len(s.Unknown) > 2 {
				err = fmt.Errorf("%w: %s", client.ErrForbidden, s.Unknown)
			}
			return err
		},
		"checks": func(ctx context.Context, c *client.Client) error {
			checks, err := c.Checks(ctx)
			for _, x := range checks {
				if strings.Contains(x.Text, "the permission ") && !strings.Contains(x.Text, "lambda:GetAccountSettings") {
					err = errors.Join(err, fmt.Errorf("%w: %s", client.ErrForbidden, x.Text))
				}
			}
			return err
		},
		"dead letters": func(ctx context.Context, c *client.Client) error {
			queues, err := c.DeadLetterQueues(ctx)
			for _, q := range queues {
				if q.Problem != "" {
					err = fmt.Errorf("%w: %s", client.ErrForbidden, q.Problem)
				}
			}
			return err
		},
	}
	for _, queue := range []string{port.Intake, port.Control, port.Replies, "requests-payment"} {
		all["redrive "+queue] = func(ctx context.Context, c *client.Client) error { return c.Redrive(ctx, letter(queue)) }
	}
	for _, queue := range []string{port.Quarantine, client.MissedSweeps} {
		all["discard "+queue] = func(ctx context.Context, c *client.Client) error { return c.Discard(ctx, letter(queue)) }
	}
	return all
}

// commands returns commands by name. Their contexts end when they have been sent.
func commands(workflow string) map[string]calling {
	return map[string]calling{
		"cancel":       func(ctx context.Context, c *client.Client) error { return second(c.Cancel(ctx, "o-1")) },
		"early cancel": func(ctx context.Context, c *client.Client) error { return second(c.Cancel(ctx, "o-9")) },
		"answer by token": func(ctx context.Context, c *client.Client) error {
			return second(c.Answer(ctx, "o-1", client.Reply{Token: "token", Value: "yes", Round: 1}))
		},
		"answer by name": func(ctx context.Context, c *client.Client) error {
			return second(c.Answer(ctx, "o-1", client.Reply{Event: "paid", Value: "yes", By: "ada"}))
		},
		"undo": func(ctx context.Context, c *client.Client) error {
			return second(c.Undo(ctx, "o-1", client.IfCommand(0)))
		},
		"resubmit": func(ctx context.Context, c *client.Client) error {
			return second(c.Resubmit(ctx, "o-1", client.IfCommand(0)))
		},
		"resolve": func(ctx context.Context, c *client.Client) error {
			return second(c.Resolve(ctx, "o-1", "charge", client.Happened, client.IfCommand(0)))
		},
		"move": func(ctx context.Context, c *client.Client) error {
			return second(c.Move(ctx, "o-1", workflow, client.IfCommand(0)))
		},
		"close": func(ctx context.Context, c *client.Client) error {
			return second(c.Close(ctx, "o-1", "ada", "test", client.IfCommand(0)))
		},
		"erase": func(ctx context.Context, c *client.Client) error {
			return second(c.Erase(ctx, "o-1", "ada", "test", client.IfCommand(0)))
		},
	}
}

// try makes a call, and returns its error. A command that was sent has none.
func (g *guard) try(t *testing.T, c *client.Client, name string) error {
	t.Helper()
	workflow := g.outputs["EngineWorkflowOrder"]
	if call := calls(workflow)[name]; call != nil {
		return call(t.Context(), c)
	}
	err := commands(workflow)[name](g.untilSent(t), c)
	var u *client.Undecided
	if errors.As(err, &u) && u.Queued {
		return nil
	}
	return err
}

func namesOfCalls() []string {
	return slices.Concat(slices.Sorted(maps.Keys(calls(""))), slices.Sorted(maps.Keys(commands(""))))
}

// An operator may make every call of the client, and so every call of the command line. An application may
// make the calls of applications, and no others. The ARNs are those that IAM sees: stack/NAME/* for a stack
// that is named.
func TestPoliciesAllowWhatIsCalled(t *testing.T) {
	application := []string{
		"submit", "submit many", "get", "submitted", "document", "cancel", "early cancel", "answer by token",
		"schedules",
		"definition", "plan of a move", "plan of a move with documents",
	}
	for _, policy := range []string{"Application", "Operator"} {
		for _, stack := range []string{"Shop", stackARN} {
			g := guarded(t, policy)
			for _, name := range namesOfCalls() {
				c, err := operate.OpenWith(t.Context(), g.config(t), stack)
				require.NoError(t, err)
				err = g.try(t, c, name)
				if policy == "Operator" || slices.Contains(application, name) {
					require.NoError(t, err, "%s: %s", policy, name)
					require.Empty(t, g.denied(), "%s: %s", policy, name)
				} else {
					require.NotEmpty(t, g.denied(), "%s may do: %s", policy, name)
				}
			}
		}
	}
}

// The error of a call that lacks one permission names the permission, and the policy that contains it.
func TestMissingPermissions(t *testing.T) {
	// Without these actions every call goes on, and these calls tell in their results what they could not read.
	goesOn := []string{
		"iam:GetRole", "dynamodb:DescribeLimits", "lambda:GetAccountSettings", "sqs:ChangeMessageVisibility",
	}
	tells := []string{"statistics", "unattended"}
	g := guarded(t, "Operator")
	for _, name := range namesOfCalls() {
		open := func() *client.Client {
			c, err := operate.OpenWith(t.Context(), g.config(t), "Shop")
			require.NoError(t, err)
			return c
		}
		c := open()
		g.without("")
		require.NoError(t, g.try(t, c, name))
		for _, action := range g.seen() {
			c := open()
			g.without(action)
			err := g.try(t, c, name)
			if err == nil {
				require.True(t, slices.Contains(goesOn, action) || slices.Contains(tells, name), "%s without %s", name, action)
				continue
			}
			require.ErrorContains(t, err, "the permission "+action+" on ", name)
			if name != "unattended" { // it returns the queues that it could read, too
				require.ErrorIs(t, err, client.ErrForbidden, "%s without %s", name, action)
			}
			if !strings.HasPrefix(action, "sts:") && !strings.HasPrefix(action, "iam:") { // no policy has these
				require.ErrorContains(t, err, "attach the policy arn:aws:iam::"+accountID+":policy/Shop-Engine", name)
			}
		}
	}
}

// An older stack, whose Scheduler reads no commands from the intake queue, gets them through the control
// queue.
func TestCommandsGoWhereTheStackReadsThem(t *testing.T) {
	for _, reads := range []bool{true, false} {
		w := stacktest.New(t, stacktest.Memory())
		c := w.Client()
		submit(t, c, order("o", "order", "never"))
		started(t, c, "o")
		// The Scheduler deletes the order's message after the order is there.
		for end := time.Now().Add(time.Minute); waiting(t, w, port.Intake)+
			waiting(t, w, port.Control) > 0; time.Sleep(time.Millisecond) {
			require.False(t, time.Now().After(end), "the Scheduler does not delete the order's message")
		}
		w.Held.Store(true)
		w.Parts.Outputs.IntakeCommands = reads
		intake := waiting(t, w, port.Intake)
		control := waiting(t, w, port.Control)
		g := &guard{}
		ctx := g.untilSent(t)
		w.Parts.Tasks = looking{w.Store, func() {
			if waiting(t, w, port.Intake)+waiting(t, w, port.Control) > intake+control {
				g.sent()
			}
		}}
		_, err := w.Client().Cancel(ctx, "o")
		require.Error(t, err)
		require.Equal(t, reads, waiting(t, w, port.Intake) > intake, "read from the intake queue")
	}
}
