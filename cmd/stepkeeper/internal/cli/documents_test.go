package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/expression"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const root = "../../../.."

// snippet is a block of code in a document: fenced, or indented by four columns.
type snippet struct {
	file string // path from the root
	line int
	text string
}

func (s snippet) String() string { return fmt.Sprintf("%s:%d", s.file, s.line) }

// documents returns the Markdown files that a user reads, with their text.
func documents(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "testdata" ||
			entry.Name() == "cdk.out" || strings.HasPrefix(entry.Name(), ".") && path != root) {
			return filepath.SkipDir
		}
		if filepath.Ext(path) != ".md" {
			return nil
		}
		text, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		all[filepath.ToSlash(name)] = string(text)
		return err
	})
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 15)
	require.NotEmpty(t, all["README.md"])
	return all
}

// otherTests are the beginnings of blocks that other tests check: make test-sdk runs the programs, make test-console
// draws the diagrams, and the tests of a page record its outputs.
var otherTests = []string{"```python", "```typescript", "```mermaid", "```text"}

// snippets of a document, and the text between them.
func snippets(file, text string) (all []snippet, prose string) {
	var now, between []string
	start := 0
	fenced := false
	elsewhere := false
	end := func() {
		for len(now) > 0 && strings.TrimSpace(now[len(now)-1]) == "" {
			now = now[:len(now)-1]
		}
		if len(now) > 0 && !elsewhere {
			all = append(all, snippet{file, start, strings.Join(now, "\n") + "\n"})
		}
		now = nil
	}
	blank := true
	for i, line := range strings.Split(text, "\n") {
		switch indented := strings.HasPrefix(line, "    "); {
		case strings.HasPrefix(line, "```"):
			end()
			fenced = !fenced
			start = i + 2
			elsewhere = slices.Contains(otherTests, line)
		case fenced:
			now = append(now, line)
		case indented && (len(now) > 0 || blank):
			if len(now) == 0 {
				start = i + 1
			}
			now = append(now, line[4:])
		case strings.TrimSpace(line) == "" && len(now) > 0:
			now = append(now, "")
		default:
			end()
			between = append(between, line)
		}
		blank = strings.TrimSpace(line) == ""
	}
	end()
	return all, strings.Join(between, "\n")
}

// inline is the code within the text.
var inline = regexp.MustCompile("(?s)`([^`]+)`")

var (
	drawing  = regexp.MustCompile(`[▶◀│─÷×→]|^\s*Shards N = |orders/s`)
	programs = regexp.MustCompile(`(?m)^\s*([A-Z_]+=\S+ )*(stepkeeper|bin/stepkeeper|\./stepkeeper|tar|make|go|aws|bash|curl|printf|sed|pip|python3?|export|echo|mkdir|cd|npx?|infra/node_modules/\S+|localstack/\S+|[a-z]+\(\) \{)( |$)`)
)

// TestEverySnippet: each block in a document is code that is checked, or a drawing.
func TestEverySnippet(t *testing.T) {
	var code []goSnippet
	for file, text := range documents(t) {
		blocks, _ := snippets(file, text)
		for _, s := range blocks {
			goes, rest := splitGo(s)
			code = append(code, goes...)
			rest = strings.TrimSpace(rest)
			if rest == "" {
				continue
			}
			require.NoError(t, checkSnippet(file, rest), "%+v", s)
		}
	}
	require.GreaterOrEqual(t, len(code), 10)
	if !testing.Short() {
		compile(t, code)
	}
}

// checkSnippet checks a snippet that is not Go.
func checkSnippet(file, text string) error {
	switch {
	case strings.HasPrefix(text, "workflow:"):
		return checkWorkflow(text)
	case strings.HasPrefix(text, "agents:"):
		_, err := agentsfile.Parse([]byte(text), func(string) (string, bool) { return "secret", true })
		return err
	case strings.HasPrefix(text, "services:"):
		def := &core.Definition{Name: "any", Agents: map[string]core.AgentDefinition{}}
		for _, m := range regexp.MustCompile(`(?m)^  ([a-z-]+):`).FindAllStringSubmatch(text, -1) {
			def.Agents[m[1]] = core.AgentDefinition{}
		}
		_, err := simulate.ParseServices([]byte(text), def)
		return err
	case strings.HasPrefix(text, "{"):
		for dec := json.NewDecoder(strings.NewReader(text)); dec.More(); {
			var v any
			if err := dec.Decode(&v); err != nil {
				return err
			}
		}
		return nil
	case strings.HasPrefix(text, "ok  "): // output of `stepkeeper doctor`
		for line := range strings.Lines(text) {
			if !regexp.MustCompile(`^(ok      |failed  |unknown ) \S.*: |^         fix: `).MatchString(line) {
				return fmt.Errorf("no line of doctor: %q", line)
			}
		}
		return nil
	case programs.MatchString(text):
		return checkShell(file, text)
	case drawing.MatchString(text):
		return nil
	}
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, " # ")
		if _, _, err := expression.Check(strings.TrimSpace(line), expression.Scope{}); err != nil {
			return fmt.Errorf("it is no code that this test knows (as an expression: %w)", err)
		}
	}
	return nil
}

