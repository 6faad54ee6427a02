package cloud_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Each order that comes to rest counts once, in lines of the embedded format, and only if it is asked for.
func TestOutcomes(t *testing.T) {
	format, err := jsonschema.NewCompiler().Compile("testdata/emf.schema.json")
	require.NoError(t, err)
	var changes []state.Change
	add := func(workflow string, to core.State, due core.Time, orders int) {
		for range orders {
			before := protocol.Task{
				OrderID: fmt.Sprintf("o-%d", len(changes)), Version: 1, Workflow: workflow,
				Definition: "hash", Order: []byte("{}"), ProcessState: core.Processing, Created: 1_000,
				Due: 2_000,
			}
			after := before
			after.Version = 2
			after.ProcessState = to
			after.Due = due
			after.End.At = 1_000 + core.Time(len(changes))
			changes = append(changes, state.Change{Task: &before},
				state.Change{Task: &after, Before: &before})
		}
	}
	add("ship", core.Processed, 0, 205)
	add("ship", core.Error, 0, 1)
	add("pay", core.Cancelled, 0, 1)
	add("pay", core.Processed, 9_000, 1) // its end is not reported yet
	ended := changes[1].Task
	erased := *ended
	erased.Version = 3
	unknown := protocol.Task{OrderID: "early", Version: 1, ProcessState: core.Cancelled, Created: 1_000}
	changes = append(changes, state.Change{Task: &erased, Before: ended}, state.Change{Task: &unknown})

	for _, on := range []string{"", "true"} {
		var out bytes.Buffer
		s, parts, outcomes := open(t, &out, nil, map[string]string{
			deployment.VarOutcomes: on,
			deployment.VarStack:    "Shop/Engine",
		})
		s.Keep("orders", "OrderID")
		for _, c := range changes {
			require.NoError(t, parts.State.Commit(t.Context(), []state.Change{c})[0])
		}
		lost := *changes[1].Task // another writer was faster
		require.Error(t, parts.State.Commit(t.Context(), []state.Change{{Task: &lost, Before: changes[0].Task}})[0],
			"a version was stored twice")
		outcomes.Write()
		outcomes.Write()
		var got []string
		for line := range strings.Lines(out.String()) {
			doc, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
			require.NoError(t, err)
			require.NoError(t, format.Validate(doc), line)
			m := doc.(map[string]any)
			durations, _ := m["OrderDuration"].([]any)
			got = append(got, fmt.Sprintln(m["Deployment"], m["Workflow"], m["State"], m["OrdersEnded"],
				len(durations), m["_aws"].(map[string]any)["CloudWatchMetrics"]))
			if m["State"] == "Cancelled" && fmt.Sprint(durations) != "[412]" {
				t.Errorf("the duration is %v ms, want 412", durations)
			}
		}
		const ended = "[map[Dimensions:[[Deployment Workflow State]] Metrics:[map[Name:OrderDuration " +
			"Unit:Milliseconds] map[Name:OrdersEnded Unit:Count]] Namespace:Stepkeeper]]\n"
		const stopped = "[map[Dimensions:[[Deployment Workflow State]] Metrics:[map[Name:OrdersEnded " +
			"Unit:Count]] Namespace:Stepkeeper]]\n"
		want := []string{
			"Shop/Engine pay Cancelled 1 1 " + ended, "Shop/Engine ship Error 1 0 " + stopped,
			"Shop/Engine ship Processed 100 100 " + ended, "Shop/Engine ship Processed 100 100 " + ended,
			"Shop/Engine ship Processed 5 5 " + ended,
		}
		if on == "" {
			want = nil
		}
		require.Equal(t, want, got, on)
	}
}

// Metrics that cannot be written are in the log, and no invocation fails because of them.
func TestOutcomesThatCannotBeWritten(t *testing.T) {
	full := &fullDisk{}
	s, parts, outcomes := open(t, full, nil, map[string]string{
		deployment.VarOutcomes: "true",
		deployment.VarStack:    "Shop/Engine",
	})
	s.Keep("orders", "OrderID")
	task := protocol.Task{
		OrderID: "o-1", Version: 1, Workflow: "pay", Definition: "hash", Order: []byte("{}"),
		ProcessState: core.Processed, Created: 1_000,
	}
	require.NoError(t, parts.State.Commit(t.Context(), []state.Change{{Task: &task}})[0])
	outcomes.Write()
	text := full.log.String()
	require.Contains(t, text, "could not be written")
	require.Contains(t, text, "Workflow=pay state=Processed count=1")
}

// fullDisk takes the log and no metrics.
type fullDisk struct{ log bytes.Buffer }

func (f *fullDisk) Write(p []byte) (int, error) {
	if bytes.HasPrefix(p, []byte("{")) {
		return 0, fmt.Errorf("no space")
	}
	return f.log.Write(p)
}
