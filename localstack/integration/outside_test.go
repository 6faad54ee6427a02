package integration

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// The policies for people and programs outside, each held by a user who has nothing else.

// outside is something that a program does with package client, and the grants that it needs.
type outside struct {
	name  string
	needs []grant
	do    func(t *testing.T, u *user, o *order) error
}

func outsideCalls(actor string) []outside {
	on := func(action, resource string) grant { return grant{actor, action, resource} }
	with := func(t *testing.T, u *user, do func(c *client.Client) error) error {
		c, err := operate.OpenWith(t.Context(), u.Config, u.s.assembly.Stack)
		if err != nil {
			return err
		}
		return do(c)
	}
	describe := on("cloudformation:DescribeStacks", anywhere)
	task := on("dynamodb:GetItem", "Orders")
	definition := on("dynamodb:GetItem", "Definitions")
	calls := []outside{
		{
			"submit",
			[]grant{describe, on("sqs:SendMessage", "Intake")},
			func(t *testing.T, u *user, o *order) error {
				return with(t, u, func(c *client.Client) error {
					_, err := c.Submit(t.Context(),
						client.Order{ID: o.id, Workflow: "order", Content: json.RawMessage(o.content())})
					return err
				})
			},
		},
		{
			"submit with high priority",
			[]grant{on("sqs:SendMessage", "IntakeHigh")},
			func(t *testing.T, u *user, o *order) error {
				return with(t, u, func(c *client.Client) error {
					_, err := c.Submit(t.Context(), client.Order{
						ID: o.id + "-high", Workflow: "writing",
						Priority: "high", Content: json.RawMessage(o.content()),
					})
					return err
				})
			},
		},
		{"wait", []grant{task, definition}, func(t *testing.T, u *user, o *order) error {
			return with(t, u, func(c *client.Client) error {
				_, err := c.Wait(t.Context(), o.id)
				for end := time.Now().Add(soon); errors.Is(err, client.ErrNotFound) &&
					time.Now().Before(end); time.Sleep(look) {
					_, err = c.Wait(t.Context(), o.id) // it was queued by another client, and is on its way
				}
				return err
			})
		}},
		{
			"read the order",
			[]grant{on("dynamodb:GetItem", "Orders")},
			func(t *testing.T, u *user, o *order) error {
				return with(t, u, func(c *client.Client) error {
					_, err := c.Submitted(t.Context(), o.id)
					return err
				})
			},
		},
		{"cancel", []grant{on("sqs:SendMessage", "IntakeHigh")}, func(t *testing.T, u *user, o *order) error {
			return with(t, u, func(c *client.Client) error {
				_, err := c.Cancel(t.Context(), o.id)
				if errors.Is(err, client.ErrRefused) && !errors.Is(err, client.ErrForbidden) {
					return nil // a processed order cannot be cancelled: the command came through
				}
				return err
			})
		}},
	}
	if actor == "Operator" {
		calls = append(calls, outside{
			"undo",
			[]grant{on("sqs:SendMessage", "Control")},
			func(t *testing.T, u *user, o *order) error {
				return with(t, u, func(c *client.Client) error {
					_, err := c.Undo(t.Context(), o.id)
					if errors.Is(err, client.ErrRefused) && !errors.Is(err, client.ErrForbidden) {
						return nil // a processed order cannot be undone: the command came through
					}
					return err
				})
			},
		}, outside{
			"list",
			[]grant{on("dynamodb:Query", "Orders/index/complete-by")},
			func(t *testing.T, u *user, _ *order) error {
				return with(t, u, func(c *client.Client) error {
					for _, err := range c.List(t.Context(), client.Query{}) {
						return err
					}
					return nil
				})
			},
		}, outside{"discard dead letters", []grant{
			on("sqs:ReceiveMessage", "RepliesDead"),
			on("sqs:DeleteMessage", "RepliesDead"),
		}, func(t *testing.T, u *user, _ *order) error {
			require.NoError(t, cdkapp.DeadLetter(t.Context(), u.s.config, u.s.url(t, "RepliesDead"), "{}"))
			return with(t, u, func(c *client.Client) error {
				return c.Discard(t.Context(), client.Handling{
					Queue: "replies", All: true, By: actor,
					Reason: "tried", Record: func(client.Handled) error { return nil },
				})
			})
		}})
	}
	return calls
}

