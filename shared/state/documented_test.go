package state

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/internal/reference"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// TestEveryMemberIsDocumented checks that docs/reference/document.md lists every member of a stored document,
// as the tables of this package have it, and shows a whole one.
func TestEveryMemberIsDocumented(t *testing.T) {
	const page = "../../docs/reference/document.md"
	var b strings.Builder
	rows(&b, "The order", taskFields)
	rows(&b, "Each step in `Steps`", stepFields)
	rows(&b, "A step's `error`", errorFields)
	rows(&b, "A step's `corrected`", correctedFields)
	rows(&b, "Each attempt in `attempts`", attemptFields)
	rows(&b, "Each receiver in `undelivered`", undeliveredFields)
	reference.Show(t, page, "members", b.String())

	recorded, err := os.ReadFile("testdata/schema1/goes-well-end.txt")
	if err != nil {
		t.Fatal(err)
	}
	document, _, _ := bytes.Cut(recorded, []byte("\n\n"))
	var example bytes.Buffer
	if err := json.Indent(&example, document, "    ", "  "); err != nil {
		t.Fatal(err)
	}
	reference.Show(t, page, "example", "```json\n"+example.String()+"\n```")
}

func rows[T any](b *strings.Builder, title string, of *table[T]) {
	fmt.Fprintf(b, "\n## %s\n\n| member | says |\n|---|---|\n", title)
	for _, f := range of.fields {
		fmt.Fprintf(b, "| `%s` | %s |\n", f.name, f.says)
	}
}

// TestOtherObjectsAreDocumented checks that docs/reference/document.md lists the members of the objects that
// encoding/json writes, in the order of their fields, and no others.
func TestOtherObjectsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/reference/document.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## The other objects\n")
	section, _, _ = strings.Cut(section, "\n## ")
	var got, want []string
	for line := range strings.Lines(section) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && strings.HasPrefix(line, "| `") {
			got = append(got, strings.Trim(cells[1], " `")+" "+strings.Trim(cells[2], " `"))
		}
	}
	for _, o := range []struct {
		name string
		of   any
	}{
		{"verdicts", protocol.Verdict{}},
		{"closed", protocol.Closing{}},
		{"erased", protocol.Erasure{}},
		{"parent", core.Parent{}},
		{"resolved", core.Resolved{}},
		{"progress", protocol.StepProgress{}},
		{"answers", protocol.Answers{}},
		{"answers.votes", protocol.Vote{}},
		{"children", protocol.Children{}},
		{"children.open", protocol.OpenChild{}},
		{"children.results", protocol.Collected{}},
	} {
		for _, f := range reflect.VisibleFields(reflect.TypeOf(o.of)) {
			member, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			want = append(want, o.name+" "+member)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("the page lists\n%q, the code writes\n%q", got, want)
	}
}
