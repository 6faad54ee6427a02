package author

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/format"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"github.com/stepkeeper/stepkeeper/simulate"
)

// regressionFile is the template of a Go test that replays one tape. A tape records a simulated run. The test
// reads the workflow's file, so it passes after the user corrects the workflow.
var regressionFile = template.Must(template.New("test").Parse(`package {{.Package}}

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate/sim"
)

// {{.Name}} plays what broke invariant {{.Invariant}}:
// {{.Rule}}.
func {{.Name}}(t *testing.T) {
	sim.Replay(t, {{.Workflow}}, {{.Tape}})
}
`))

// regressionTest returns the source of a test that replays the tape of r. The parameter file is the path of
// the test. The parameter workflow is the path of the workflow's file.
func regressionTest(file, workflow string, r *simulate.Report) ([]byte, error) {
	folder, err := filepath.Abs(filepath.Dir(file))
	if err != nil {
		return nil, err
	}
	workflow, err = filepath.Abs(workflow)
	if err != nil {
		return nil, err
	}
	if relative, err := filepath.Rel(folder, workflow); err == nil {
		workflow = filepath.ToSlash(relative)
	}
	tape, err := json.MarshalIndent(r.Tape, "", " ")
	if err != nil {
		return nil, err
	}
	literal := "`" + string(tape) + "`"
	if bytes.Contains(tape, []byte("`")) {
		literal = strconv.Quote(string(tape))
	}
	var b bytes.Buffer
	err = regressionFile.Execute(&b, map[string]string{
		"Package": packageOf(folder), "Name": fmt.Sprintf("Test%sInvariant%s", word(r.Workflow),
			word(r.Violation.Invariant)),
		"Invariant": r.Violation.Invariant, "Rule": r.Violation.Rule(), "Workflow": strconv.Quote(workflow),
		"Tape": literal,
	})
	if err != nil {
		return nil, err
	}
	return format.Source(b.Bytes())
}

func packageOf(folder string) string {
	name := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '_' {
			return unicode.ToLower(r)
		}
		return -1
	}, filepath.Base(folder))
	if name == "" || unicode.IsDigit(rune(name[0])) {
		name = "workflows" + name
	}
	return name + "_test"
}

func word(s string) string {
	var b strings.Builder
	up := true
	for _, r := range s {
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}
