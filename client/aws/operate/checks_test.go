package operate_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// supervisor returns leases that show one sweep, of one shard, at a given time.
type supervisor struct {
	*memory.Store
	last, due time.Time
	err       error
}

func (s *supervisor) LeaseUntil(_ context.Context, name string) (time.Time, error) {
	if name != port.SweepLease(1) {
		return time.Time{}, s.err
	}
	return s.last, s.err
}

func (s *supervisor) Due(_ context.Context, b port.Bucket, shard int, before time.Time, _ *port.Due,
	_ int,
) ([]port.Due, error) {
	if b != port.DueBucket || shard != 2 || s.due.IsZero() || s.due.After(before) {
		return nil, nil
	}
	return []port.Due{{ID: "o", At: s.due}}, nil
}

// find returns the check with this name, and ends the test if the checks lack it.
func find(t *testing.T, checks []client.Check, name string) client.Check {
	t.Helper()
	i := slices.IndexFunc(checks, func(c client.Check) bool { return c.Name == name })
	require.GreaterOrEqual(t, i, 0, name)
	return checks[i]
}

const allWell = `stack, ok: Shop in us-east-1 has 2 workflows and 0 agents; 
access, ok: the table of orders and its index can be read; 
message path, ok: IAM allows arn:aws:iam::7:role/ops to send orders and commands; the policies of the queues and of their key were not checked; 
version, ok: this program is (devel), and the stack v1.2.3; each reads what the other writes; 
consumers, ok: every queue has a consumer; 
sweeps, ok: the Supervisor ran within the last 3m0s; 
overdue, ok: the oldest entry is 1m0s past its complete-by time; 
alerts, ok: the topic has 1 subscriber; 
alarms, ok: the topic has 2 subscribers; 
definitions, ok: 1 of 2 are stored and can be read; each is stored with its first order; 
damaged orders, ok: every order that was looked at can be read; 
messages in flight, ok: at most 0, in intake; SQS allows 120000 in a queue; 
table writes, ok: at most 79 units a second in the last hour, of a table or its index; the quota is 100 (of this account); 
concurrency, ok: its functions may run 10 at a time, and the account allows 10 in this Region; 
code storage, ok: the functions and layers of the account have 79 MB, and AWS Lambda keeps 100 MB in a Region; 
clock, ok: the clock here is within 30s of that of AWS; 
dead letters, ok: none in 1 queue; 
`

// scene is what a test of the checks can change.
type scene struct {
	*stacktest.Deployment
	*supervisor
	*account
}

