package integration

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/localstack/stack"
)

// MiniStack evaluates the policies of each function's role: what is seen to work here works with
// no more rights than the template gives. Not evaluated there, and so not tested here: a mapping's
// own right to receive and delete, and who may assume a role.

// spellOut says in every policy what AWS takes for said and MiniStack does not:
//
//   - sqs:SendMessage is the permission for batches too; there is no action sqs:SendMessageBatch.
//   - aws:PrincipalArn of a function is its role, not the session in which it has assumed the role.
func spellOut(t stack.Template) {
	for _, kind := range []string{"AWS::IAM::Role", "AWS::IAM::ManagedPolicy", "AWS::SQS::QueuePolicy"} {
		t.Each(kind, func(_ string, properties map[string]any) { spellOutIn(properties) })
	}
}

func spellOutIn(v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			spellOutIn(inner)
		}
	case map[string]any:
		if _, statement := v["Effect"]; statement && slices.Contains(list(v["Action"]), any("sqs:SendMessage")) {
			v["Action"] = append(list(v["Action"]), "sqs:SendMessageBatch")
		}
		if principal := v["aws:PrincipalArn"]; principal != nil {
			v["aws:PrincipalArn"] = withSessions(list(principal))
		}
		for _, inner := range v {
			spellOutIn(inner)
		}
	}
}

// withSessions adds to each role of the template the sessions of that role.
func withSessions(arns []any) []any {
	all := slices.Clone(arns)
	for _, arn := range arns {
		reference, _ := arn.(map[string]any)
		attribute, _ := reference["Fn::GetAtt"].([]any)
		if len(attribute) == 2 && attribute[1] == "Arn" {
			all = append(all, map[string]any{"Fn::Sub": fmt.Sprintf("arn:aws:sts::${AWS::AccountId}:assumed-role/${%s}/*", attribute[0])})
		}
	}
	return all
}

// list is a value of a policy, which may stand alone where it is the only one.
func list(v any) []any {
	if many, is := v.([]any); is {
		return many
	}
	return []any{v}
}

func TestEnoughDone(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "order").submit()
	o.told("completed", soon)
	o.oneKeyPerStep()
	if k := o.task(); k.ProcessState != "Processed" || k.Steps["book-shipment"].ProcessState != "Processed" { // the agent's ledger too
		t.Errorf("%+v", k)
	}
}

func TestEnoughUndone(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "order")
	s.remote.on(o.id, "charge-payment", "do", func(int, call) (int, string) { return refused() })
	o.submit()
	o.told("undone", soon)
	if k := o.task(); k.ProcessState != "Compensated" {
		t.Errorf("%+v", k)
	}
}

func TestEnoughAlerted(t *testing.T) {
	s := on(t, ministack)
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return refused() })
	o.submit()
	o.told("failed", soon)
	if a := o.alerted(); a.Step != "settle" {
		t.Errorf("%+v", a)
	}
}

// orphan submits an order whose only step loses its agent in mid-call.
func (s *site) orphan(t *testing.T) *order {
	t.Helper()
	o := s.newOrder(t, "stopping")
	inside, release := make(chan struct{}), make(chan struct{})
	t.Cleanup(func() { close(release) })
	s.remote.on(o.id, "settle", "do", func(n int, _ call) (int, string) {
		if n == 1 {
			close(inside)
			<-release
		}
		return done()
	})
	o.submit()
	select {
	case <-inside:
	case <-time.After(soon):
		t.Fatal("the service was not called")
	}
	if _, err := kill(s.function(t, "AgentPayment")); err != nil {
		t.Fatal(err)
	}
	return o
}

// EventBridge Scheduler fires the Supervisor, which hands the step back.
func TestEnoughRescued(t *testing.T) {
	s := on(t, ministack)
	o := s.orphan(t)
	began := time.Now()
	o.told("completed", rescued)
	t.Logf("done %.1f s after the agent's death", time.Since(began).Seconds())
	if k := o.task(); k.Steps["settle"].FailureCount != 1 || k.Steps["settle"].Attempt < 2 {
		t.Errorf("%+v", k)
	}
}

