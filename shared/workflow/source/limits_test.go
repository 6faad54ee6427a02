package source_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// steps writes n steps, each after the one before it if they are chained.
func steps(n int, chained bool) string {
	var b strings.Builder
	b.WriteString("workflow: test\nsteps:\n")
	for i := range n {
		after := ""
		if chained && i > 0 {
			after = fmt.Sprintf("after: [s%d], ", i-1)
		}
		fmt.Fprintf(&b,
			"  s%d: {agent: a, operation: run, %stimeout: 1s, grade: plain, onFailure: undo, undo: none}\n",
			i, after)
	}
	return b.String()
}

// A file that is too large, too deep or grows by repetition gets one clear error, before any function
// recurses.
func TestLimits(t *testing.T) {
	bomb := "workflow: test\nbomb:\n  a0: &a0 [x, x]\n"
	for i := range 40 {
		bomb += fmt.Sprintf("  a%d: &a%d [*a%d, *a%d]\n", i+1, i+1, i, i)
	}
	input := func(s string) string {
		return strings.TrimSuffix(steps(1, false), "}\n") + ", input: " + s + "}\n"
	}
	for _, c := range []struct{ name, file, want string }{
		{
			"1,001 steps", steps(1001, false),
			"test.yaml:2:1: the workflow has 1001 steps, the limit is 1000; fix: split it, or give lists " +
				"to single steps",
		},
		{
			"1,000 steps", steps(1000, true),
			"bytes of a task's document without any output, the limit is 405504; fix: split the workflow, " +
				"or give lists to single steps",
		},
		{"10,000 steps", steps(10_000, false), "more than 200000 YAML tokens"},
		{
			"10,000 short steps", "workflow: test\nsteps:\n" + strings.Repeat("  a: {}\n", 10_000),
			"test.yaml:2003:4: a mapping has more than 2000 fields; fix: split the workflow: it may have " +
				"1000 steps",
		},
		{
			"10,000 documents", strings.Repeat("---\na: 1\n", 10_000),
			"test.yaml:3:1: the file holds a second document",
		},
		{
			"a huge file", strings.Repeat("# x\n", 300_000),
			"test.yaml: the file has more than 1048576 bytes; fix: split the workflow",
		},
		{"a long line", "workflow: " + strings.Repeat("x", 20_000), "line 1 has more than 10000 bytes"},
		{"wrong UTF-8", "workflow: \xff\n", "test.yaml: the file is not UTF-8; fix: save it as UTF-8"},
		{"an alias bomb", bomb, "the file stands for more than 50000 values"},
		{"an alias of itself", "workflow: &w [*w]\n", "alias *w has no anchor before it"},
		{
			"deep lists", input(strings.Repeat("[", 2000) + strings.Repeat("]", 2000)),
			"nested deeper than 100 levels",
		},
		{
			"deep mappings", input(strings.Repeat("{a: ", 1500) + strings.Repeat("}", 1500)),
			"nested deeper than 100 levels",
		},
		{"deep open lists", strings.Repeat("[", 9000), "nested deeper than 100 levels"},
		{"deep block lists", strings.Repeat("- ", 4000), "nested deeper than 100 levels"},
		{"blocks nested by columns", "workflow: test\nx:\n" + nested(400), "nested deeper than 100 levels"},
		{"many keys in one line", strings.Repeat("a: ", 3000), "nested deeper than 100 levels"},
		{"many anchors", strings.Repeat("&a ", 3000), "YAML"},
		{"many quotes", strings.Repeat(strings.Repeat("\"", 1000)+"\n", 100), "YAML"},
		{"a complex key", "? a\n: b\n", "is not used in workflows"},
		{"a NUL", "workflow: a\x00b\n", "workflow is"},
		{
			"many expressions", input("[" + strings.TrimSuffix(strings.Repeat("\"${run}\", ", 257), ", ") + "]"),
			"input holds 257 expressions, the limit is 256",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			d, problems := source.Parse("test.yaml", []byte(c.file), source.Options{})
			require.Nil(t, d)
			require.Contains(t, problems.Error(), c.want)
			require.LessOrEqual(t, len(problems), 100)
		})
	}
}