// Each check finds the fault that it is for, and its text states what to do.
func TestChecks(t *testing.T) {
	also := map[string][]string{ // what else is not known then
		"the leases cannot be read": {"overdue"}, "a queue may not be looked at": {"messages in flight"},
		"the account may not be asked": {"code storage", "clock"},
	}
	for _, c := range []struct {
		name   string
		change func(x *scene)
		check  string // that finds fault; "" none
		result client.CheckResult
		text   string
		fix    string
	}{
		{"nothing is wrong", func(*scene) {}, "", "", "", ""},
		{"every status is sent", func(x *scene) {
			x.Parts.Outputs.Deployment = "Shop/Engine"
			x.metrics = &watch{}
		}, "statuses", client.CheckOK, "every status was sent within 2h0m0s", ""},
		{
			"statuses cannot be sent", func(x *scene) {
				x.Parts.Outputs.Deployment = "Shop/Engine"
				const search = `SEARCH('{Stepkeeper,Deployment,ReplyTo} Deployment="Shop/Engine" ` +
					`MetricName="StatusesNotSent"', 'Sum', 3600)`
				x.metrics = &watch{
					values: map[string]map[int]float64{search: {5: 3}},
					labels: map[string]string{search: "shop"},
				}
			}, "reply-to shop", client.CheckFailed,
			"6 status messages could not be sent within 2h0m0s; the orders", "see that its queue or bus exists",
		},
		{
			"a mapping is off",
			func(x *scene) { x.Parts.Outputs.Mappings = map[string]string{port.Intake: "m-intake"} },
			"queue intake", client.CheckFailed,
			"no consumer, 0 messages waiting: its event source mapping is disabled", "aws resume",
		},
		{
			"the mapping of the queue between tasks is off", func(x *scene) {
				x.Parts.Outputs.Tasks = "url"
				x.Parts.Outputs.Mappings = map[string]string{port.Tasks: "m-tasks"}
				x.Parts.Queues = counted{x.Parts.Queues, map[string]func() (port.Depth, error){
					port.Tasks: func() (port.Depth, error) { return port.Depth{Visible: 3}, nil },
				}}
			}, "queue tasks", client.CheckFailed,
			"no consumer, 3 messages waiting: its event source mapping is disabled", "aws resume",
		},
		{"a queue may not be looked at", func(x *scene) {
			x.Parts.Outputs.Requests = map[string]string{"mail": "url"}
			x.Parts.Queues = counted{
				x.Parts.Queues,
				map[string]func() (port.Depth, error){
					port.Requests("mail"): func() (port.Depth, error) {
						return port.Depth{}, errors.New("AccessDenied")
					},
				},
			}
		}, "consumers", client.CheckUnknown, "requests-mail", ""},
		{
			"the Supervisor never came", func(x *scene) { x.last = time.Time{} }, "sweeps", client.CheckFailed,
			"has never run", "NoSweeps",
		},
		{
			"the Supervisor does not come any more",
			func(x *scene) { x.last = time.Now().Add(-3*time.Minute - 10*time.Second) }, "sweeps",
			client.CheckFailed, "last ran 3m10s ago", "aws resume`; otherwise look at the alarm NoSweeps",
		},
		{
			"a standby", func(x *scene) {
				x.last = time.Time{}
				x.Parts.Outputs.Paused = true
			}, "sweeps", client.CheckFailed, "has never run", "the stack was deployed with Paused",
		},
		{
			"the leases cannot be read", func(x *scene) { x.err = errors.New("denied") }, "sweeps",
			client.CheckUnknown, "denied", "",
		},
		{
			"a task is late", func(x *scene) { x.due = time.Now().Add(-5*time.Minute - 20*time.Second) },
			"overdue", client.CheckFailed, "5m20s past", "Supervisor",
		},
		{
			"every agent calls", func(x *scene) { x.Parts.Schedules = recorded{} }, "outages", client.CheckOK,
			"every agent calls its service", "",
		},
		{
			"a breaker is open", func(x *scene) {
				x.Parts.Schedules = recorded{text: `{"open":[{"agent":"bank","operation":"charge",` +
					`"opened":"2026-03-01T06:00:00.000Z","first":{"code":"breaker-open","message":"refused"}},` +
					`{"agent":"mail","operation":"send","over":"2026-03-01T06:00:00.000Z","wakes":true}]}`}
			}, "agent bank charge", client.CheckFailed,
			"breaker-open since 2026-03-01T06:00:00.000Z, its steps wait, uncounted: refused",
			"repair the service behind agent bank charge",
		},
		{
			"the outages cannot be read",
			func(x *scene) { x.Parts.Schedules = recorded{err: errors.New("denied")} }, "outages",
			client.CheckUnknown, "denied", "",
		},
		{"a definition cannot be read", func(x *scene) {
			x.Parts.Definitions = damagedDefinitions{}
			x.Parts.Outputs.Workflows = map[string]string{"Order": "hash"}
		}, "definitions", client.CheckFailed, "the definition of workflow Order cannot be read", "deployed with"},
		{
			"the account is small", func(x *scene) { x.limit = 9 }, "concurrency", client.CheckFailed,
			"10 at a time, and the account allows 9 in this Region: invocations above the limit are throttled",
			"higher quota",
		},
		{
			"others have reserved what the functions need", func(x *scene) {
				x.limit = 1000
				x.unreserved = 7
			}, "concurrency", client.CheckFailed, "may run 8 at a time, and the account leaves them 7 of its 1000",
			"higher quota",
		},
		{
			"the code storage is nearly full", func(x *scene) { x.code = 80 }, "code storage", client.CheckFailed,
			"have 80 MB, and AWS Lambda keeps 100 MB", "Function and layer storage",
		},
		{
			"the stack is of older code", func(x *scene) { x.Parts.Outputs.Release.Messages-- }, "version",
			client.CheckFailed, "the stack was built from v1.2.3",
			"use the stepkeeper that the stack was built from",
		},
		{
			"the stack is of newer code", func(x *scene) { x.Parts.Outputs.Release.Tasks++ }, "version",
			client.CheckFailed, "what only the newer one writes cannot be read", "update the stack",
		},
		{
			"the stack has no such output", func(x *scene) { x.Parts.Outputs.Release = view.Release{} },
			"version", client.CheckUnknown, "not checked: the stack does not report its version", "update",
		},
		{
			"orders may not be sent", func(x *scene) { x.denied = ":7:Intake" }, "message path",
			client.CheckFailed,
			"IAM does not allow arn:aws:iam::7:role/ops to send to the queue intake (implicitDeny)",
			"arn:aws:iam::1:policy/App",
		},
		{"orders of high priority may not be sent", func(x *scene) {
			x.Parts.Outputs.High = map[string]string{port.Intake: "https://sqs/7/IntakeHigh"}
			x.denied = ":7:IntakeHigh"
		}, "message path", client.CheckFailed, "to the queue intake-high", ""},
		{
			"commands may not be sent", func(x *scene) { x.denied = "us-east-1:7:Control" }, "message path",
			client.CheckFailed, "to the queue control", "",
		},
		{
			"IAM may not be asked", func(x *scene) { x.noIAM = true }, "message path", client.CheckUnknown,
			"not checked: ", "",
		},
		{
			"IAM leaves a queue out", func(x *scene) { x.denied = "none" }, "message path", client.CheckUnknown,
			"did not answer for 1 of 2", "",
		},
		{
			"a role of single sign-on may send nothing", func(x *scene) {
				x.caller = "arn:aws:sts::7:assumed-role/AWSReservedSSO_Admin_abc/ann"
				x.denied = "Intake"
				x.roles = map[string]string{"AWSReservedSSO_Admin_abc": "arn:aws:iam::7:role" +
					"/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_abc"}
			}, "message path", client.CheckFailed,
			"IAM does not allow arn:aws:iam::7:role/aws-reserved/sso.amazonaws.com/eu-west-1/AWSReservedSSO_Admin_abc to send",
			"",
		},
		{"a role with a path may send nothing", func(x *scene) {
			x.denied = "Intake"
			x.roles = map[string]string{"ops": "arn:aws:iam::7:role/teams/ops"}
		}, "message path", client.CheckFailed, "IAM does not allow arn:aws:iam::7:role/teams/ops to send", ""},
		{
			"the path of a role of single sign-on may not be asked",
			func(x *scene) { x.caller = "arn:aws:sts::7:assumed-role/AWSReservedSSO_Admin_abc/ann" },
			"message path", client.CheckUnknown,
			"the path of the role AWSReservedSSO_Admin_abc of single sign-on is not known", "",
		},
		{
			"the account itself calls", func(x *scene) { x.caller = "arn:aws:iam::7:root" }, "message path",
			client.CheckUnknown, "neither a role nor a user", "",
		},
		{
			"a queue is nearly full of messages in flight", func(x *scene) {
				x.Parts.Outputs.Requests = map[string]string{"mail": "url"}
				x.Parts.Queues = counted{
					x.Parts.Queues,
					map[string]func() (port.Depth, error){
						port.Requests("mail"): func() (port.Depth, error) {
							return port.Depth{InFlight: 96_000}, nil
						},
					},
				}
			}, "messages in flight", client.CheckFailed, "at most 96000, in requests-mail; SQS allows 120000",
			"receive less at a time",
		},
		{"a queue's messages in flight cannot be counted", func(x *scene) {
			x.Parts.Queues = counted{
				x.Parts.Queues,
				map[string]func() (port.Depth, error){
					port.Replies: func() (port.Depth, error) {
						return port.Depth{}, errors.New("AccessDenied")
					},
				},
			}
		}, "messages in flight", client.CheckUnknown, "not checked: ", ""},
		{
			"a table is written to as fast as the account may", func(x *scene) { x.metrics = written(80) },
			"table writes", client.CheckFailed,
			"at most 80 units a second in the last hour, of a table or its index; the quota is 100 (of this account)",
			"Table-level write throughput limit",
		},
		{
			"the limits of tables may not be asked", func(x *scene) {
				x.noLimits = true
				x.metrics = written(32_000)
			}, "table writes", client.CheckFailed,
			"the quota is 40000 (AWS's default, because dynamodb:DescribeLimits is not allowed)", "higher quota",
		},
		{
			"metrics may not be read", func(x *scene) { x.metrics = &watch{denied: true} }, "table writes",
			client.CheckUnknown, "not checked: ", "",
		},
		{
			"the account may not be asked", func(x *scene) { x.limit = 0 }, "concurrency", client.CheckUnknown,
			"the permission lambda:GetAccountSettings on the account is missing", "",
		},
		{
			"nobody has subscribed to alerts",
			func(x *scene) {
				x.subscribers["arn:alerts"] = map[string]string{"SubscriptionsConfirmed": "0", "SubscriptionsPending": "0"}
			},
			"alerts", client.CheckFailed, "the topic has no subscriber",
			"aws sns subscribe --topic-arn arn:alerts --protocol email",
		},
		{
			"nobody has confirmed the mail about alarms",
			func(x *scene) {
				x.subscribers["arn:alarms"] = map[string]string{"SubscriptionsConfirmed": "0", "SubscriptionsPending": "1"}
			},
			"alarms", client.CheckFailed, "1 subscription that waits for its confirmation",
			"the link in the mail",
		},
		{"a trial without alarms has no subscriber", func(x *scene) {
			x.Parts.Outputs.Alarms = ""
			x.subscribers["arn:alerts"] = map[string]string{"SubscriptionsConfirmed": "0", "SubscriptionsPending": "0"}
		}, "alerts", client.CheckOK, "nobody receives them", ""},
		{
			"the topic may not be asked", func(x *scene) { delete(x.subscribers, "arn:alerts") }, "alerts",
			client.CheckUnknown, "the permission sns:GetTopicAttributes on the topic arn:alerts is missing", "",
		},
		{
			"the tables may not be read", func(x *scene) { x.Parts.Tasks = deniedTasks{} }, "access",
			client.CheckFailed, "Denied", "arn:aws:iam::1:policy/Op",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := stacktest.New(t, stacktest.Memory())
			s := &supervisor{
				last: time.Now().Add(-2 * time.Minute), due: time.Now().Add(-time.Minute),
			}
			a := &account{
				limit: 10, unreserved: 8, code: 79, tableLimit: 100, metrics: written(79),
				caller: "arn:aws:sts::7:assumed-role/ops/ann",
				subscribers: map[string]map[string]string{
					"arn:alerts": {"SubscriptionsConfirmed": "1", "SubscriptionsPending": "1"},
					"arn:alarms": {"SubscriptionsConfirmed": "2", "SubscriptionsPending": "0"},
				},
			}
			o := &w.Parts.Outputs
			if c.check == "" { // with its first order one of two definitions is stored
				c := w.Client()
				submit(t, c, order("o", "order", ""))
				task, err := c.Wait(t.Context(), "o")
				require.NoError(t, err)
				o.Workflows = map[string]string{"Order": task.Definition, "Halt": "none"}
			}
			o.Concurrency = 10
			o.Shared = 8
			o.SweepInterval = time.Minute
			o.Release = view.Built()
			o.Release.Version = "v1.2.3"
			o.Dead = map[string]string{port.Intake: "url"}
			o.Intake = "https://sqs/7/Intake"
			o.Control = "https://sqs/7/Control"
			o.Application = "arn:aws:iam::1:policy/App"
			none := func() (port.Depth, error) { return port.Depth{}, nil }
			w.Parts.Queues = counted{
				w.Parts.Queues,
				map[string]func() (port.Depth, error){
					"dead-intake":          none,
					port.Intake:            none,
					port.Control:           none,
					port.Replies:           none,
					port.High(port.Intake): none,
				},
			}
			w.Parts.Sweeps = s
			config := awsstub.Config(t, a.answer)
			w.Parts.Config = &config
			o.Alerts = "arn:alerts"
			o.Alarms = "arn:alarms"
			c.change(&scene{w, s, a})
			checks, err := w.Client().Checks(t.Context())
			require.NoError(t, err)
			for _, x := range checks {
				if x.Name != c.check && !slices.Contains(also[c.name], x.Name) {
					require.Equal(t, client.CheckOK, x.Result, x.Name)
				}
			}
			if c.check == "" {
				var text strings.Builder
				for _, x := range checks {
					fmt.Fprintf(&text, "%s, %s: %s; %s\n", x.Name, x.Result, x.Text, x.Fix)
				}
				require.Equal(t, allWell, text.String())
				return
			}
			found := find(t, checks, c.check)
			require.Equal(t, c.result, found.Result)
			require.Contains(t, found.Text, c.text, "%+v", c.result)
			require.Contains(t, found.Fix, c.fix, "%+v", c.result)
		})
	}
}

