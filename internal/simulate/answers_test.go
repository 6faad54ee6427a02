package simulate_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

const trip = `workflow: trip
order: {schema: {type: object, required: [guest], properties: {guest: {type: string, minLength: 4}}}}
steps:
  reserve: {agent: hotels, operation: reserve, input: "${ order.guest }", timeout: 2s, onFailure: undo, undo: cancel, grade: idempotent}
  check: {event: {name: seen, schema: {type: boolean}, timeout: 3d, onTimeout: stop}}
  ok:
    approval: {question: Go?, answers: ["yes", "no"], need: 2, notSelf: order.guest, refuse: value == "no", timeout: 2d, onTimeout: undo}
    after: [reserve, check]
    when: steps.reserve.output.price > 200
`

func tripped(t *testing.T) simulate.Scenario {
	t.Helper()
	file := filepath.Join(t.TempDir(), "trip.yaml")
	require.NoError(t, os.WriteFile(file, []byte(trip), 0o600))
	return simulate.Scenario{Definition: load(t, file)}
}

// described sets outputs and answers of a scenario, and an order that matches the schema.
func described(t *testing.T, services string, answers ...string) simulate.Scenario {
	t.Helper()
	sc := tripped(t)
	var err error
	sc.Services, err = simulate.ParseServices([]byte(services), sc.Definition)
	require.NoError(t, err)
	sc.Answers, err = simulate.ParseAnswers(answers, sc.Definition)
	require.NoError(t, err)
	sc, err = simulate.Fitted(sc)
	require.NoError(t, err)
	return sc
}

// A workflow that reads outputs and waits for answers is simulated as it is. Each finding names the next
// thing to state.
func TestOutputsAndAnswers(t *testing.T) {
	const output = "services: {hotels: {reserve: {output: {price: 270}}}}"
	const drawn = "services: {hotels: {latency: 50ms, reserve: {schema: {type: object, required: [price], " +
		"properties: {price: {type: number, minimum: 198}}}}}}"
	for _, c := range []struct {
		services string
		answers  []string
		want     string
	}{
		{"services: {}", []string{"check=true"}, "as in hotels: {reserve: {output: {price: …}}}"},
		{output, []string{"check=true"}, "--answer 'ok=yes'"},
		{output, []string{"ok=yes"}, "--answer 'check=true'"},
		{output, []string{"ok=yes", "check=true"}, ""},
		{drawn, []string{"ok=yes", "check=true"}, ""},
	} {
		sc := described(t, c.services, c.answers...)
		all := simulate.Diagnose(sc)
		if c.want != "" {
			require.Len(t, all, 1, c.services)
			require.Contains(t, all[0].Fix, c.want, c.services)
			continue
		}
		require.Empty(t, all, c.services)
		r := simulate.Find(sc, simulate.Search{Seeds: 60, First: 1})
		require.Nil(t, r.Violation, c.services)
		require.GreaterOrEqual(t, r.Ends[core.Processed], 40, c.services)
	}
	refused := simulate.Run(described(t, output, "ok=no", "check=true"), simulate.Plain{})
	require.Nil(t, refused.Violation)
	require.NotZero(t, refused.Ends[core.Compensated])
	tape := simulate.NewTape(described(t, drawn, "ok=yes"), nil, nil)
	again, err := tape.Scenario(nil)
	require.NoError(t, err)
	require.Equal(t, `"yes"`, string(again.Answers["ok"]))
	require.GreaterOrEqual(t, len(again.Services["hotels"].Outputs["reserve"]), 2)
}

const blocks = `workflow: review
steps:
  turns:
    repeat: {until: result.ok, atMost: 3}
    steps:
      inner:
        steps:
          check: {event: {name: seen, schema: {type: boolean}, timeout: 3d, onTimeout: undo}}
        output: {ok: "${ steps.check.output.value }"}
        onFailure: undo
    output: {ok: "${ steps.inner.output.ok }"}
    onFailure: undo
`

// A missing answer is found also if the step that fails is not the one that asks.
func TestMissingAnswersOfMembersAndLists(t *testing.T) {
	const event = "{event: {name: seen, timeout: 1d, onTimeout: undo}}"
	for path, step := range map[string]string{
		"asks-a":   "{any: {a: " + event + ", b: " + event + "}}",
		"asks/one": "{each: [{}, {}], steps: {one: " + event + "}}",
	} {
		file := filepath.Join(t.TempDir(), "flow.yaml")
		require.NoError(t, os.WriteFile(file, []byte("workflow: flow\nsteps:\n  asks: "+step+"\n"), 0o600))
		all := simulate.Diagnose(simulate.Scenario{Definition: load(t, file)})
		require.Len(t, all, 1)
		require.Contains(t, all[0].Fix, "--answer '"+path+"=")
	}
}

