package operate_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
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

// calls holds what programs and the command line do with a client, by name. If a command waits for its
// verdict, the guard ends the wait when the command has been sent.
func calls(g *guard) map[string]func(t *testing.T, c *client.Client) error {
	letter := func(queue string) client.Handling {
		return client.Handling{
			Queue: queue, All: true, By: "ada", Reason: "test", Rate: 1000,
			Record: func(client.Handled) error { return nil },
		}
	}
	command := func(do func(t *testing.T, c *client.Client) error) func(t *testing.T,
		c *client.Client) error {
		return func(t *testing.T, c *client.Client) error {
			err := do(t, c)
			var u *client.Undecided
			if errors.As(err, &u) && u.Queued {
				return nil
			}
			return err
		}
	}
	all := map[string]func(t *testing.T, c *client.Client) error{
		"submit": func(t *testing.T, c *client.Client) error {
			_, err := c.Submit(t.Context(), order("o-2", "order", ""))
			return err
		},
		"get":       func(t *testing.T, c *client.Client) error { return get(t, c, "o-1") },
		"submitted": func(t *testing.T, c *client.Client) error { return submitted(t, c, "o-1") },
		"cancel": command(func(t *testing.T, c *client.Client) error {
			_, err := c.Cancel(g.untilSent(t), "o-1")
			return err
		}),
		"early cancel": command(func(t *testing.T, c *client.Client) error {
			_, err := c.Cancel(g.untilSent(t), "o-9")
			return err
		}),
		"answer by token": command(func(t *testing.T, c *client.Client) error {
			_, err := c.Answer(g.untilSent(t), "o-1", client.Reply{Token: "token", Value: "yes", Round: 1})
			return err
		}),
		"list": func(t *testing.T, c *client.Client) error {
			for _, err := range c.List(t.Context(), client.Query{}) {
				return err
			}
			return nil
		},
		"answer by name": command(func(t *testing.T, c *client.Client) error {
			_, err := c.Answer(g.untilSent(t), "o-1", client.Reply{Event: "paid", Value: "yes", By: "ada"})
			return err
		}),
		"definition": func(t *testing.T, c *client.Client) error {
			_, err := c.Definition(t.Context(), "order", g.outputs["EngineWorkflowOrder"])
			return err
		},
		"page": func(t *testing.T, c *client.Client) error {
			_, _, err := c.Page(t.Context(), client.Query{}, "")
			return err
		},
		"approvals": func(t *testing.T, c *client.Client) error {
			_, _, err := c.Approvals(t.Context(), client.Query{}, "")
			return err
		},
		"document": func(t *testing.T, c *client.Client) error {
			_, err := c.Document(t.Context(), "o-1")
			return err
		},
		"plan of a move": func(t *testing.T, c *client.Client) error {
			_, err := c.PlanMove(t.Context(), "o-1", g.outputs["EngineWorkflowOrder"])
			return err
		},
		"plan of a move with documents": func(t *testing.T, c *client.Client) error {
			_, err := c.PlanMoveDocuments(t.Context(), "o-1", g.outputs["EngineWorkflowOrder"])
			return err
		},
		"letters of a queue": func(t *testing.T, c *client.Client) error {
			_, err := c.DeadLetters(t.Context(), port.Intake, 1)
			return err
		},
		"schedules": func(t *testing.T, c *client.Client) error {
			_, err := c.Schedules(t.Context())
			return err
		},
		"unattended": func(t *testing.T, c *client.Client) error {
			_, err := c.Unattended(t.Context(), "order")
			return err
		},
		"statistics": func(t *testing.T, c *client.Client) error {
			s, err := c.Statistics(t.Context())
			if err == nil && len(s.Unknown) > 2 {
				err = fmt.Errorf("%w: %s", client.ErrForbidden, s.Unknown)
			}
			return err
		},
		"checks": func(t *testing.T, c *client.Client) error {
			_, err := c.Checks(t.Context())
			return err
		},
		"dead letters": func(t *testing.T, c *client.Client) error {
			queues, err := c.DeadLetterQueues(t.Context())
			for _, q := range queues {
				if q.Problem != "" {
					err = fmt.Errorf("%w: %s", client.ErrForbidden, q.Problem)
				}
			}
			return err
		},
	}
	for name, send := range map[string]func(ctx context.Context, c *client.Client) (client.Verdict, error){
		"undo": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Undo(ctx, "o-1", client.IfCommand(0))
		},
		"resubmit": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Resubmit(ctx, "o-1", client.IfCommand(0))
		},
		"resolve": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Resolve(ctx, "o-1", "charge", client.Happened, client.IfCommand(0))
		},
		"move": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Move(ctx, "o-1", g.outputs["EngineWorkflowOrder"], client.IfCommand(0))
		},
		"close": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Close(ctx, "o-1", "ada", "test", client.IfCommand(0))
		},
		"erase": func(ctx context.Context, c *client.Client) (client.Verdict, error) {
			return c.Erase(ctx, "o-1", "ada", "test", client.IfCommand(0))
		},
	} {
		all[name] = command(func(t *testing.T, c *client.Client) error {
			_, err := send(g.untilSent(t), c)
			return err
		})
	}
	for _, queue := range []string{port.Intake, port.Control, port.Replies, "requests-payment"} {
		all["redrive "+queue] = func(t *testing.T, c *client.Client) error {
			return c.Redrive(t.Context(),
				letter(queue))
		}
	}
	for _, queue := range []string{port.Quarantine, client.MissedSweeps} {
		all["discard "+queue] = func(t *testing.T, c *client.Client) error {
			return c.Discard(t.Context(),
				letter(queue))
		}
	}
	return all
}