// Values to which programs give different types are refused. Values of the core schema have its types.
func TestScalars(t *testing.T) {
	file := func(value string) []byte {
		return []byte("\ufeff" + strings.TrimSuffix(steps(1, false), "}\n") + ", input: [" + value + "]}\n")
	}
	for _, value := range []string{
		"02134", "0755", "-012", "00.5", "1_000", "0b11", "+0x10", "yes", "No",
		"on", "OFF",
		".inf", "+.inf", "-.INF", ".nan", "+.NaN", "0X1F", "0o9", "0O17", "-0B1", "0x", "0xG", "1.5_0",
		".5_0", "1e", "-2.5E+", "2026-01-31", "2026-01-31T08:00:00Z", "12:30", "1:30:00",
	} {
		_, problems := source.Parse("test.yaml", file(value), source.Options{})
		if text := problems.Error(); strings.Contains(value, ":") &&
			strings.Contains(text, "has no space after its colon") {
			continue // in a list; the library does not read it as one value
		} else if !strings.Contains(text, value+" is ") || !strings.Contains(text, "fix: quote it") {
			t.Errorf("%s: %s", value, text)
		}
		require.ErrorContains(t, source.CheckScalars([]byte("a: "+value)), "line 1, column 4: "+value+" is ", value)
		for _, quoted := range []string{"'" + value + "'", `"` + value + `"`} {
			_, problems := source.Parse("test.yaml", file(quoted), source.Options{})
			require.Empty(t, problems, quoted)
		}
		require.NoError(t, source.CheckScalars([]byte(value+": |\n  "+value+"\n")), value)
	}
	for value, want := range map[string]string{
		"1e3": "1e3", "+7": "7", "-.5": "-0.5", "1.": "1",
		"1.e2": "1e2", "0x1F": "31", "0o17": "15", "1E-3": "1E-3", "0.50": "0.50",
		"1.2.3": `"1.2.3"`, "e3": `"e3"`, "12345678901234567890": "12345678901234567890", "~": "null",
		"0.0.0.0": `"0.0.0.0"`, "true": "true",
		"Y2": `"Y2"`, ".information": `".information"`, "NaN": `"NaN"`, "0.1.2_3": `"0.1.2_3"`,
		"1E5e": `"1E5e"`, "0": "0", "y": `"y"`, "N": `"N"`,
	} {
		d, problems := source.Parse("test.yaml", file(value), source.Options{})
		if d == nil || string(d.Steps[0].Input) != "["+want+"]" {
			t.Errorf("%s: %v", value, problems)
		}
	}
	for _, value := range []string{"1e1000", strings.Repeat("7", 129), "1e9999999"} {
		_, problems := source.Parse("test.yaml", file(value),
			source.Options{})
		require.Contains(t, problems.Error(), "an exponent beyond ±999", value)
	}
}

// An escape that names no character is refused with its place: the YAML library reads another character.
func TestEscapesNameCharacters(t *testing.T) {
	const before = "workflow: test\r\n# é \"\\ude00\"\nsteps:\n  a:\n    agent: b\n    operation: c\n    timeout: 1s\n" +
		"    onFailure: undo\n    undo: none\n    grade: fenced\n    input:\n      text: |\n        \"\\ude00\"\n" +
		"      more: \"two\n        lines\"\n      'it''s': '\\ude00'\n      é: "
	for _, escape := range []string{
		`\ude00`, `\U0000d83d`, `\U0000dfff`, `\U00110000`, `\Uffffffff`,
		`\uzzzz`, `\xg0`,
	} {
		t.Run(escape, func(t *testing.T) {
			_, problems := source.Parse("test.yaml", []byte(before+`"\\ 😀`+escape+`"`+"\n"), source.Options{})
			require.Contains(t, problems.Error(), "test.yaml:17:10: the text has the escape")
			err := source.CheckScalars([]byte("a: [b, \"" + escape + "\"]"))
			require.ErrorContains(t, err, "line 1, column 8: the text has the escape")
		})
	}
	t.Run("half of a pair", func(t *testing.T) {
		_, problems := source.Parse("test.yaml", []byte(before+`"\ud83d, and more"`+"\n"), source.Options{})
		require.Contains(t, problems.Error(), "high surrogate")
	})
	t.Run("characters", func(t *testing.T) {
		const text = `"\ud83d\ude00 \U0001f600 \xe9 \\ude00 \" \\"`
		d, problems := source.Parse("test.yaml", []byte(before+text+"\n"), source.Options{})
		require.Empty(t, problems)
		require.Contains(t, string(d.Steps[0].Input), `"é":"😀 😀 é \\ude00 \" \\"`)
	})
}

func nested(depth int) string {
	var b strings.Builder
	for i := range depth {
		b.WriteString(strings.Repeat(" ", i+1) + "a:\n")
	}
	return b.String()
}

// The largest workflow that is allowed works, also where each step comes after all others.
func TestLargest(t *testing.T) {
	d, problems := source.Parse("test.yaml", []byte(steps(300, true)), source.Options{})
	if d == nil || len(d.Steps) != 300 {
		t.Fatal(problems)
	}
	require.Equal(t, 300*4+10, d.HopBudget)
}

