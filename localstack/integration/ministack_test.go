package integration

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	tables "github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// MiniStack evaluates the policies of each function's role: what is seen to work here works with
// no more rights than the template gives. What it does not evaluate stands in unseen, with reasons.

// keepSecret gives an agent a secret, as infra does for Agent.Secrets.
func (s *site) keepSecret(ctx context.Context) error {
	made, err := secretsmanager.NewFromConfig(s.config).CreateSecret(ctx, &secretsmanager.CreateSecretInput{
		Name: aws.String(s.assembly.Stack + "-token"), SecretString: aws.String("t-1"),
	})
	if err != nil {
		return err
	}
	where, err := json.Marshal(map[string]deployment.Secret{"TOKEN": {Secret: *made.ARN}})
	if err != nil {
		return err
	}
	s.secret = *made.ARN
	s.assembly.Template.Each("AWS::Lambda::Function", func(id string, p map[string]any) {
		if strings.HasPrefix(id, "EngineAgentNotification") {
			p["Environment"].(map[string]any)["Variables"].(map[string]any)[deployment.VarSecrets] = string(
				where)
		}
	})
	s.assembly.Template.Each("AWS::IAM::Role", func(id string, p map[string]any) {
		if strings.HasPrefix(id, "EngineAgentNotification") {
			document := p["Policies"].([]any)[0].(map[string]any)["PolicyDocument"].(map[string]any)
			document["Statement"] = append(document["Statement"].([]any), map[string]any{
				"Sid": "Secrets", "Effect": "Allow", "Action": "secretsmanager:GetSecretValue",
				"Resource": *made.ARN,
			})
		}
	})
	return nil
}

func TestGrantsSufficeToProcess(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "order").submit()
	o.notified("completed", soon)
	o.oneKeyPerStep()
	// the agent's ledger too
	k := o.task()
	require.EqualValues(t, "Processed", k.ProcessState)
	require.EqualValues(t, "Processed", k.Step("book-shipment").State)
}

func TestGrantsSufficeToUndo(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "order")
	s.remote.on(o.id, "charge-payment", "do", func(int, call) (int, string) { return refused() })
	o.submit()
	o.notified("undone", soon)
	require.EqualValues(t, "Compensated", o.task().ProcessState)
}

func TestGrantsSufficeToAlert(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return taken() })
	o.submit()
	o.notified("failed", soon)
	require.Equal(t, "settle", o.alerted().Step)
}

// EventBridge Scheduler fires the Supervisor, which hands a step back whose agent was killed in
// mid-call. All has run with the deployed policies, and no call was refused.
func TestGrantsSufficeToRescue(t *testing.T) {
	s := on(t, ministack)
	s.ticks.onSchedule(t)
	o := s.newOrder(t, "stopping")
	_, release := o.killedInMidCall("settle", "AgentPayment")
	defer release()
	began := time.Now()
	o.notified("completed", rescued)
	t.Logf("done %.1f s after the agent's death", time.Since(began).Seconds())
	k := o.task()
	require.Equal(t, 1, k.Step("settle").Failures.Do)
	require.GreaterOrEqual(t, k.Step("settle").Attempt, 2)
	for _, d := range s.proxy.denied(0) {
		t.Errorf("%s was refused something: %s", d.function, d.answer)
	}
}

// use starts what needs a grant. It answers what must come to pass with the grant; nil where the
// refusal is all that can be seen.
type use func(s *site, t *testing.T) (done func() bool)

func notified(o *order, kind string) func() bool {
	return func() bool {
		return slices.ContainsFunc(o.statuses(), func(st status) bool { return st.Kind == kind })
	}
}

// shop sends an order of four steps.
func shop(s *site, t *testing.T) func() bool {
	return notified(s.newOrder(t, "order").submit(), "completed")
}

// important sends an order of high priority.
func important(s *site, t *testing.T) func() bool {
	o := s.newOrder(t, "writing")
	o.body = strings.Replace(o.body, `{"schema":1,`, `{"schema":1,"priority":"high",`, 1)
	return completed(o.submit())
}

// afterRestart sends an order to a new process of a function, which has nothing in its memory.
func afterRestart(function string) use {
	return func(s *site, t *testing.T) func() bool {
		_, err := kill(s.function(t, function))
		require.NoError(t, err)
		return shop(s, t)
	}
}

