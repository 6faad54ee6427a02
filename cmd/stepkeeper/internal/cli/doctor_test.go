package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

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
const brokenHealth = `{"ready":false,"checks":{"store":"disk is full","agent mail":"unauthorized since noon",` +
	`"agent seats":"no-consumer since noon"},` +
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
	var all strings.Builder
	for _, x := range []struct {
		name   string
		server examined
	}{
		{"nothing is wrong", examined{}},
		{"it accepts nothing", examined{health: brokenHealth}},
		{"its file is damaged", examined{health: withStore("the database file is damaged; stop the process, then restore a backup")}},
		{"it has no descriptors", examined{health: withStore("the process has too many open files: raise its limit")}},
		{"its store is closed", examined{health: withStore("the store is closed: unavailable")}},
		{"it cannot write", examined{health: withStore("the data folder cannot be written")}},
		{"another version", examined{health: healthOf(other)}},
		{"a newer version", examined{health: healthOf(newer)}},
		{"an unknown version", examined{health: `{"ready":true}`}},
		{"orders do not pass", examined{
			posts: http.StatusForbidden, refusal: `{"status":403,"code":"forbidden","detail":"only reads pass"}`,
		}},
		{"it takes anything", examined{posts: http.StatusOK, refusal: "{}"}},
		{"its clock is ahead", examined{ahead: 2 * time.Minute}},
		{"its clock is behind", examined{ahead: -2 * time.Minute}},
		{"it is another server", examined{health: "no health"}},
	} {
		r := x.server.doctor(t)
		fmt.Fprintf(&all, "%s\n%s%sexit %d\n\n", x.name, r.out, r.err, r.code)
	}
	said := regexp.MustCompile(`127\.0\.0\.1:\d+|tasks=\d+ messages=\d+|\d+m[\d.]+s|\d+\.\d+s`).ReplaceAllString(all.String(), "…")
	golden.Assert(t, said, "doctor.txt")
	t.Run("as JSON", func(t *testing.T) {
		lines := decodeLines(t, examined{health: brokenHealth}.doctor(t, "--output", "json").out)
		require.Len(t, lines, 8)
		require.Equal(t, "server", lines[0]["name"])
		require.Equal(t, "failed", lines[0]["result"])
		require.Equal(t, "ok", lines[1]["result"])
		require.Equal(t, "unknown", lines[2]["result"])
		require.Contains(t, lines[6], "fix")
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
