package deployment_test

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func good() map[string]string {
	return map[string]string{
		deployment.VarQueues: `{"intake":"https://sqs/1/S-intake","replies":"https://sqs/1/S-replies","control":"https://sqs/1/S-control","quarantine":"https://sqs/1/S-q","requests-payment":"https://sqs/1/S-pay"}`,
		deployment.VarReplyTo: `{"shop":"https://sqs/1/shop",` +
			`"events":"arn:aws:events:eu-west-3:111122223333:event-bus/b"}`,
		deployment.VarOrders:      "orders",
		deployment.VarDefinitions: "definitions",
		deployment.VarShards:      "8",
		deployment.VarAlerts:      "arn:aws:sns:eu-central-1:1:alerts",
		deployment.VarCapacity:    `{"payment":50}`,
		deployment.VarSweepEvery:  "5m",
		deployment.VarSweepPages:  "70",
		deployment.VarFairQueues:  "true",
		deployment.VarTokenKeys:   "arn:aws:secretsmanager:keys",
		deployment.VarStack:       "Shop/Engine",
		deployment.VarAgents:      "~=S-Requests,shipping=~Ship-1=AROASHIP+AROASHIP2,mail=Cut-off-X,far=https://sqs/2/far",
		deployment.VarTaskTTL:     "720h",
		deployment.VarFinished:    "true",
		deployment.VarOutcomes:    "true",
		deployment.VarAgent:       "payment",
		deployment.VarSecrets:     `{"TOKEN":{"secret":"arn:aws:secretsmanager:x","field":"token"},"KEY":{"parameter":"/pay/key"}}`,
		"LAMBDA_TASK_ROOT":        "/var/task",

		"AWS_LAMBDA_LOG_STREAM_NAME": "2026/11/21/[$LATEST]0123456789abcdef",
	}
}