// undefined lets a new process of the Scheduler find no definition stored: one that is there is not
// written again.
func undefined(s *site, t *testing.T) func() bool {
	table := aws.String(s.outputs["EngineDefinitionsTable"])
	all, err := s.dynamo.Scan(t.Context(), &dynamodb.ScanInput{
		TableName: table, ProjectionExpression: aws.String("#h"),
		ExpressionAttributeNames: map[string]string{"#h": tables.DefinitionKey},
	})
	require.NoError(t, err)
	for _, key := range all.Items {
		_, err := s.dynamo.DeleteItem(t.Context(),
			&dynamodb.DeleteItemInput{TableName: table, Key: key})
		require.NoError(t, err)
	}
	return afterRestart("Scheduler")(s, t)
}

// replyAfterRestart lets a new process of the Scheduler take a reply before any order.
func replyAfterRestart(s *site, t *testing.T) func() bool {
	o := s.newOrder(t, "stopping")
	_, release := o.killedInMidCall("settle", "Scheduler")
	defer release()
	return notified(o, "completed")
}

// retried needs a wake-up.
func retried(s *site, t *testing.T) func() bool {
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(n int, _ call) (int, string) {
		if n == 1 {
			return down()
		}
		return done()
	})
	return notified(o.submit(), "completed")
}

func stopped(s *site, t *testing.T) func() bool {
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return gone() })
	o.submit()
	return o.alertCame
}

func (o *order) alertCame() bool {
	return slices.ContainsFunc(o.s.alerts.all(),
		func(body string) bool { return strings.Contains(body, o.id) })
}

// ticked waits for a start by the clock that came after it.
func ticked(s *site, t *testing.T) func() bool {
	c, err := operate.OpenWith(t.Context(), s.config, s.assembly.Stack)
	require.NoError(t, err)
	from := time.Now()
	return func() bool {
		all, err := c.Schedules(t.Context())
		require.NoError(t, err)
		return slices.ContainsFunc(all, func(x client.Schedule) bool {
			return slices.ContainsFunc(x.Starts,
				func(at client.ScheduledStart) bool { return at.Sent && at.At.Std().After(from) })
		})
	}
}

// poisoned sends to a queue what cannot be read.
func poisoned(queue string) use {
	return func(s *site, t *testing.T) func() bool {
		poison := "{ this is no message: " + t.Name()
		s.send(t, queue, poison)
		return func() bool {
			s.found(t, "Quarantine", func(body string) bool {
				return strings.Contains(body, base64.StdEncoding.EncodeToString([]byte(poison)))
			})
			return true
		}
	}
}

// newer sends an agent a request of a newer program, which it returns.
func newer(queue string) use {
	return func(s *site, t *testing.T) func() bool {
		s.send(t, queue, `{"schema":2}`)
		return nil
	}
}

// silent blocks the replies to the first attempt of an agent, or to all attempts if attempts is above 1, so
// that a step becomes overdue.
func silent(workflow, agent string, attempts int32, end func(o *order) func() bool) use {
	return func(s *site, t *testing.T) func() bool {
		o := s.newOrder(t, workflow)
		if attempts > 1 { // P11: where there is no reply-to, the Supervisor alerts by itself
			o.body = strings.Replace(o.body, `"replyTo":"shop",`, "", 1)
		}
		var held atomic.Int32
		t.Cleanup(s.proxy.hook(func(r request) verdict {
			if strings.HasPrefix(r.function, agent) && r.sends() && r.concerns(o.id) &&
				(attempts > 1 || firstAttempt.MatchString(r.body)) {
				held.Add(1)
				return refuse
			}
			return pass
		}))
		o.submit()
		o.until(soon, "reply", func() bool { return held.Load() > 0 })
		return end(o)
	}
}

// unwoken loses the Scheduler's wake-up of a step that waits, so that the Supervisor asks again.
func unwoken(s *site, t *testing.T) func() bool {
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(n int, _ call) (int, string) {
		if n == 1 {
			return down()
		}
		return done()
	})
	control := path.Base(s.url(t, "Control"))
	t.Cleanup(s.proxy.hook(func(r request) verdict {
		if strings.HasPrefix(r.function, "Scheduler") && r.sends() && r.concerns(o.id) &&
			strings.Contains(r.body, control) {
			return refuse
		}
		return pass
	}))
	return notified(o.submit(), "completed")
}