// checkWorkflow checks a workflow, which may have the children of the example shipments.
func checkWorkflow(text string) error {
	dir, err := os.MkdirTemp("", "snippet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	child, err := os.ReadFile(filepath.Join(root, "examples/shipments/shipment.yaml"))
	file := filepath.Join(dir, "snippet.yaml")
	err = errors.Join(err, os.WriteFile(filepath.Join(dir, "shipment.yaml"), child, 0o600),
		os.WriteFile(file, []byte(text), 0o600))
	if err != nil {
		return err
	}
	if _, problems := source.LoadFile(file, source.Options{}); len(problems) > 0 {
		return problems
	}
	return nil
}

// checkShell checks that lines for the shell are well-formed, and checks the commands of this repository in
// them.
func checkShell(file, text string) error {
	parsed, err := syntax.NewParser(syntax.Variant(syntax.LangBash)).Parse(
		strings.NewReader(placeholders.ReplaceAllString(text, "PLACEHOLDER")), file)
	if err != nil {
		return err
	}
	var problems []error
	syntax.Walk(parsed, func(n syntax.Node) bool {
		if c, ok := n.(*syntax.CallExpr); ok && len(c.Args) > 0 {
			var words []string
			for _, w := range c.Args {
				words = append(words, literal(w))
			}
			problems = append(problems, checkCommand(file, words))
		}
		return true
	})
	return errors.Join(problems...)
}

// placeholders are names in angle brackets, which the shell would read as redirections.
var placeholders = regexp.MustCompile(`<[a-z-]+>`)

// literal returns the text of a word. Each part that the shell would replace is "$".
func literal(w *syntax.Word) string {
	var b strings.Builder
	syntax.Walk(w, func(n syntax.Node) bool {
		switch x := n.(type) {
		case *syntax.Lit:
			b.WriteString(x.Value)
		case *syntax.SglQuoted:
			b.WriteString(x.Value)
		case *syntax.CmdSubst, *syntax.ParamExp:
			b.WriteString("$")
			return false
		}
		return true
	})
	return b.String()
}

func checkCommand(file string, words []string) error {
	switch words[0] {
	case "stepkeeper", "bin/stepkeeper", "./stepkeeper":
		if err := parseCommand(words[1:], true); err != nil {
			return fmt.Errorf("%s: %w", strings.Join(words, " "), err)
		}
		return namedFiles(file, words[1:])
	case "make":
		return checkMake(words[1:])
	case "bash":
		if len(words) > 1 && words[1] != "-c" {
			return exists(file, words[1])
		}
	}
	if strings.HasPrefix(words[0], "localstack/") {
		return exists(file, words[0])
	}
	return nil
}

// parseCommand parses a command line with the real tree of commands.
func parseCommand(given []string, complete bool) error {
	s, _ := streams.Test(false)
	tree := Root(app.New(s, os.Getenv))
	tree.InitDefaultHelpCmd()
	tree.InitDefaultCompletionCmd()
	cmd, rest, err := tree.Find(given)
	if err != nil {
		return err
	}
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	left := cmd.Flags().Args()
	if cmd.Name() == "help" {
		return nil
	}
	if cmd.HasSubCommands() && len(left) > 0 {
		return fmt.Errorf("%s has no command %q", cmd.CommandPath(), left[0])
	}
	if help, _ := cmd.Flags().GetBool("help"); complete && !help && cmd.Runnable() {
		return cmd.ValidateArgs(left)
	}
	return nil
}

// yours holds files that a reader has or gets, and that no folder of this repository contains.
var yours = []string{
	"orders.jsonl", "counterexample.json", "services.yaml", "ours.json", "prices.json",
	"fixed_test.go", "report.json", "OUT.json",
}

var fileName = regexp.MustCompile(`^[A-Za-z0-9._/*-]+\.(ya?ml|jsonl?|go|py)$`)

// namedFiles looks for the files that a command names: from the root, beside the document, and in the
// project that `stepkeeper init` writes.
func namedFiles(file string, words []string) error {
	var problems []error
	for _, w := range words {
		if w == "--" { // the rest belongs to another program
			break
		}
		if fileName.MatchString(w) && !strings.HasPrefix(w, "/") && !slices.Contains(yours, w) {
			problems = append(problems, exists(file, w))
		}
	}
	return errors.Join(problems...)
}

func exists(file, name string) error {
	for _, dir := range []string{".", filepath.Dir(file), "examples/booking"} {
		if found, _ := filepath.Glob(filepath.Join(root, dir, name)); len(found) > 0 {
			return nil
		}
	}
	return fmt.Errorf("there is no %s", name)
}

func checkMake(words []string) error {
	text, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		return err
	}
	scripts, err := os.ReadFile(filepath.Join(root, "localstack/integration.sh"))
	if err != nil {
		return err
	}
	var problems []error
	for _, w := range words {
		name, _, variable := strings.Cut(w, "=")
		switch {
		case variable && !strings.Contains(string(text), "("+name+")") &&
			!strings.Contains(string(scripts), "$"+name) && !strings.Contains(string(scripts), "{"+name):
			problems = append(problems, fmt.Errorf("nothing reads the variable %s of make", name))
		case !variable && !regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(w)+`:`).Match(text):
			problems = append(problems, fmt.Errorf("make has no target %s", w))
		}
	}
	return errors.Join(problems...)
}