func (o *order) content() string {
	_, content, _ := strings.Cut(o.body, `"order":{`)
	return "{" + strings.TrimSuffix(strings.TrimSpace(content), "}")
}

// An application does all its calls with its policy, and none of them without one of its grants; an
// operator too, who may list in addition, look at every queue, and handle the dead letters.
func TestOutside(t *testing.T) {
	s := on(t, ministack)
	for actor, output := range map[string]string{
		"Application": "EngineApplicationPolicy",
		"Operator":    "EngineOperatorPolicy",
	} {
		t.Run(actor, func(t *testing.T) {
			u := s.newUser(t, actor)
			whole := s.managedPolicy(t, output).spelledOut()
			o := s.newOrder(t, "order")
			shown := map[grant]bool{}
			for _, c := range outsideCalls(actor) {
				for _, g := range c.needs {
					u.may(t, whole.without(s, g))
					require.ErrorIs(t, c.do(t, u, o), client.ErrForbidden, c.name)
					shown[g] = true
				}
				u.may(t, whole)
				require.NoError(t, c.do(t, u, o), c.name)
			}
			for _, g := range whole.grants(s, actor) {
				if !shown[g] {
					s.byHand(t, u, whole, g)
				}
			}
		})
	}
}

// byHand does what an operator does in the console, without the grant and with it.
func (s *site) byHand(t *testing.T, u *user, whole policy, g grant) {
	t.Helper()
	// MiniStack asks for lambda:ListEventSourceMappings on anything instead.
	if g.action == "lambda:GetEventSourceMapping" {
		return
	}
	resource := g.resource
	if resource == anywhere {
		resource = "IntakeDead"
	}
	url, isQueue := s.outputs["Engine"+resource+"Url"]
	// One statement names queues and topics. IAM never sees an action of one service on a resource of the other.
	if !isQueue || strings.HasPrefix(g.action, "sns:") {
		return
	}
	client := sqs.NewFromConfig(u.Config)
	arn, err := s.arn(t.Context(), url)
	require.NoError(t, err)
	try := map[string]func() error{
		"sqs:GetQueueAttributes": func() error {
			_, err := client.GetQueueAttributes(t.Context(),
				&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: attributeNames("All")})
			return err
		},
		"sqs:ReceiveMessage": func() error {
			_, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &url})
			return err
		},
		"sqs:DeleteMessage": func() error {
			_, err := client.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{QueueUrl: &url, ReceiptHandle: sdk.String("none")})
			return err
		},
		"sqs:ChangeMessageVisibility": func() error {
			_, err := client.ChangeMessageVisibility(t.Context(),
				&sqs.ChangeMessageVisibilityInput{QueueUrl: &url, ReceiptHandle: sdk.String("none")})
			return err
		},
		"sqs:ListMessageMoveTasks": func() error {
			_, err := client.ListMessageMoveTasks(t.Context(),
				&sqs.ListMessageMoveTasksInput{SourceArn: &arn})
			return err
		},
		"sqs:StartMessageMoveTask": func() error {
			_, err := client.StartMessageMoveTask(t.Context(),
				&sqs.StartMessageMoveTaskInput{SourceArn: &arn})
			return err
		},
		// MiniStack cannot show that these are needed.
		"cloudwatch:GetMetricData": nil, // MiniStack does not ask, and its answer cannot be read
		// its queue stands inside a handle that only a redrive under way has
		"sqs:CancelMessageMoveTask": nil,
		"sqs:SendMessage":           nil, // a redrive sends with it, and MiniStack's does so without asking
	}
	call, known := try[g.action]
	if call == nil {
		require.True(t, known, "%s: nothing shows that it is needed", g)
		return
	}
	for _, may := range []bool{false, true} {
		p := whole
		if !may {
			p = whole.without(s, g)
		}
		u.may(t, p)
		var api smithy.APIError
		denied := errors.As(call(), &api) && strings.HasPrefix(api.ErrorCode(), "AccessDenied")
		require.NotEqual(t, may, denied)
	}
}