// missing is one grant, and what does not happen without it.
type missing struct {
	role, sid string
	submit    func(s *site, t *testing.T) *order
	// reached is what still comes to pass without the grant, so that the failure is seen to be at
	// that very place; nil for none.
	reached func(o *order) bool
	// never is what must not come to pass without the grant, and must with it.
	never func(o *order) bool
}

func shop(s *site, t *testing.T) *order { return s.newOrder(t, "order").submit() }

func stopped(s *site, t *testing.T) *order {
	o := s.newOrder(t, "stopping")
	s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return refused() })
	return o.submit()
}

func orphaned(s *site, t *testing.T) *order { return s.orphan(t) }

func stored(o *order) bool { return o.item() != "{}" }

func called(step string) func(*order) bool {
	return func(o *order) bool { return len(o.s.remote.of(o.id, step)) > 0 }
}

func calledTwice(o *order) bool { return len(o.s.remote.of(o.id, "")) > 1 }

func inState(state string) func(*order) bool {
	return func(o *order) bool {
		return strings.Contains(o.item(), `"ProcessState":"`+state+`"`) && o.task().ProcessState == state
	}
}

func toldOf(kind string) func(*order) bool {
	return func(o *order) bool {
		return slices.ContainsFunc(o.statuses(), func(st status) bool { return st.Kind == kind })
	}
}

func alertCame(o *order) bool {
	return slices.ContainsFunc(o.s.alerts.all(), func(body string) bool { return strings.Contains(body, o.id) })
}

func counted(o *order) bool { return o.task().Steps["settle"].FailureCount > 0 }

func grants() []missing {
	return []missing{
		{role: "SchedulerRole", sid: "OrdersAndTasks", submit: shop, never: stored},
		{role: "SchedulerRole", sid: "Send", submit: shop, reached: stored, never: called("")},
		{role: "SchedulerRole", sid: "Status", submit: shop, reached: stored, never: toldOf("completed")},
		{role: "SchedulerRole", sid: "Alert", submit: stopped, reached: inState("Error"), never: alertCame},
		{role: "AgentPaymentRole", sid: "Send", submit: shop, reached: called("charge-payment"), never: inState("Processed")},
		{role: "AgentShippingRole", sid: "Ledger", submit: shop, reached: called("charge-payment"), never: called("book-shipment")},
		{role: "SupervisorRole", sid: "Due", submit: orphaned, reached: called("settle"), never: counted},
		{role: "SupervisorRole", sid: "Tasks", submit: orphaned, reached: called("settle"), never: counted},
		{role: "SupervisorRole", sid: "Send", submit: orphaned, reached: counted, never: calledTwice},
	}
}

// deprived is how long nothing must happen without a grant. An order takes a second or two, and the
// Supervisor sweeps every two seconds.
const deprived = 8 * time.Second

// Every one of these grants is needed: without it something stands still, and goes on with it. A
// second after, the same order comes to its end, so that it was the grant and nothing else.
func TestNeeded(t *testing.T) {
	s := on(t, ministack)
	for _, m := range grants() {
		t.Run(m.role+"/"+m.sid, func(t *testing.T) {
			without := *s.assembly
			without.Template = s.assembly.Template.Clone()
			actions, err := without.Template.Revoke(m.role, m.sid)
			if err != nil {
				t.Fatal(err)
			}
			s.update(t, &without)
			given := false
			t.Cleanup(func() {
				if !given { // the next test needs it
					s.update(t, s.assembly)
				}
			})
			o := m.submit(s, t)
			if m.reached != nil {
				o.until(rescued, "progress up to the missing grant", func() bool { return m.reached(o) })
			}
			for end := time.Now().Add(deprived); time.Now().Before(end); time.Sleep(look) {
				if m.never(o) {
					t.Fatalf("order %s: it works without %v: it is not needed, or not evaluated\n%s", o.id, actions, o.item())
				}
			}
			s.update(t, s.assembly)
			given = true
			o.until(rescued, "progress with the grant", func() bool { return m.never(o) })
		})
	}
}

// update brings the deployed stack to a template. It runs in clean-ups too, after the test's own
// context has ended.
func (s *site) update(t *testing.T, a *stack.Assembly) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if _, err := stack.Deploy(ctx, s.config, a); err != nil {
		t.Fatal(err)
	}
}