func lookup(env map[string]string) deployment.Lookup {
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

// All settings of a deployment are read.
func TestGood(t *testing.T) {
	const engine = `Engine:{Instance:89abcdef Orders:orders Definitions:definitions Shards:8 Finished:true TaskTTL:720h0m0s ` +
		`Queues:map[control:https://sqs/1/S-control intake:https://sqs/1/S-intake quarantine:https://sqs/1/S-q replies:https://sqs/1/S-replies ` +
		`requests-far:https://sqs/2/far requests-mail:https://sqs/1/Cut-off-X requests-payment:https://sqs/1/S-pay requests-shipping:https://sqs/1/S-RequestsShip-1] ` +
		`ReplyTo:map[events:arn:aws:events:eu-west-3:111122223333:event-bus/b shop:https://sqs/1/shop] Alerts:arn:aws:sns:eu-central-1:1:alerts Priorities:false Stack:Shop/Engine Window:0s Reminder:0s Outcomes:true Region: LogGroup: ` +
		`Senders:map[shipping:[AROASHIP AROASHIP2]]}`
	sch, err1 := deployment.ReadScheduler(lookup(good()))
	sup, err2 := deployment.ReadSupervisor(lookup(good()))
	agent, err3 := deployment.ReadAgent(lookup(good()), true)
	require.NoError(t, errors.Join(err1, err2, err3))
	for want, got := range map[string]any{
		`{` + engine +
			` Workflows:/var/task/workflows FairQueues:true TokenKeys:arn:aws:secretsmanager:keys Capacity:map[payment:50]}`: sch,
		`{` + engine +
			` Capacity:map[payment:50] SweepEvery:5m0s Workflows:/var/task/workflows PagesPerSweep:70}`: sup,
		`{Name:payment Stack:Shop/Engine Queues:map[control:https://sqs/1/S-control intake:https://sqs/1/S-intake quarantine:https://sqs/1/S-q replies:https://sqs/1/S-replies requests-payment:https://sqs/1/S-pay] ` +
			`Ledger: Secrets:map[KEY:{Secret: Field: Parameter:/pay/key} TOKEN:{Secret:arn:aws:secretsmanager:x Field:token Parameter:}] Config:/var/task/agent.json}`: agent,
	} {
		require.Equal(t, want, fmt.Sprintf("%+v", got))
	}
}

// One error lists every fault, so that a broken deployment is corrected in one step.
func TestAllProblemsAtOnce(t *testing.T) {
	_, err := deployment.ReadScheduler(lookup(nil))
	for _, want := range []string{
		deployment.VarQueues, deployment.VarOrders, deployment.VarDefinitions,
		deployment.VarShards, deployment.VarAlerts, "LAMBDA_TASK_ROOT",
	} {
		require.ErrorContains(t, err, want)
	}
	_, err = deployment.ReadAgent(lookup(nil), false)
	require.Error(t, err)
	require.Equal(t, 2, strings.Count(err.Error(), "\n"))
	require.NotContains(t, err.Error(), "LAMBDA_TASK_ROOT")
}

func TestEachProblem(t *testing.T) {
	for _, c := range []struct{ name, value, want string }{
		{deployment.VarShards, "0", "from 1 to 1024"},
		{deployment.VarShards, "many", "from 1 to 1024"},
		{deployment.VarQueues, "intake", "no JSON object"},
		{deployment.VarQueues, `{"intake":"https://sqs/1/i"}`, `lacks the queue "replies"`},
		{deployment.VarReplyTo, `{"shop":"shop queue"}`, "it must be the URL of a queue"},
		{deployment.VarReplyTo, `{"shop":"https://sqs/1/"}`, "it must be the URL of a queue"},
		{deployment.VarReplyTo, `{"shop":"arn:aws:sns:eu-west-3:111122223333:shop"}`, "it must be the URL of a queue"},
		{
			deployment.VarReplyTo, `{"control":"arn:aws:events:eu-west-3:111122223333:event-bus/b"}`,
			`has "control"`,
		},
		{deployment.VarAgents, "payment", `has the entry "payment"`},
		{deployment.VarAgents, "mail=q=AROA=B=C", `has the entry "mail=q=AROA=B=C"`},
		{deployment.VarAgents, "mail=q=AROA=h h", `"h h" for the queue "requests-mail-high"`},
		{deployment.VarAgents, "mail=q,mail=r", `has the entry "mail=r"`},
		{deployment.VarAgents, "mail=", `for the queue "requests-mail"`},
		{deployment.VarReplyTo, `{"control":"https://sqs/1/shop"}`, `has "control"`},
		{deployment.VarSweepEvery, "45s", "from 1m0s to 1h0m0s"},
		{deployment.VarSweepPages, "0", "from 1 to 10000"},
		{deployment.VarFairQueues, "perhaps", "true or false"},
		{deployment.VarOutcomes, "perhaps", "true or false"},
		{deployment.VarTaskTTL, "soon", "a time from"},
		{deployment.VarTaskTTL, "59m", "a time from 1h0m0s to 87600h0m0s"},
		{deployment.VarTaskTTL, "87601h", "a time from 1h0m0s to 87600h0m0s"},
		{deployment.VarShards, "", deployment.VarShards + " is not set"},
		{deployment.VarShards, "1025", "from 1 to 1024"},
		{deployment.VarSweepPages, "10001", "from 1 to 10000"},
		{deployment.VarSweepEvery, "61m", "from 1m0s to 1h0m0s"},
		{deployment.VarQueues, "", deployment.VarQueues + " is not set"},
		{deployment.VarAgents, "=q", `has the entry "=q"`},
		{deployment.VarFinished, "yes", "true or false"},
		{deployment.VarCapacity, `{"payment":"much"}`, "no JSON object"},
		{deployment.VarLedger, "./ledger", deployment.VarLedgerFolder},
		{deployment.VarSecrets, `{"T":{}}`, `has "T"`},
		{deployment.VarSecrets, `{"T":{"secret":"a","parameter":"b"}}`, `has "T"`},
		{deployment.VarSecrets, `{"T":{"parameter":"b","field":"x"}}`, `has "T"`},
	} {
		env := maps.Clone(good())
		env[c.name] = c.value
		_, e1 := deployment.ReadScheduler(lookup(env))
		_, e2 := deployment.ReadSupervisor(lookup(env))
		_, e3 := deployment.ReadAgent(lookup(env), true)
		err := errors.Join(e1, e2, e3)
		require.ErrorContains(t, err, c.want, c.name)
		require.ErrorContains(t, err, "\n"+c.name+" ", c.name)
		require.NotContains(t, err.Error(), "%!", c.name)
		_, err = deployment.ReadSecrets(lookup(env))
		require.Equal(t, c.name == deployment.VarSecrets, err != nil, c.name)
	}
}

// Values at the bounds are allowed, and absent settings have their documented defaults.
func TestBounds(t *testing.T) {
	for _, c := range []map[string]string{
		{
			deployment.VarShards: "1", deployment.VarSweepPages: "1", deployment.VarSweepEvery: "1m",
			deployment.VarTaskTTL: "1h",
		},
		{
			deployment.VarShards: "1024", deployment.VarSweepPages: "10000", deployment.VarSweepEvery: "1h",
			deployment.VarTaskTTL: "87600h",
		},
	} {
		env := good()
		maps.Copy(env, c)
		s, err := deployment.ReadSupervisor(lookup(env))
		got := fmt.Sprint(s.Shards, " ", s.PagesPerSweep)
		require.NoError(t, err, "%+v", c)
		require.Equal(t, c[deployment.VarShards]+" "+c[deployment.VarSweepPages], got, "%+v", c)
		require.Equal(t, map[string]string{"1m": "1m0s", "1h": "1h0m0s"}[c[deployment.VarSweepEvery]],
			s.SweepEvery.String(), "%+v", c)
		require.GreaterOrEqual(t, s.TaskTTL, time.Hour, "%+v", c)
	}
	for name, c := range map[string]struct {
		set  map[string]string
		want string // of the Scheduler; a text of an error
	}{
		"defaults": {nil, "/var/task/workflows orders local 0s 0s  "},
		"elsewhere, with spaces": {map[string]string{
			deployment.VarWorkflows: " /elsewhere ", deployment.VarOrders: " orders\n",
		}, "/elsewhere orders local 0s 0s  "},
		"no reminder": {map[string]string{
			deployment.VarWindow: "1h", deployment.VarReminder: "0s",
			"AWS_LAMBDA_LOG_GROUP_NAME": "/shop/Scheduler", "AWS_REGION": "eu-central-1",
		}, "/var/task/workflows orders local 1h0m0s -1ns /shop/Scheduler eu-central-1"},
		"a reminder": {
			map[string]string{deployment.VarReminder: "2h"},
			"/var/task/workflows orders local 0s 2h0m0s  ",
		},
		"a window too short": {map[string]string{deployment.VarWindow: "10s"}, "STEPKEEPER_ALERT_WINDOW"},
		"a short name of a log, and not finished": {map[string]string{
			"AWS_LAMBDA_LOG_STREAM_NAME": "short", deployment.VarFinished: "false",
		}, "/var/task/workflows orders short 0s 0s  "},
	} {
		env := good()
		for _, name := range []string{
			deployment.VarFinished, deployment.VarFairQueues, deployment.VarTokenKeys, deployment.VarTaskTTL,
			deployment.VarSweepPages, deployment.VarCapacity, deployment.VarReplyTo, deployment.VarAgents,
			"AWS_LAMBDA_LOG_STREAM_NAME",
		} {
			delete(env, name)
		}
		maps.Copy(env, c.set)
		s, err := deployment.ReadScheduler(lookup(env))
		if err != nil {
			require.ErrorContains(t, err, c.want, name)
			continue
		}
		require.Equal(t, c.want, fmt.Sprint(s.Workflows, " ", s.Orders, " ", s.Instance, " ", s.Window, " ",
			s.Reminder, " ", s.LogGroup, " ", s.Region), name)
		require.False(t, s.Finished || s.FairQueues || s.TokenKeys != "" || s.TaskTTL != 0 || len(s.ReplyTo) > 0,
			name)
		sup, err := deployment.ReadSupervisor(lookup(env))
		require.NoError(t, err, name)
		require.Zero(t, sup.PagesPerSweep+len(sup.Capacity), name)
		require.Equal(t, s.Instance, sup.Instance, name)
	}
}

// An agent outside the deployment gets the addresses of its three queues, or none.
func TestProcess(t *testing.T) {
	urls := map[string]string{
		deployment.VarRequestsURL: "https://sqs/1/S-pay", deployment.VarRepliesURL: "https://sqs/1/S-replies",
		deployment.VarQuarantineURL: "https://sqs/1/S-q",
	}
	with := func(env map[string]string, more ...string) map[string]string {
		env = maps.Clone(env)
		for i := 0; i < len(more); i += 2 {
			env[more[i]] = more[i+1]
		}
		return env
	}
	p, err := deployment.ReadProcess(lookup(with(urls, deployment.VarLedger,
		"arn:aws:dynamodb:eu-central-1:1:table/ledger")), "payment")
	require.NoError(t, err)
	require.Equal(t, "https://sqs/1/S-pay", p.Queues[port.Requests("payment")])
	require.Len(t, p.Queues, 3)
	require.True(t, strings.HasSuffix(p.Ledger, "/ledger"), "%+v %v", p, err)
	p, err = deployment.ReadProcess(lookup(map[string]string{
		deployment.VarQueuePrefix:  "test-",
		deployment.VarLedgerFolder: "./ledger",
	}), "payment")
	require.NoError(t, err)
	require.Nil(t, p.Queues)
	require.Equal(t, "test-", p.Prefix)
	require.Equal(t, "./ledger", p.LedgerFolder)
	for name, c := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"two are missing": {
			map[string]string{deployment.VarRepliesURL: "https://sqs/1/r"},
			[]string{deployment.VarQuarantineURL + " is not set", deployment.VarRequestsURL + " is not set"},
		},
		"a name, and two ledgers": {
			with(urls, deployment.VarRepliesURL, "replies", deployment.VarLedger, "t",
				deployment.VarLedgerFolder, "f"),
			[]string{deployment.VarRepliesURL + ` is "replies"`, "there is one ledger"},
		},
		"names and addresses": {
			with(urls, deployment.VarQueuePrefix, "S-"),
			[]string{deployment.VarQueuePrefix + " is set, and so are addresses"},
		},
		"a folder for a table": {
			map[string]string{deployment.VarLedger: "/var/ledger"},
			[]string{deployment.VarLedgerFolder},
		},
	} {
		_, err := deployment.ReadProcess(lookup(c.env), "payment")
		for _, want := range append(c.want, "the environment does not say where the agent belongs; set:\n") {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "%!") {
				t.Errorf("%s: %v; want %q", name, err, want)
			}
		}
	}
}

