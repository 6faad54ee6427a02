package embedded_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

func scraped(s *embedded.Runtime) string {
	r := httptest.NewRecorder()
	s.Metrics().ServeHTTP(r, httptest.NewRequest("GET", "/metrics", nil))
	return r.Body.String()
}

// Orders in Error are counted by workflow, with the age of the oldest, until the last one has been dealt
// with.
func TestMetricsOfOrdersInError(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(strings.NewReplacer("order.n }", "order.amount.value }", "onFailure: undo", "onFailure: stop").
		Replace(fmt.Sprintf(pair, "5s"))) // its first step fails without a call
	w.options.SweepEvery = quick
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "o-1", "")
	submit(t, s, "o-2", "")
	wait(t, s, "o-1")
	wait(t, s, "o-2")
	older := regexp.MustCompile(
		`stepkeeper_oldest_in_error_seconds\{workflow="pair"\} (0\.[0-9]*[1-9]|[1-9])`)
	eventually(t, "two orders are in Error", func() bool {
		text := scraped(s)
		return strings.Contains(text, `stepkeeper_orders_in_error{workflow="pair"} 2`) &&
			older.MatchString(text)
	})
	for _, id := range []string{"o-1", "o-2"} {
		accepted(t, s, id, core.Command{Name: core.Close, ID: "c-" + id, Sender: core.Sender{
			By:     "ann",
			Reason: "by hand",
		}})
	}
	eventually(t, "none is any more", func() bool { return !strings.Contains(scraped(s), "in_error") })
}

// A step without a reply in time is counted when the Supervisor hands it back.
func TestMetricsOfOverdueSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, "100ms")
		w.outside()
		s := w.open()
		defer closeRuntime(t, s)
		submit(t, s, "o-1", "")
		q := queueOf(t, s, port.Requests("shop"))
		taken, err := q.Receive(t.Context(), 1, patience, time.Minute)
		require.NoError(t, err)
		require.Len(t, taken, 1)
		eventually(t, "a step is overdue", func() bool {
			return regexp.MustCompile(`(?m)^stepkeeper_steps_overdue_total [1-9]`).MatchString(scraped(s))
		})
	})
}

// The time of a step that has failed is none of those that are done, also where the order went on without it.
func TestMetricsOfStepsAreOfThoseDone(t *testing.T) {
	w := newFixture(t, "5s")
	w.write(`workflow: pair
steps:
  first: {agent: shop, operation: first, timeout: 5s, onFailure: undo, undo: none, grade: idempotent}
  second: {agent: shop, operation: second, timeout: 5s, onFailure: continue, undo: none, grade: idempotent}
`)
	s := w.open()
	defer closeRuntime(t, s)
	w.shop.refuse.Store(true)
	submit(t, s, "o-1", "")
	require.Equal(t, core.Processed, wait(t, s, "o-1").ProcessState)
	const first = `stepkeeper_step_duration_seconds_count{step="first",workflow="pair"} 1`
	eventually(t, "the order is counted", func() bool { return strings.Contains(scraped(s), first) })
	require.NotContains(t, scraped(s), `step="second"`)
}

// GET /metrics reports what is stored, under way, queued, ended and committed. The dashboard asks for nothing
// else.
func TestMetrics(t *testing.T) {
	w := newFixture(t, "30s")
	s := w.open()
	defer closeRuntime(t, s)
	for _, id := range []string{"o-1", "o-2", "o-3"} {
		submit(t, s, id, "")
		wait(t, s, id)
	}
	w.shop.refuse.Store(true)
	submit(t, s, "o-4", "")
	wait(t, s, "o-4")
	scrape := func() string { return scraped(s) }
	for end := time.Now().Add(patience); !strings.Contains(scrape(),
		"stepkeeper_sweep_duration_seconds_count") || strings.Contains(scrape(),
		"stepkeeper_sweep_duration_seconds_count 0"); {
		require.False(t, time.Now().After(end), "no sweep is reported")
	}
	text := scrape()
	for _, want := range []string{
		`stepkeeper_order_duration_seconds_count{state="Processed",workflow="pair"} 3`,
		`stepkeeper_order_duration_seconds_bucket{state="Processed",workflow="pair",le="120"} 3`,
		`stepkeeper_step_duration_seconds_count{step="first",workflow="pair"} 3`,
		`stepkeeper_step_duration_seconds_count{step="second",workflow="pair"} 3`,
		`stepkeeper_agent_requests_total{agent="shop",outcome="failed"} 1`,
		"stepkeeper_sweep_lag_seconds 0", "go_goroutines ",
	} {
		require.Contains(t, text, want)
	}
	require.NotContains(t, text, "o-1")
	require.Empty(t, regexp.MustCompile(`# HELP \S+ *\n`).FindString(text), "it does not say what a figure is")
	require.NotContains(t, text, "stepkeeper_commit_group_size_count 0")
	swept := regexp.MustCompile(`\nstepkeeper_sweep_last_success_timestamp_seconds (\S+)\n`).
		FindStringSubmatch(text)
	require.NotEmpty(t, swept)
	at, err := strconv.ParseFloat(swept[1], 64)
	require.NoError(t, err)
	require.LessOrEqual(t, time.Since(time.Unix(int64(at), 0)).Abs(), 5*time.Minute)
	require.False(t, regexp.MustCompile(`_sum(\{[^}]*\})? -`).MatchString(text))

	var exposed strings.Builder // without what depends on how fast this machine is
	varies := regexp.MustCompile(`^(stepkeeper_\S*(?:_seconds|_size|_messages|_requests|panics_total)\S* ).*`)
	for line := range strings.Lines(text) {
		if strings.Contains(line, "stepkeeper_") && !strings.Contains(line, "stepkeeper_messages_total") {
			exposed.WriteString(varies.ReplaceAllString(line, "${1}#"))
		}
	}
	golden.Assert(t, exposed.String(), "metrics.txt")

	board, err := os.ReadFile("../../docs/reference/grafana.json")
	require.NoError(t, err)
	require.True(t, json.Valid(board), "the dashboard: %v", err)
	part := regexp.MustCompile(`_(bucket|sum|count)$`)
	atTimes := []string{
		"stepkeeper_messages_total",
		"stepkeeper_breaker_open", "stepkeeper_orders_in_error", "stepkeeper_oldest_in_error_seconds",
	}
	for _, name := range regexp.MustCompile(`stepkeeper_[a-z_]+`).FindAllString(string(board), -1) {
		if base := part.ReplaceAllString(name, ""); !strings.Contains(text, "# HELP "+base) &&
			!slices.Contains(atTimes, base) {
			t.Errorf("the dashboard asks for %s, which is not there", name)
		}
	}
}