// An operator may make every call of the client, and so every call of the command line. An application may
// make the calls of applications, and no others. The ARNs are those that IAM sees: stack/NAME/* for a stack
// that is named.
func TestPoliciesAllowWhatIsCalled(t *testing.T) {
	application := []string{
		"submit", "get", "submitted", "document", "cancel", "early cancel", "answer by token",
		"schedules",
		"definition", "plan of a move", "plan of a move with documents",
	}
	for _, policy := range []string{"Application", "Operator"} {
		seen := map[string]bool{}
		for _, stack := range []string{"Shop", stackARN} {
			g := guarded(t, policy)
			for name, call := range calls(g) {
				c, err := operate.OpenWith(t.Context(), g.config(t), stack)
				require.NoError(t, err)
				g.denied = nil
				err = call(t, c)
				switch mayDo := policy == "Operator" || slices.Contains(application, name); {
				case mayDo:
					require.NoError(t, err, "%s: %s", policy, name)
					require.Empty(t, g.denied, "%s: %s", policy, name)
				default:
					require.NotEmpty(t, g.denied, "%s may do: %s", policy, name)
				}
			}
			maps.Copy(seen, g.seen)
		}
		for action := range actionsOfErrors(t) {
			if policy == "Operator" {
				require.True(t, seen[action])
			}
		}
	}
}

// The table of calls contains each method of the client that sends a request itself.
func TestEachMethodIsCalledUnderAPolicy(t *testing.T) {
	source, err := os.ReadFile("policy_test.go")
	require.NoError(t, err)
	made := []string{"Get", "Submitted", "OrderSchema"} // get and submitted call them; the last is Definition
	// These methods use Submit, Get and List, or are refused without a call.
	others := []string{"SubmitAll", "SubmitMany", "Wait", "Follow", "Unlisted", "Workflows", "Changes"}
	for i, of := 0, reflect.TypeFor[*client.Client](); i < of.NumMethod(); i++ {
		name := of.Method(i).Name
		if !slices.Contains(slices.Concat(made, others), name) {
			require.Contains(t, string(source), "c."+name+"(")
		}
	}
}

// actionsOfErrors returns the actions that errors of the package name. Each is a call.
func actionsOfErrors(t *testing.T) map[string]bool {
	t.Helper()
	files, err := filepath.Glob("../*.go")
	own, errOwn := filepath.Glob("*.go")
	require.NoError(t, errors.Join(err, errOwn))
	require.GreaterOrEqual(t, len(files), 5)
	require.GreaterOrEqual(t, len(own), 10)
	files = append(files, own...)
	actions := map[string]bool{}
	for _, file := range files {
		if strings.HasSuffix(file, "_test.go") {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, found := range regexp.MustCompile(`Use\{(?:Action: )?"([a-z]+:[A-Za-z]+)"`).
			FindAllStringSubmatch(string(text), -1) {
			actions[found[1]] = true
		}
	}
	require.GreaterOrEqual(t, len(actions), 8)
	return actions
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