// Defaults that other parts rely on.
func TestDefaults(t *testing.T) {
	d, problems := source.Parse("test.yaml", []byte(steps(1, false)), source.Options{})
	if d == nil {
		t.Fatal(problems)
	}
	s := d.Steps[0]
	a := d.Agents["a"]
	for _, c := range []struct {
		what      string
		got, want any
	}{
		{"grace", d.Grace, 30 * core.Second},
		{"tellAfter", d.ResendAfter, 30 * core.Second},
		{"deadline", d.Deadline, core.Duration(0)},
		{"maxQueueTime", s.MaxQueueTime, core.Day},
		{"undo", s.Undo == nil, true},
		{"retry", s.Retry, core.Retry{
			MaxFailures: 3,
			Backoff:     core.Backoff{Initial: core.Second, Max: core.Minute, Multiplier: 2, Jitter: 0.3},
		}},
		{"agent", a, core.AgentDefinition{QueueAllowance: 15 * core.Second, ClockSkew: core.Second}},
		{"notify", fmt.Sprint(d.Notify), "[received refused completed failed undone cancelled]"},
		{"schema", d.Schema, 1},
	} {
		require.Equal(t, c.want, c.got, c.what)
	}
	text, err := os.ReadFile("../../../docs/reference/workflows.md")
	require.NoError(t, err)
	for field, want := range map[string]string{ // as the lists of fields give them
		"`grace`": "30s", "`tellAfter`": "30s", "`maxQueueTime`": "24h",
		"`agents.NAME.queueAllowance`": "15s", "`agents.NAME.clockSkew`": "1s",
		"`retry.maxFailures`, `retry.backoff`": "3; 1s doubling to 1m", "`notify`": "none",
		"`deadline`, `onDeadline`": "none",
	} {
		require.Contains(t, string(text), "\n- "+field+" ("+want+"): ")
	}
}

// Problems are reported per file, so that a broken file stops no other workflow.
func TestLoadDir(t *testing.T) {
	dir := t.TempDir()
	good := strings.ReplaceAll(steps(1, false), "workflow: test", "workflow: NAME")
	for name, text := range map[string]string{
		"b.yaml":      strings.ReplaceAll(good, "NAME", "second"),
		"a.yml":       strings.ReplaceAll(good, "NAME", "first"),
		"broken.yaml": "workflow: x\n", "z.yaml": strings.ReplaceAll(good, "NAME", "first"),
		"notes.txt": "not a workflow", ".hidden.yaml": "junk",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	require.NoError(t, os.Mkdir(filepath.Join(dir, "sub.yaml"), 0o700))
	require.NoError(t, os.Symlink(t.TempDir(), filepath.Join(dir, "out.yaml")))
	files, err := source.LoadDir(dir, source.Options{})
	require.NoError(t, err)
	got := ""
	for _, f := range files {
		got += f.Name + " "
		if f.Definition != nil {
			got += f.Definition.Name
		}
		got += strings.ReplaceAll(f.Problems.Error(), filepath.ToSlash(dir)+"/", "") + "\n"
		for _, p := range f.Problems {
			require.Equal(t, source.SeverityError, p.Severity, "%v", p)
		}
	}
	const fix = "fix: put the file itself here, or rename this entry so that it does not end in .yaml or " +
		".yml\n"
	want := "a.yml first\nb.yaml second\n" +
		"broken.yaml broken.yaml:1:1: the workflow has no steps; fix: add steps: with at least one step\n" +
		"out.yaml out.yaml: it is not read: it is a link that leads out of its directory, or to nothing " +
		"that can be read; " + fix + "sub.yaml sub.yaml: it is not read: it is a directory, not a regular " +
		"file; " + fix +
		"z.yaml z.yaml: workflow first is defined in a.yml already; fix: give one of them another name\n"
	require.Equal(t, want, got)
	_, err = source.LoadDir(filepath.Join(dir, "nowhere"), source.Options{})
	require.ErrorContains(t, err, "no such file", "a directory that does not exist")
}

// No file makes the reader panic, and each accepted definition can be stored.
func FuzzParse(f *testing.F) {
	for _, pattern := range []string{
		"testdata/bad/*.yaml", "testdata/good/*.yaml",
		"../../../examples/order/*.yaml",
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(f, err)
		for _, file := range found {
			data, err := os.ReadFile(file)
			require.NoError(f, err)
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, problems := source.Parse("fuzz.yaml", data, source.Options{})
		require.Equal(t, problems.Err() != nil, d == nil)
		if strings.Contains(problems.Error(), "cannot read it") {
			t.Logf("the YAML library panics on %q", data)
		}
		if d == nil && len(problems) == 0 {
			t.Fatal("refused without a reason")
		}
	})
}