// TestCodeInText: commands, flags, targets, files, folders, tests and names in code that a document names
// within its text exist.
func TestCodeInText(t *testing.T) {
	flags := knownFlags(t)
	known, err := names()
	require.NoError(t, err)
	for file, text := range documents(t) {
		_, prose := snippets(file, text)
		for _, m := range inline.FindAllStringSubmatch(prose, -1) {
			code := strings.Join(strings.Fields(m[1]), " ")
			if err := errors.Join(checkInline(file, code, flags), known.check(file, code)); err != nil &&
				file != "CHANGELOG.md" {
				t.Errorf("%s: `%s`: %v", file, code, err)
			}
		}
	}
}

// elsewhere holds flags of other programs that documents name.
var elsewhere = []string{"require-approval", "custom-permissions-boundary", "cells", "resource-mapping"}

func checkInline(file, code string, flags map[string]bool) error {
	words := strings.Fields(code)
	switch {
	case strings.HasPrefix(code, "stepkeeper dev ready"):
		return nil
	case words[0] == "stepkeeper" && len(words) > 1 && words[1] == strings.ToLower(words[1]):
		code, _, _ = strings.Cut(code, " && ")
		code = alternatives.ReplaceAllString(strings.ReplaceAll(code, " N", " 1"), "$1")
		err := parseCommand(strings.Fields(code)[1:], false)
		if err != nil && strings.Contains(err.Error(), "flag needs an argument") {
			return nil // the text describes the flag itself
		}
		return err
	case words[0] == "make" && len(words) > 1:
		return checkMake(words[1:])
	case strings.HasPrefix(code, "--") && len(code) > 2:
		name := strings.FieldsFunc(code[2:], func(r rune) bool { return r == ' ' || r == '=' || r == ',' })[0]
		if !flags[name] && !slices.Contains(elsewhere, name) {
			return fmt.Errorf("no command has this flag")
		}
	case pathName.MatchString(code):
		return exists(file, code)
	}
	return nil
}

// alternatives: the first one stands for all.
var alternatives = regexp.MustCompile(`(\w+)(\|\w+)+`)

// pathName matches a file in a folder of this repository, as documents write it.
var pathName = regexp.MustCompile(`^(cmd|client|demo|dev|docs|examples|functions|infra|localstack|shared|verify|workflows|workflowtest)/[a-z0-9_./-]+\.(go|ya?ml|jsonl?|md|sh|py)$`)

func knownFlags(t *testing.T) map[string]bool {
	known := map[string]bool{"help": true} // cobra's own
	for _, c := range commands(t) {
		for _, m := range regexp.MustCompile(`--([a-z-]+)`).FindAllStringSubmatch(c.LocalFlags().FlagUsages()+
			c.PersistentFlags().FlagUsages(), -1) {
			known[m[1]] = true
		}
	}
	return known
}

// TestExamplesOfHelp: what `--help` shows as an example is a command line that parses.
func TestExamplesOfHelp(t *testing.T) {
	for _, c := range commands(t) {
		if c.Example == "" {
			continue
		}
		if err := checkShell("README.md", c.Example); err != nil &&
			!strings.Contains(err.Error(), "there is no ") {
			t.Errorf("%s: %v", c.CommandPath(), err)
		}
	}
}

// TestGuideShowsTheProject: the workflow in the guide is the one that `stepkeeper init` writes.
func TestGuideShowsTheProject(t *testing.T) {
	written, problems := source.LoadFile(filepath.Join(root, "examples/booking/workflows/booking.yaml"),
		source.Options{})
	require.Empty(t, problems)
	const page = "docs/tutorials/first-workflow.md"
	blocks, _ := snippets(page, documents(t)[page])
	for _, s := range blocks {
		if !strings.HasPrefix(s.text, "workflow:") {
			continue
		}
		shown, problems := source.Parse(page, []byte(s.text), source.Options{})
		require.Empty(t, problems, "%+v", s)
		require.Equal(t, written.Hash, shown.Hash, "%+v", s)
		return
	}
	t.Error("the guide shows no workflow")
}