type damagedDefinitions struct{}

func (damagedDefinitions) Definition(context.Context, string) ([]byte, error) {
	return []byte("{"), nil
}

type deniedTasks struct{ aws.Tasks }

func (deniedTasks) Load(context.Context, []string) ([]*port.Record, []error) {
	return []*port.Record{nil}, []error{errors.New("AccessDenied")}
}

func (deniedTasks) Content(context.Context, string, string) ([]byte, error) {
	return nil, port.ErrNotFound
}
func (deniedTasks) Ended(context.Context, string) (bool, error)         { return false, nil }
func (deniedTasks) List(context.Context, port.Query) (port.Page, error) { return port.Page{}, nil }

// Through the SDK: the dead letters of each queue are counted and reported with their age, by the clock of
// AWS.
func TestChecksOfDeadLetters(t *testing.T) {
	c, open := stackOf(t)
	count := depths(map[string]int{"EngineRequestsPaymentDeadUrl": 2, "EngineQuarantineUrl": 1})
	sent := time.Now().Add(-50 * time.Hour)
	c.sqs = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "ReceiveMessage") {
			w.Header().Set("Content-Type", "application/x-amz-json-1.0")
			_, _ = w.Write([]byte(`{"Messages":[{"MessageId":"a","ReceiptHandle":"a","Body":"{}","Attributes":{"SentTimestamp":"` + millis(sent) + `"}},
				{"MessageId":"b","ReceiptHandle":"b","Body":"{}","Attributes":{"SentTimestamp":"` + millis(sent.Add(time.Hour)) + `"}}]}`))
			return
		}
		count.ServeHTTP(w, r)
	})
	checks, err := open().Checks(t.Context())
	require.NoError(t, err)
	for _, name := range []string{"dead letters of requests-payment", "quarantine"} {
		d := find(t, checks, name)
		require.Equal(t, client.CheckFailed, d.Result)
		require.Contains(t, d.Text, "the oldest of 2 looked at was sent 50h0m0s ago, and is deleted in 286h0m0s")
		require.NotEmpty(t, d.Fix)
	}
	require.Equal(t, client.CheckOK, find(t, checks, "clock").Result)
	for _, check := range checks {
		if strings.HasPrefix(check.Name, "dead letters of") &&
			check.Name != "dead letters of requests-payment" {
			t.Errorf("%+v", check)
		}
	}
}

func millis(t time.Time) string { return strconv.FormatInt(t.UnixMilli(), 10) }

// The concurrency that the deployment's functions need is compared with the account's limits, and a missing
// right is reported.
func TestRoom(t *testing.T) {
	environment(t)
	c := newCloud(t)
	c.outputs = golden(t)
	o := aws.Options{Region: "eu-central-1", Endpoint: c.URL}
	const needs = 3*5 + 4*5 + 1 // mappings of the Scheduler and of four agents, and the Supervisor
	room, err := operate.RoomOf(t.Context(), "Shop", o)
	require.NoError(t, err)
	require.Equal(t, 10, room.Limit)
	require.Equal(t, needs, room.Needs)
	c.failing.Store(&[2]string{"lambda:GetAccountSettings", "AccessDeniedException"})
	_, err = operate.RoomOf(t.Context(), "Shop", o)
	require.ErrorIs(t, err, client.ErrForbidden)
	require.ErrorContains(t, err, "lambda:GetAccountSettings")
	require.NotContains(t, err.Error(), "attach the policy")
	_, err = operate.RoomOf(t.Context(), "None", o)
	require.ErrorIs(t, err, aws.ErrNoStack)
}
