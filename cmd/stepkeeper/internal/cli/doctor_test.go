package cli

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/verify/stacktest"
)

// What a server says of itself becomes lines, what is wrong with what to do; and its clock is looked at.
func TestDoctorOfAServer(t *testing.T) {
	health, date := "", time.Duration(0)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", time.Now().Add(date).UTC().Format(http.TimeFormat))
		fmt.Fprint(w, health)
	}))
	t.Cleanup(server.Close)
	run := func(args ...string) result {
		return call{server: server.URL}.run(t, append([]string{"doctor"}, args...)...)
	}

	health = `{"ready":true,"checks":{"store":"ok"}}`
	r := run()
	r.want(t, failure.OK, "ok       server: it takes orders", "ok       clock: within 30s of that of the server", "ok       store: nothing is wrong", "ok       queues: no queue is left unattended")
	if strings.Contains(r.out, "fix:") {
		t.Error(r.out)
	}

	health = `{"ready":false,"checks":{"store":"disk is full","agent mail":"unauthorized since noon"},"unattended":[{"queue":"requests-seats","agent":"seats","since":"2026-03-01T12:00:00Z","waiting":4}]}`
	run().want(t, failure.General, "failed   server: it takes no orders now", "failed   store: disk is full", "failed   agent mail: unauthorized since noon", "fix: the server's log tells more",
		"failed   queue requests-seats: nothing takes from it, 4 waiting, since 2026-03-01T12:00:00", "fix: is the agent seats running?")
	lines := decodeLines(t, run("--output", "json").out)
	if len(lines) != 6 || lines[0]["name"] != "server" || lines[0]["result"] != "failed" || lines[1]["result"] != "ok" || lines[4]["fix"] == nil {
		t.Errorf("%v", lines)
	}

	health, date = `{"ready":true}`, 2*time.Minute
	run().want(t, failure.General, "failed   clock: the clock here is ", "behind that of the server", "fix: synchronise it")
	date = -2 * time.Minute
	run().want(t, failure.General, "failed   clock: the clock here is ", "ahead of that of the server")
	health = "no health"
	run().want(t, failure.Unreachable, "cannot be read")
	call{}.run(t, "doctor").want(t, failure.Unreachable, "stepkeeper dev")
	run("now").want(t, failure.Usage, "no arguments")
}

// Of a stack, what could not be looked at is unknown, and no fault.
func TestDoctorOfAStack(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	w.Parts.Outputs.Dead = map[string]string{"intake": "url"}
	w.Parts.Outputs.Mappings = map[string]string{port.Intake: "m-intake"}
	w.Parts.Lambda = states{"m-intake": "Enabled"}
	c := call{openStack: func(context.Context, string, aws.Options, ...client.Option) (*client.Client, error) {
		return w.Client(), nil
	}}
	c.run(t, "doctor", "--stack", "Shop").want(t, failure.OK, "ok       stack: Shop in us-east-1 has 0 workflows and 0 agents", "unknown  dead letters of intake: ", "ok       concurrency: the functions may run 0 at a time, and the account allows 10")
	w.Parts.Lambda = states{"m-intake": "Disabled"}
	c.run(t, "doctor", "--stack", "Shop").want(t, failure.General, "failed   queue intake: nothing takes from it", "fix: enable it with `aws lambda update-event-source-mapping --uuid m-intake")
}
