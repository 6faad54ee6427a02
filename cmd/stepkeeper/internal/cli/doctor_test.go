package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// The report of a server is printed in lines. Each fault has a line with what to do. The clock of the server
// is checked.
func TestDoctorOfAServer(t *testing.T) {
	health := ""
	date := time.Duration(0)
	refusal := `{"status":400,"code":"missing-field","detail":"orderId is missing"}`
	status := http.StatusBadRequest
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(date).UTC().Format(http.TimeFormat))
		if r.URL.Path == "/v1/orders" && r.Method == http.MethodPost {
			w.WriteHeader(status)
			fmt.Fprint(w, refusal)
			return
		}
		fmt.Fprint(w, health)
	}))
	t.Cleanup(server.Close)
	run := func(args ...string) result {
		return call{server: server.URL}.run(t, append([]string{"doctor"}, args...)...)
	}

	release := view.Built()
	reported := func() string {
		text, err := json.Marshal(release)
		if err != nil {
			t.Fatal(err)
		}
		return `{"ready":true,"checks":{"store":"ok"},"release":` + string(text) + `}`
	}
	health = reported()
	r := run()
	r.want(t, failure.OK, "ok       server: it accepts orders",
		"ok       message path: the server received a test order",
		"ok       version: this program and the server run the same version, (devel)",
		"ok       clock: the clock here is within 30s of that of the server",
		"ok       store: no problem found",
		"ok       consumers: every queue has a consumer")
	if strings.Contains(r.out, "fix:") {
		t.Error(r.out)
	}

	health = `{"ready":false,"checks":{"store":"disk is full","agent mail":"unauthorized since noon"},"unattended":[{"queue":"requests-seats","agent":"seats","since":"2026-03-01T12:00:00Z","waiting":4}]}`
	run().want(t, failure.General, "failed   server: it accepts no orders now",
		"failed   store: disk is full",
		"failed   agent mail: unauthorized since noon", "fix: give the disk of the data folder free space",
		"fix: repair the service behind agent mail (its last failure is above)",
		"failed   queue requests-seats: no consumer, 4 messages waiting, since 2026-03-01T12:00:00",
		"fix: start the agent seats, or write")
	for text, fix := range map[string]string{
		"the database file is damaged; stop the process, then restore a backup": "fix: stop the server, and put its " +
			"data folder back or restore a backup",
		"the process has too many open files: raise its limit": "fix: raise the server's limit of open files",
		"the store is closed: unavailable":                     "fix: start the server again",
		"the data folder cannot be written":                    "the server the right to write there",
	} {
		before := health
		health = `{"ready":false,"checks":{"store":"` + text + `"}}`
		run().want(t, failure.General, "failed   store: "+text, fix)
		health = before
	}
	lines := decodeLines(t, run("--output", "json").out)
	if len(lines) != 8 || lines[6]["fix"] == nil {
		t.Fatalf("%v", lines)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{`lines[0]["name"]`, lines[0]["name"], "server"},
		{`lines[0]["result"]`, lines[0]["result"], "failed"},
		{`lines[1]["result"]`, lines[1]["result"], "ok"},
		{`lines[2]["result"]`, lines[2]["result"], "unknown"},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %v", field.name, field.got, field.want, lines)
		}
	}

	release.Version = "v1.2.3"
	health = reported()
	run().want(t, failure.OK,
		"ok       version: this program is (devel), and the server v1.2.3; each reads what the other writes")
	release.Messages++
	health = reported()
	run().want(t, failure.General, "failed   version: this program is (devel) tasks=",
		"and the server was built from v1.2.3 tasks=",
		"fix: use the stepkeeper that the server was built from, or update the server")
	health = `{"ready":true}`
	run().want(t, failure.OK, "unknown  version: not checked: the server does not report its version",
		"fix: update the server")
	status, refusal = http.StatusForbidden, `{"status":403,"code":"forbidden","detail":"only reads pass"}`
	run().want(t, failure.General, "failed   message path: orders cannot be sent: only reads pass",
		"fix: give --server the server's own address, or let the proxy before it pass POST")
	status, refusal = http.StatusOK, "{}"
	run().want(t, failure.General,
		"failed   message path: the server did not reject a test order, but returned status 200")
	status, refusal = http.StatusBadRequest, `{"status":400,"code":"missing-field"}`

	health, date = `{"ready":true}`, 2*time.Minute
	run().want(t, failure.General, "failed   clock: the clock here is ", "behind that of the server",
		"fix: synchronise it")
	date = -2 * time.Minute
	run().want(t, failure.General, "failed   clock: the clock here is ", "ahead of that of the server")
	health = "no health"
	run().want(t, failure.Unreachable, "cannot be read")
	call{}.run(t, "doctor").want(t, failure.Unreachable, "stepkeeper dev")
	run("now").want(t, failure.Usage, "no arguments")
}