func completed(o *order) func() bool { return notified(o, "completed") }

// need is a grant, and what cannot be without it.
type need struct {
	grant
	use use
}

// needs lists every grant with what shows that it is needed.
func needs() []need {
	scheduler := func(action, resource string, u use) need {
		return need{
			grant{"Scheduler", action, resource},
			u,
		}
	}
	supervisor := func(action, resource string, u use) need {
		return need{grant{"Supervisor", action, resource}, u}
	}
	late := silent("stopping", "AgentPayment", 1, completed)
	all := []need{
		scheduler("dynamodb:PutItem", "Orders", shop),
		scheduler("dynamodb:GetItem", "Orders", shop),
		scheduler("dynamodb:PutItem", "Definitions", undefined),
		scheduler("dynamodb:GetItem", "Definitions", replyAfterRestart),
		scheduler("sqs:ChangeMessageVisibility", "Intake", newer("Intake")),
		scheduler("sqs:ChangeMessageVisibility", "IntakeHigh", newer("IntakeHigh")),
		scheduler("sqs:ChangeMessageVisibility", "Replies", newer("Replies")),
		scheduler("sqs:ChangeMessageVisibility", "Control", newer("Control")),
		scheduler("sqs:SendMessage", "Control", retried),
		scheduler("sqs:SendMessage", "Quarantine", poisoned("Intake")),
		scheduler("sqs:SendMessage", "TaskMessages",
			func(s *site, t *testing.T) func() bool { return completed(s.newOrder(t, "family").submit()) }),
		scheduler("sqs:SendMessage", "RequestsNotificationHigh", important),
		{
			grant{"AgentNotification", "sqs:ChangeMessageVisibility", "RequestsNotificationHigh"},
			newer("RequestsNotificationHigh"),
		},
		supervisor("sqs:GetQueueAttributes", "RequestsNotificationHigh",
			silent("writing", "AgentNotification", 1, completed)),
		scheduler("sqs:SendMessage", "ShopStatus", shop),
		scheduler("secretsmanager:GetSecretValue", "TokenKeys", afterRestart("Scheduler")),
		scheduler("sns:Publish", "Alerts", stopped),
		{grant{"AgentShipping", "dynamodb:GetItem", "LedgerShipping"}, shop},
		{grant{"AgentShipping", "dynamodb:PutItem", "LedgerShipping"}, shop},
		{grant{"AgentNotification", "dynamodb:GetItem", "LedgerNotification"}, shop},
		{grant{"AgentNotification", "dynamodb:PutItem", "LedgerNotification"}, shop},
		{
			grant{"AgentNotification", "secretsmanager:GetSecretValue", "Secret"},
			afterRestart("AgentNotification"),
		},
	}
	for _, agent := range []string{"Inventory", "Payment", "Shipping", "Notification"} {
		requests := "Requests" + agent
		all = append(all,
			scheduler("sqs:SendMessage", requests, shop),
			need{grant{"Agent" + agent, "sqs:SendMessage", "Replies"}, shop},
			need{grant{"Agent" + agent, "sqs:SendMessage", "Quarantine"}, poisoned(requests)},
			need{grant{"Agent" + agent, "sqs:ChangeMessageVisibility", requests}, newer(requests)},
		)
	}
	for _, agent := range []string{"Inventory", "Payment", "Shipping", "Notification"} {
		all = append(all, supervisor("sqs:GetQueueAttributes", "Requests"+agent,
			silent("order", "Agent"+agent, 1, completed)))
	}
	return append(all,
		supervisor("sqs:GetQueueAttributes", "Replies", late),
		supervisor("sqs:GetQueueAttributes", "Control", unwoken),
		supervisor("dynamodb:Query", "Orders/index/complete-by", late),
		supervisor("dynamodb:GetItem", "Orders", late),
		supervisor("dynamodb:PutItem", "Orders", late),
		// What it has read it remembers, so this is a workflow that it has not met. To end its process
		// would not do: another waits for the leases that the dead one holds.
		supervisor("dynamodb:GetItem", "Definitions", silent("calm", "AgentInventory", 1, completed)),
		supervisor("sqs:SendMessage", "Control", late),
		supervisor("sqs:SendMessage", "Intake", ticked),
		supervisor("sns:Publish", "Alerts",
			silent("stopping", "AgentPayment", 9, func(o *order) func() bool { return o.alertCame })),
	)
}

