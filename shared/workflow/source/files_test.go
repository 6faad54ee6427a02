package source_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

func files(t *testing.T, pattern string) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	require.NoError(t, err, pattern)
	require.NotEmpty(t, found, pattern)
	return found
}

// Every problem of a broken file is reported, with line, column and fix.
func TestBadFiles(t *testing.T) {
	for _, file := range files(t, "testdata/bad/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			d, problems := source.Parse(name+".yaml", data, options)
			require.Nil(t, d)
			require.Error(t, problems.Err())
			golden.Assert(t, problems.Error()+"\n", "bad/"+name+".problems")
		})
	}
}

// options say what agents there are, and that payment can work for less than a minute at a time.
var options = source.Options{
	KnownAgents: []string{"b", "a", "payment"},
	MaxTimeout: func(agent string) core.Duration {
		return map[string]core.Duration{"payment": 58 * core.Second}[agent]
	},
}

// A good file can have warnings, and has no others.
func TestWarnedFiles(t *testing.T) {
	for _, file := range files(t, "testdata/warned/*.yaml") {
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) {
			d, problems := source.LoadFile(file, options)
			require.NotNil(t, d, "%+v", problems)
			text := strings.ReplaceAll(problems.Error(), "testdata/warned/", "")
			golden.Assert(t, text+"\n", "warned/"+name+".problems")
		})
	}
}

// The stored form of a good file, and its hash, never change by themselves: tasks are pinned to them.
func TestGoodFiles(t *testing.T) {
	for _, file := range files(t, "testdata/good/*.yaml") {
		d, problems := source.LoadFile(file, source.Options{})
		if len(problems) > 0 {
			t.Error(problems)
			continue
		}
		stored := ""
		for _, def := range d.WithBlocks() {
			data, err := workflow.Encode(def)
			require.NoError(t, err)
			var pretty bytes.Buffer
			require.NoError(t, json.Indent(&pretty, data, "", "  "))
			stored += def.Hash + "\n" + pretty.String() + "\n"
		}
		name := strings.TrimSuffix(filepath.Base(file), ".yaml")
		t.Run(name, func(t *testing.T) { golden.Assert(t, stored, "good/"+name+".json") })
	}
}

// P40: the workflow of children is found in the folder, whichever file is read first, and pinned by its hash.
func TestChildren(t *testing.T) {
	all, err := source.LoadDir("testdata/children", source.Options{})
	require.NoError(t, err)
	reported := ""
	hashes := map[string]string{}
	for _, f := range all {
		reported += f.Name + "\n"
		for _, p := range f.Problems {
			reported += "  " + p.String() + "\n"
		}
		alone, problems := source.LoadFile("testdata/children/"+f.Name, source.Options{})
		if (alone == nil) != (f.Definition == nil) || alone != nil && alone.Hash != f.Definition.Hash {
			t.Errorf("%s: alone it is %v, %v", f.Name, alone, problems)
		}
		if f.Definition != nil {
			hashes[f.Workflow] = f.Definition.Hash
		}
	}
	golden.Assert(t, reported, "children/problems.txt")
	family, _ := source.LoadFile("testdata/children/family.yaml", source.Options{})
	golden.Assert(t, workflow.Graph(family), "graph/family.mmd")
	data, err := workflow.Encode(family)
	require.NoError(t, err)
	golden.Assert(t, family.Hash+"\n"+string(data)+"\n", "children/family.json")
	require.Equal(t, hashes["leaf"], family.Steps[0].Each.Definition)
	of, _ := source.LoadFile("testdata/children/of-pivot.yaml", source.Options{})
	require.NotNil(t, of, "children with a point of no return: %+v", of)
	require.True(t, of.Steps[0].PointOfNoReturn, "children with a point of no return: %+v", of)
	require.Equal(t, core.OnFailureStop, of.Steps[0].OnFailure)
}

func TestGraph(t *testing.T) {
	for _, file := range []string{
		"../../../examples/order/order.yaml", "../../../examples/order/provision.yaml", "testdata/good/full.yaml",
		"testdata/good/waits.yaml", "testdata/good/fails.yaml", "testdata/good/answers.yaml",
		"testdata/good/asks.yaml", "testdata/good/continue.yaml", "testdata/good/any.yaml",
		"testdata/good/block.yaml", "testdata/good/repeat.yaml", "testdata/good/enough.yaml",
		"testdata/good/late.yaml", "testdata/good/remind.yaml", "testdata/good/undo-name.yaml",
	} {
		d, problems := source.LoadFile(file, source.Options{})
		require.Empty(t, problems)
		t.Run(d.Name, func(t *testing.T) { golden.Assert(t, workflow.Graph(d), "graph/"+d.Name+".mmd") })
	}
}