// A step in a block is answered in each order of the block. Its path names it.
func TestAnswersInBlocks(t *testing.T) {
	file := filepath.Join(t.TempDir(), "review.yaml")
	require.NoError(t, os.WriteFile(file, []byte(blocks), 0o600))
	sc := simulate.Scenario{Definition: load(t, file)}
	all := simulate.Diagnose(sc)
	require.Len(t, all, 1)
	require.Contains(t, all[0].Fix, "--answer 'turns/inner/check=")
	var err error
	for answer, end := range map[string]core.State{"true": core.Processed, "false": core.Compensated} {
		sc.Answers, err = simulate.ParseAnswers([]string{"turns/inner/check=" + answer}, sc.Definition)
		require.NoError(t, err)
		r := simulate.Run(sc, simulate.Plain{})
		require.Nil(t, r.Violation)
		require.NotZero(t, r.Ends[end], "%v", r.Ends)
	}
	_, err = simulate.ParseAnswers([]string{"check=true"}, sc.Definition)
	require.ErrorContains(t, err, "turns/inner/check")
}

// One file of services may serve a whole folder: it may describe agents of children and of other workflows.
// An agent or operation that none of them has is refused.
func TestServicesOfAFolder(t *testing.T) {
	folder := t.TempDir()
	for name, text := range map[string]string{
		"parent.yaml": "workflow: parent\nsteps:\n  kid: {workflow: child, input: {}}\n",
		"child.yaml": "workflow: child\nsteps:\n  send: {agent: mail, operation: send, undo: none, " +
			"grade: fenced, timeout: 5s, onFailure: undo}\n",
		"other.yaml": "workflow: other\nsteps:\n  pay: {agent: bank, operation: pay, undo: none, " +
			"grade: fenced, timeout: 5s, onFailure: undo}\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	parent := load(t, filepath.Join(folder, "parent.yaml"))
	other := load(t, filepath.Join(folder, "other.yaml"))
	text := "services: {mail: {send: {output: 1}}, bank: {pay: {output: 2}}}"
	got, err := simulate.ParseServices([]byte(text), parent, other, parent)
	require.NoError(t, err)
	require.Len(t, got["mail"].Outputs["send"], 1)
	require.NotContains(t, got, "bank", "it does nothing in the simulated workflow")
	for text, want := range map[string]string{
		"services: {bank: {pay: {output: 2}}}":  `has no agent "bank"`,
		"services: {mail: {sned: {output: 1}}}": "did you mean send?",
	} {
		_, err := simulate.ParseServices([]byte(text), parent)
		require.ErrorContains(t, err, want)
	}
	_, err = simulate.ParseServices([]byte("services: {bank: {pya: {output: 2}}}"), parent, other)
	require.ErrorContains(t, err, "there are pay")
}

// What does not fit to the workflow is refused, with what would.
func TestDescriptionsThatDoNotFit(t *testing.T) {
	sc := tripped(t)
	for services, want := range map[string]string{
		"hotels: {reserv: {output: 1}}":                                    "did you mean reserve?",
		"hotels: {reserve: {outptu: 1}}":                                   "either output or schema",
		"hotels: {reserve: {output: 1, schema: {}}}":                       "either output or schema",
		"hotels: {latncy: 3s}":                                             "did you mean latency?",
		"hotels: {reserve: {schema: {type: objekt}}}":                      "at /type it is not one of",
		"hotels: {reserve: {schema: {pattern: \"^b$\", type: string}}}":    "no value",
		"hotels: {reserve: {output: " + strings.Repeat("x", 50_000) + "}}": "the limit is",
	} {
		_, err := simulate.ParseServices([]byte("services: {"+services+"}"), sc.Definition)
		require.ErrorContains(t, err, want, services)
	}
	for answer, want := range map[string]string{
		"ok": "write STEP=VALUE", "okk=yes": "did you mean ok?",
		"reserve=yes": "no approval or event", "ok=maybe": "must be one of: yes, no",
		"check=7": "not a boolean", "ok=" + strings.Repeat("x", 9000): "write STEP=VALUE",
	} {
		_, err := simulate.ParseAnswers([]string{answer}, sc.Definition)
		require.ErrorContains(t, err, want, answer)
	}
	text := strings.ReplaceAll(trip, "operation: reserve", "operation: check")
	file := filepath.Join(t.TempDir(), "trip.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	services, err := simulate.ParseServices([]byte("services: {hotels: {latency: 50ms, check: {output: 1}}}"),
		load(t, file))
	s := services["hotels"]
	require.NoError(t, err)
	require.Len(t, s.Outputs["check"], 1)
	require.False(t, s.Check, "an operation with the name of a field: %+v, %v", services, err)
	_, err = simulate.ParseAnswers([]string{"a=b"}, &core.Definition{Name: "w"})
	require.ErrorContains(t, err, "leave the answers out", "a workflow without answers")
	sc.Order = json.RawMessage(`{"guest":"x"}`)
	_, err = simulate.Fitted(sc)
	require.Contains(t, fmt.Sprint(err), "at /guest it has 1 characters", "an order that does not match")
}

// An order is drawn from the second form if no value of the first one can be drawn.
func TestAnOrderOfTheSecondForm(t *testing.T) {
	head, rest, _ := strings.Cut(trip, "schema: ")
	object, rest, _ := strings.Cut(rest, "}\nsteps")
	file := filepath.Join(t.TempDir(), "trip.yaml")
	text := head + "schema: {oneOf: [{type: string, pattern: ^b$}, " + object + "]}}\nsteps" + rest
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	sc, err := simulate.Fitted(simulate.Scenario{Definition: load(t, file)})
	require.NoError(t, err)
	require.Equal(t, `{"guest":"abbb"}`, string(sc.Order))
}
