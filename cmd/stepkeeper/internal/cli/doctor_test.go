package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// examined is a server for doctor. The zero value of a field is what a healthy server does.
type examined struct {
	health  string        // "" is that of a server of this program
	posts   int           // status of a test order; 0 is 400
	refusal string        // "" says that a field is missing
	ahead   time.Duration // of its clock
}

func (e examined) doctor(t *testing.T, args ...string) result {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Date", time.Now().Add(e.ahead).UTC().Format(http.TimeFormat))
		if r.URL.Path == "/v1/orders" && r.Method == http.MethodPost {
			w.WriteHeader(cmp.Or(e.posts, http.StatusBadRequest))
			fmt.Fprint(w, cmp.Or(e.refusal, `{"status":400,"code":"missing-field","detail":"orderId is missing"}`))
			return
		}
		fmt.Fprint(w, cmp.Or(e.health, healthOf(view.Built())))
	}))
	t.Cleanup(server.Close)
	return call{server: server.URL}.run(t, append([]string{"doctor"}, args...)...)
}

func healthOf(release view.Release) string {
	text, err := json.Marshal(release)
	if err != nil {
		panic(err)
	}
	return `{"ready":true,"checks":{"store":"ok"},"release":` + string(text) + `}`
}

// brokenHealth is the health of a server with four faults.
const brokenHealth = `{"ready":false,"checks":{"store":"disk is full","agent mail":"unauthorized since noon"},` +
	`"unattended":[{"queue":"requests-seats","agent":"seats","since":"2026-03-01T12:00:00Z","waiting":4}]}`

func withStore(problem string) string {
	return `{"ready":false,"checks":{"store":"` + problem + `"}}`
}

// The report of a server is printed in lines. Each fault has a line with what to do.
func TestDoctorOfAServer(t *testing.T) {
	other := view.Built()
	other.Version = "v1.2.3"
	newer := other
	newer.Messages++
	for name, x := range map[string]struct {
		server examined
		code   failure.Code
		says   []string
	}{
		"nothing is wrong": {examined{}, failure.OK, []string{
			"ok       server: it accepts orders",
			"ok       message path: the server received a test order",
			"ok       version: this program and the server run the same version, (devel)",
			"ok       clock: the clock here is within 30s of that of the server",
			"ok       store: no problem found",
			"ok       consumers: every queue has a consumer",
		}},
		"it accepts nothing": {examined{health: brokenHealth}, failure.General, []string{
			"failed   server: it accepts no orders now",
			"failed   store: disk is full",
			"fix: give the disk of the data folder free space",
			"failed   agent mail: unauthorized since noon",
			"fix: repair the service behind agent mail (its last failure is above)",
			"failed   queue requests-seats: no consumer, 4 messages waiting, since 2026-03-01T12:00:00",
			"fix: start the agent seats, or write",
		}},
		"its file is damaged": {
			examined{health: withStore("the database file is damaged; stop the process, then restore a backup")},
			failure.General,
			[]string{"fix: stop the server, and put its data folder back or restore a backup"},
		},
		"it has no descriptors": {
			examined{health: withStore("the process has too many open files: raise its limit")},
			failure.General,
			[]string{"fix: raise the server's limit of open files"},
		},
		"its store is closed": {
			examined{health: withStore("the store is closed: unavailable")},
			failure.General,
			[]string{"fix: start the server again"},
		},
		"it cannot write": {
			examined{health: withStore("the data folder cannot be written")},
			failure.General,
			[]string{"the server the right to write there"},
		},
		"another version": {examined{health: healthOf(other)}, failure.OK, []string{
			"ok       version: this program is (devel), and the server v1.2.3; each reads what the other writes",
		}},
		"a newer version": {examined{health: healthOf(newer)}, failure.General, []string{
			"failed   version: this program is (devel) tasks=", "and the server was built from v1.2.3 tasks=",
			"fix: use the stepkeeper that the server was built from, or update the server",
		}},
		"an unknown version": {examined{health: `{"ready":true}`}, failure.OK, []string{
			"unknown  version: not checked: the server does not report its version", "fix: update the server",
		}},
		"orders do not pass": {examined{
			posts:   http.StatusForbidden,
			refusal: `{"status":403,"code":"forbidden","detail":"only reads pass"}`,
		}, failure.General, []string{
			"failed   message path: orders cannot be sent: only reads pass",
			"fix: give --server the server's own address, or let the proxy before it pass POST",
		}},
		"it takes anything": {examined{posts: http.StatusOK, refusal: "{}"}, failure.General, []string{
			"failed   message path: the server did not reject a test order, but returned status 200",
		}},
		"its clock is ahead": {examined{ahead: 2 * time.Minute}, failure.General, []string{
			"failed   clock: the clock here is ", "behind that of the server", "fix: synchronise it",
		}},
		"its clock is behind": {examined{ahead: -2 * time.Minute}, failure.General, []string{
			"failed   clock: the clock here is ", "ahead of that of the server",
		}},
		"it is another server": {examined{health: "no health"}, failure.Unreachable, []string{"cannot be read"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := x.server.doctor(t)
			r.want(t, x.code, x.says...)
			if name == "nothing is wrong" {
				require.NotContains(t, r.out, "fix:")
			}
		})
	}
	t.Run("as JSON", func(t *testing.T) {
		lines := decodeLines(t, examined{health: brokenHealth}.doctor(t, "--output", "json").out)
		require.Len(t, lines, 8)
		require.Equal(t, "server", lines[0]["name"])
		require.Equal(t, "failed", lines[0]["result"])
		require.Equal(t, "ok", lines[1]["result"])
		require.Equal(t, "unknown", lines[2]["result"])
		require.Contains(t, lines[6], "fix")
	})
	t.Run("no server", func(t *testing.T) {
		call{}.run(t, "doctor").want(t, failure.Unreachable, "stepkeeper dev")
	})
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
