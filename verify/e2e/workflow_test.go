package e2e

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
)

// listed answers `stepkeeper workflow list`.
func (p *process) listed() map[string]struct {
	Hash     string
	Problems []string
} {
	p.t.Helper()
	answer := p.run("", "workflow", "list", "--output", "json")
	if answer.code != 0 {
		p.t.Fatalf("workflow list: %+v", answer)
	}
	all := map[string]struct {
		Hash     string
		Problems []string
	}{}
	for line := range strings.Lines(answer.out) {
		var w struct {
			Name, Hash string
			Problems   []string
		}
		if err := json.Unmarshal([]byte(line), &w); err != nil {
			p.t.Fatalf("%q: %v", line, err)
		}
		all[w.Name] = struct {
			Hash     string
			Problems []string
		}{w.Hash, w.Problems}
	}
	return all
}

// Workflow files take effect without a restart; a broken one is refused, shown, and affects no order.
func TestWorkflowFiles(t *testing.T) {
	t.Parallel()
	shop := newService(t)
	s := newSite(t, shop.agents(), pairOnly)
	p := s.start()

	// A new file.
	s.write("workflows/second.yaml", strings.Replace(pair, "workflow: pair", "workflow: second", 1))
	eventually(t, "the new workflow is in force", func() bool { return p.listed()["second"].Hash != "" })
	p.end(p.submit("second", "new", 1)[0], "Processed")

	// A changed one: orders under way keep theirs.
	shop.hold()
	under := p.submit("pair", "under-way", 1)[0]
	first := p.listed()["pair"].Hash
	s.write("workflows/pair.yaml", strings.Replace(pair, "operation: send", "operation: deliver", 1))
	eventually(t, "the changed workflow is in force", func() bool { return p.listed()["pair"].Hash != first })
	changed := p.listed()["pair"].Hash
	shop.open()
	if task := p.end(under, "Processed"); task.Definition != first {
		t.Errorf("the order under way runs %s, it began with %s", task.Definition, first)
	}
	if shop.called("deliver") != 0 {
		t.Error("an order under way took the changed workflow")
	}
	p.end(p.submit("pair", "changed", 1)[0], "Processed")
	if shop.called("deliver") != 1 {
		t.Error("a new order did not take the changed workflow")
	}

	// A broken one: the version before it stays.
	s.write("workflows/pair.yaml", strings.Replace(pair, "agent: shop\n    operation: send",
		"agent: absent\n    operation: send", 1))
	eventually(t, "the broken file is reported", func() bool { return len(p.listed()["pair"].Problems) > 0 })
	got := p.listed()["pair"]
	if got.Hash != changed || !strings.Contains(strings.Join(got.Problems, "\n"), "absent") ||
		!strings.Contains(got.Problems[0], "pair.yaml:") {
		t.Errorf("listed %+v, want the hash %s and a problem that names file, line and agent", got, changed)
	}
	if text := p.run("", "workflow", "list"); !strings.Contains(text.out+text.err, "absent") {
		t.Errorf("workflow list says %+v", text)
	}
	res, err := http.Get(p.url + "/healthz")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	health, err := io.ReadAll(res.Body)
	if err != nil || !strings.Contains(string(health), "absent") {
		t.Errorf("health says %s, %v", health, err)
	}
	p.end(p.submit("pair", "still", 1)[0], "Processed")

	// A new file that never was right, and then is.
	s.write("workflows/third.yaml", "workflow: third\nsteps: 1\n")
	eventually(t, "the new broken file is reported",
		func() bool { return len(p.listed()["third"].Problems) > 0 })
	s.write("workflows/third.yaml", strings.Replace(pair, "workflow: pair", "workflow: third", 1))
	eventually(t, "the corrected file is in force", func() bool {
		w := p.listed()["third"]
		return w.Hash != "" && len(w.Problems) == 0
	})

	// A workflow that is gone is not taken any more; those under way never notice.
	if err := os.Remove(s.path("workflows/third.yaml")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the removed workflow is gone",
		func() bool { _, there := p.listed()["third"]; return !there })
}