// ops answers as AWS does for a role whose right to send is as given. The queues have the addresses of
// stacktest.
func ops(mappings states, allowed string) func(awsstub.Call) (int, string) {
	return func(c awsstub.Call) (int, string) {
		switch c.Action {
		case "sts:GetCallerIdentity":
			return http.StatusOK, `<R><GetCallerIdentityResult><Arn>arn:aws:sts::000000000000:assumed-role/ops/ann</Arn>` +
				`</GetCallerIdentityResult></R>`
		case "iam:GetRole":
			return awsstub.Denied("ann may not")
		case "iam:SimulatePrincipalPolicy":
			text := `<R><SimulatePrincipalPolicyResult><EvaluationResults>`
			for i := 1; c.Form.Has(fmt.Sprintf("ResourceArns.member.%d", i)); i++ {
				text += `<member><EvalResourceName>` + c.Form.Get(fmt.Sprintf("ResourceArns.member.%d", i)) +
					`</EvalResourceName><EvalDecision>` + allowed + `</EvalDecision></member>`
			}
			return http.StatusOK, text + `</EvaluationResults></SimulatePrincipalPolicyResult></R>`
		}
		return mappings.answer(c)
	}
}

// A part of a stack that cannot be read is reported as unknown, not as a fault. Each fault is reported with
// what to do.
func TestDoctorOfAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Outputs.Dead = map[string]string{"intake": "url"}
	w.Parts.Outputs.Mappings = map[string]string{port.Intake: "m-intake"}
	w.Parts.Outputs.Release, w.Parts.Outputs.IntakeCommands = view.Built(), true
	allowed := awsstub.Config(t, ops(states{"m-intake": "Enabled"}, "allowed"))
	w.Parts.Config = &allowed
	c := call{openStack: func(context.Context, string, aws.Options, ...client.Option) (
		*client.Client, error) {
		return w.Client(), nil
	}}
	c.run(t, "doctor", "--stack", "Shop").want(t, failure.OK,
		"ok       stack: Shop in us-east-1 has 0 workflows and 0 agents",
		"unknown  dead letters of intake: not checked: ",
		"ok       concurrency: its functions may run 0 at a time, and the account allows 10",
		"ok       message path: IAM allows arn:aws:iam::000000000000:role/ops to send orders and commands",
		"ok       version: this program and the stack run the same version, (devel)",
		"unknown  messages in flight: not checked: queue \"replies\"", "unknown  table writes: not checked: ",
		"ok       code storage: the functions and layers of the account have 1 MB, and "+
			"AWS Lambda keeps 10 MB")
	denied := awsstub.Config(t, ops(states{"m-intake": "Disabled"}, "explicitDeny"))
	w.Parts.Config = &denied
	w.Parts.Outputs.Release.Messages--
	c.run(t, "doctor", "--stack", "Shop").want(t, failure.General,
		"failed   queue intake: no consumer",
		"fix: enable it with `stepkeeper --stack Shop --region us-east-1 aws resume`",
		"failed   message path: IAM does not allow arn:aws:iam::000000000000:role/ops to send to the queue",
		"(explicitDeny)", "fix: attach the policy arn:aws:iam::1:policy/App",
		"failed   version: this program is (devel) tasks=",
		"fix: use the stepkeeper that the stack was built from, or update the stack")
	w.Parts.Config = nil
	c.run(t, "doctor", "--stack", "Shop").want(t, failure.General,
		"unknown  message path: not checked: this client does not ask IAM")
}
