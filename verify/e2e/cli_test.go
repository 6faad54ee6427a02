package e2e

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// trip stops for the operator, and can be undone.
const trip = `workflow: trip
grace: 500ms
tellAfter: 500ms
agents:
  shop: {queueAllowance: 500ms, clockSkew: 100ms}
steps:
  seat:
    agent: shop
    operation: seat
    timeout: 500ms
    retry: {maxFailures: 2, backoff: {initial: 20ms, max: 100ms}}
    onFailure: undo
    undo: free-seat
    grade: fenced
  room:
    agent: shop
    operation: room
    after: [seat]
    timeout: 500ms
    retry: {maxFailures: 2, backoff: {initial: 20ms, max: 100ms}}
    onFailure: stop
    undo: free-room
    grade: fenced
`

// wants holds an answer to its exit code and words.
func (s said) wants(t *testing.T, what string, code int, words ...string) {
	t.Helper()
	if s.code != code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", what, s.code, code, s.out, s.err)
	}
	for _, w := range words {
		if !strings.Contains(s.out+s.err, w) {
			t.Errorf("%s: no %q in\n%s%s", what, w, s.out, s.err)
		}
	}
}

// lines decodes JSON Lines.
func lines(t *testing.T, text string) []map[string]any {
	t.Helper()
	var all []map[string]any
	for line := range strings.Lines(text) {
		var v map[string]any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		all = append(all, v)
	}
	return all
}

// The application's side of the command line.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	s := newSite(t, shop.agents(), map[string]string{"pair.yaml": pair, "trip.yaml": trip})
	p := s.start()
	file := filepath.Join(s.dir, "orders.jsonl")
	text := `{"schema":1,"orderId":"a-1","workflow":"pair","order":{"n":1}}
{"schema":1,"orderId":"a-2","workflow":"pair","order":{"n":2}
{"schema":1,"orderId":"a-3","workflow":"nothing","order":{"n":3}}
{"schema":1,"orderId":"a-4","workflow":"pair","order":{"n":4}}
`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p.run("", "submit", file).wants(t, "a file with bad lines", 2, "orders.jsonl:2", "orders.jsonl:3",
		"nothing")
	answer := p.run("", "submit", "--wait", "--output", "json", file)
	answer.wants(t, "the same file again", 2)
	byLine := map[float64]map[string]any{}
	for _, a := range lines(t, answer.out) {
		byLine[a["line"].(float64)] = a
	}
	if len(byLine) != 4 || byLine[1]["known"] != true || byLine[1]["state"] != "Processed" ||
		byLine[2]["accepted"] != false ||
		byLine[3]["accepted"] != false || byLine[4]["state"] != "Processed" {
		t.Errorf("answers %v", byLine)
	}
	p.run(`{"n":9}`, "submit", "--workflow", "pair", "--id", "b-1", "--wait", "-").wants(t, "a bare order", 0)
	p.run(`{"n":10}`, "submit", "--workflow", "pair", "--id", "b-1", "-").wants(t, "other content", 3, "b-1")
	if n := shop.done(); n != 6 {
		t.Errorf("%d effects of three orders, want 6", n)
	}

	p.run("", "show", "a-1").wants(t, "show", 0, "a-1", "Processed", "pick", "send")
	p.run("", "show", "nowhere").wants(t, "show of an unknown order", 4, "nowhere")
	listed := p.run("", "list", "--output", "json", "--where", "state=Processed,workflow=pair")
	listed.wants(t, "list", 0)
	if n := len(lines(t, listed.out)); n != 3 {
		t.Errorf("%d orders listed, want 3", n)
	}
	p.run("", "list", "--where", "state=Tired").wants(t, "list of an unknown state", 2, "Tired")
	p.run("", "watch", "a-1").wants(t, "watch of an order that has ended", 0, "Processed")
	run(t, "", "list", "--server", "http://127.0.0.1:9", "--timeout", "300ms").wants(t,
		"a server that is not there", 5)
	p.run("", "submit", "--colour").wants(t, "an unknown flag", 2, "--colour")
	run(t, "", "workflow", "validate", s.path("workflows/trip.yaml")).wants(t, "validate", 0)

	shop.hold()
	under := p.submit("pair", "cancelled", 1)[0]
	eventually(t, "a call under way", func() bool { return p.get(under).Steps[0].State == "Processing" })
	watched := p.submit("pair", "watched", 1)[0]
	live := make(chan said, 1)
	go func() {
		answer, err := try(t.Context(), "", "watch", watched, "--server", p.url)
		if err != nil {
			t.Error(err)
		}
		live <- answer
	}()
	p.run("", "cancel", under).wants(t, "cancel", 0, under)
	shop.open()
	(<-live).wants(t, "watch of a running order", 0, watched, "Processed")
	p.run("", "watch", under).wants(t, "watch of a cancelled order", 6, "Cancelled")
	p.run("", "cancel", "a-1").wants(t, "cancel past the point of no return", 3, "a-1")
	p.run("", "cancel", "unknown").wants(t, "cancel of an unknown order", 4, "unknown")
	p.run("", "resubmit", "a-1").wants(t, "resubmit of a done order", 3)
}

// The operator's side: an order stops, is looked at, resolved, resubmitted, undone.
func TestOperator(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	s := newSite(t, shop.agents(), map[string]string{"trip.yaml": trip})
	p := s.start()
	shop.refuses("room", true)
	ids := p.submit("trip", "trip", 3)
	for _, id := range ids {
		p.end(id, "Error")
	}
	p.run("", "list", "--where", "state=Error").wants(t, "list", 0, ids...)
	p.run("", "show", ids[0]).wants(t, "show", 0, "Error", "room", "resubmit")
	p.run("", "watch", ids[0]).wants(t, "watch", 6, "Error")

	// Resubmitted while the cause is still there, and once it is removed.
	p.run("", "resubmit", ids[0]).wants(t, "resubmit", 0)
	eventually(t, "it stops again", func() bool {
		task := p.get(ids[0])
		return task.State == "Error" && task.Ended && task.Command == 1
	})
	p.run("", "resubmit", "--command", "0", ids[0]).wants(t, "resubmit on what was seen before", 3)
	shop.refuses("room", false)
	p.run("", "resubmit", ids[0]).wants(t, "resubmit", 0)
	p.end(ids[0], "Processed")

	p.run("", "undo", "--yes", ids[1]).wants(t, "undo", 0)
	p.end(ids[1], "Compensated")
	p.run("", "undo", "--yes", ids[1]).wants(t, "undo of what is undone", 3)

	// The operator knows that the room is booked.
	p.run("", "resolve", ids[2], "nowhere", "happened").wants(t, "resolve of an unknown step", 4, "nowhere")
	p.run("", "resolve", ids[2], "room", "perhaps").wants(t, "resolve with an unknown fact", 2, "perhaps")
	eventually(t, "no call can land any more", func() bool {
		return p.run("", "resolve", ids[2], "room", "happened").code == 0
	})
	p.run("", "resubmit", ids[2]).wants(t, "resubmit", 0)
	p.end(ids[2], "Processed")
	if n := shop.called("free-seat"); n != 1 {
		t.Errorf("%d seats were freed, want 1", n)
	}
}