// Every grant is needed: without it a call is refused and something stands still, and with it again
// the same order goes on.
func TestEachGrantIsNecessary(t *testing.T) {
	s := on(t, ministack)
	if testing.Short() {
		t.Skip("SKIPPED: one grant after another; make integration BACKEND=ministack without SHORT has it")
	}
	for _, n := range needs() {
		t.Run(strings.ReplaceAll(n.String(), " ", "/"), func(t *testing.T) {
			role, whole := s.rolePolicy(t, n.actor)
			require.Contains(t, whole.grants(s, n.actor), n.grant)
			before := len(s.proxy.denied(0))
			s.putRolePolicy(t, role, whole.without(s, n.grant))
			t.Cleanup(func() { s.putRolePolicy(t, role, whole) }) // the next one needs it
			done := n.use(s, t)
			waitLong(t, "refusal", func() bool {
				return slices.ContainsFunc(s.proxy.denied(before),
					func(d denial) bool { return s.isFor(d, n.grant) })
			})
			if n.resource != "Quarantine" && done != nil && done() {
				t.Error("it works without: another role has the grant too")
			}
			s.putRolePolicy(t, role, whole)
			if done != nil {
				waitLong(t, "progress with the grant", done)
			}
		})
	}
}

func (s *site) isFor(d denial, g grant) bool {
	id, _, _ := strings.Cut(g.resource, "/")
	physical := s.secret
	for logical, name := range s.resources {
		if strings.TrimPrefix(logical[:max(0, len(logical)-8)], "Engine") == id {
			physical = name
		}
	}
	return strings.HasPrefix(d.function, g.actor) && strings.Contains(d.answer, "perform: "+g.action) &&
		strings.Contains(d.call, physical)
}

// unseen returns why MiniStack cannot show that a grant of a function is needed, or "" if it can. byHand has
// those of an operator.
func unseen(g grant) string {
	own := map[string]string{
		"Scheduler": "Intake IntakeHigh Replies Control TaskMessages", "AgentInventory": "RequestsInventory",
		"AgentPayment": "RequestsPayment", "AgentShipping": "RequestsShipping",
		"AgentNotification": "RequestsNotification RequestsNotificationHigh",
	}
	switch {
	case strings.HasPrefix(g.action, "logs:"):
		return "Lambda itself writes the logs, and MiniStack's does so without asking"
	case slices.Contains([]string{"sqs:ReceiveMessage", "sqs:DeleteMessage", "sqs:GetQueueAttributes"},
		g.action) &&
		slices.Contains(strings.Fields(own[g.actor]), g.resource):
		return "the mapping receives and deletes with the function's role, and MiniStack's does so " +
			"without asking"
	case g == grant{"Scheduler", "sqs:ChangeMessageVisibility", "TaskMessages"}:
		return "only the Scheduler may send there, and it sends nothing that it returns to the queue"
	case g == grant{"Supervisor", "sqs:SendMessage", "MissedSweeps"}:
		return "Lambda itself sends what it gave up, and MiniStack's does so without asking"
	case g.actor == "Scheduler" && g.action == "sqs:GetQueueAttributes":
		return "where an agent's queue cannot be asked for its length, an agent is chosen without it, and " +
			"nothing fails"
	}
	return ""
}

// What the deployed roles allow is in one of the two lists, so that no grant is forgotten.
func TestEachGrantIsListed(t *testing.T) {
	s := on(t, ministack)
	shown := map[grant]bool{}
	for _, n := range needs() {
		shown[n.grant] = true
	}
	for _, actor := range []string{
		"Scheduler", "Supervisor", "AgentInventory", "AgentPayment",
		"AgentShipping", "AgentNotification",
	} {
		_, p := s.rolePolicy(t, actor)
		for _, g := range p.grants(s, actor) {
			require.NotEqual(t, unseen(g) != "", shown[g], "%+v", g)
		}
	}
}

// waitLong waits for what may need the Supervisor.
func waitLong(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(rescued); time.Now().Before(end); time.Sleep(look) {
		if condition() {
			return
		}
	}
	t.Fatal(fmt.Errorf("no %s within %s", what, rescued))
}