// The settings that the construct writes for its agents are read correctly, whatever names CloudFormation
// chooses.
func TestPeers(t *testing.T) {
	env := maps.Clone(good())
	env[deployment.VarQueues] = `{"intake":"https://sqs.x/1/S-Intake","replies":"S-Replies","control":"S-Control","quarantine":"S-q"}`
	env[deployment.VarReplyTo] = `{"web":"web-status","far":"https://sqs.y/2/far-status"}`
	env[deployment.VarAgents] = deployment.Peers("S-Requests", []deployment.Peer{
		{Name: "shipping", Queue: "~Ship-1", Senders: []string{"AROASHIP", "AROASHIP2"}},
		{Name: "mail", Queue: "Cut-off-X"},
		{Name: "far", Queue: "https://sqs.y/2/far"},
	})
	got, want := env[deployment.VarAgents], "~=S-Requests,shipping=~Ship-1=AROASHIP+AROASHIP2,"+
		"mail=Cut-off-X,far=https://sqs.y/2/far"
	require.Equal(t, want, got)
	s, err := deployment.ReadScheduler(lookup(env))
	require.NoError(t, err)
	require.False(t, s.Priorities, "priorities, without a queue for them")
	for queue, want := range map[string]string{
		port.Replies:              "https://sqs.x/1/S-Replies",
		port.Requests("shipping"): "https://sqs.x/1/S-RequestsShip-1",
		port.Requests("mail"):     "https://sqs.x/1/Cut-off-X", port.Requests("far"): "https://sqs.y/2/far",
	} {
		require.Equal(t, want, s.Queues[queue], queue)
	}
	require.Equal(t, "https://sqs.x/1/web-status", s.ReplyTo["web"])
	require.Equal(t, "https://sqs.y/2/far-status", s.ReplyTo["far"])
	require.Len(t, s.Senders, 1)
	require.Equal(t, []string{"AROASHIP", "AROASHIP2"}, s.Senders["shipping"])
	name, err := deployment.QueueOf(s.Queues,
		"arn:aws:sqs:eu-central-1:1:Cut-off-X")
	require.Equal(t, port.Requests("mail"), name)
	require.NoError(t, err)
	for _, arn := range []string{"arn:aws:sqs:eu-central-1:1:other", "", "arn:"} {
		_, err := deployment.QueueOf(s.Queues, arn)
		require.ErrorIs(t, err, port.ErrNotFound, arn)
	}
	env[deployment.VarAgents] = deployment.Peers("S-Requests", []deployment.Peer{
		{Name: "shipping", Queue: "~Ship-1", Senders: []string{"AROASHIP"}, High: "~ShipHigh-1"},
		{Name: "mail", Queue: "~Mail-X", High: "Cut-off-High"},
	})
	s, err = deployment.ReadScheduler(lookup(env))
	high := port.High(port.Requests("shipping"))
	require.NoError(t, err)
	require.True(t, s.Priorities, "%+v %v", s, err)
	require.Equal(t, "https://sqs.x/1/S-RequestsShipHigh-1", s.Queues[high])
	require.Equal(t, "https://sqs.x/1/Cut-off-High", s.Queues[port.High(port.Requests("mail"))])
	require.Len(t, s.Senders, 1)
	require.Equal(t, "AROASHIP", s.Senders["shipping"][0])
	env[deployment.VarAgents] = ""
	env[deployment.VarQueues] = `{"intake":"https://sqs.x/1/S-Intake","intake-high":"S-IntakeHigh","replies":"S-Replies","control":"S-Control","quarantine":"S-q"}`
	s, err = deployment.ReadScheduler(lookup(env))
	require.NoError(t, err)
	require.True(t, s.Priorities, "%+v %v", s, err)
	require.Equal(t, "https://sqs.x/1/S-IntakeHigh", s.Queues[port.High(port.Intake)])
	env[deployment.VarAgents] = "far=https://sqs.y/2/far"
	delete(env, deployment.VarSweepEvery)
	if s, err := deployment.ReadSupervisor(lookup(env)); err != nil || s.SweepEvery != time.Minute ||
		s.Queues[port.Requests("far")] == "" {
		t.Errorf("%+v %v", s, err)
	}
}
