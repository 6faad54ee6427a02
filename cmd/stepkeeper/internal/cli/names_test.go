package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// declared holds the names that a document may use.
type declared struct {
	words    map[string]bool
	packages map[string]map[string]bool // words of the files of a package, by its name
	tests    map[string]bool
	cited    map[string]bool // rules that comments of tests and stories cite, and holes
}

var anyWord = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// names returns the names of the whole repository. It reads the files once.
var names = sync.OnceValues(func() (*declared, error) {
	d := &declared{
		words: map[string]bool{}, packages: map[string]map[string]bool{}, tests: map[string]bool{},
		cited: map[string]bool{},
	}
	return d, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (slices.Contains([]string{"node_modules", "cdk.out", "bin"}, entry.Name()) ||
			strings.HasPrefix(entry.Name(), ".") && path != root):
			return filepath.SkipDir
		case strings.HasPrefix(path, filepath.Join(root, "infra/testdata/variants")+"/"), // the outputs of the stack
			slices.Contains([]string{".go", ".story", ".json", ".yaml", ".yml", ".py", ".sh", ".sql", ".mod"},
				filepath.Ext(path)) || entry.Name() == "Makefile":
			return d.read(path)
		}
		return nil
	})
})

var (
	packageOf = regexp.MustCompile(`(?m)^package (\w+)`)
	testOf    = regexp.MustCompile(`(?m)^func (Test\w+)`)
	comments  = regexp.MustCompile(`(?m)(?://|^#) .*`)
	// cites matches a rule of the protocol, and the hole that a story plays.
	cites = regexp.MustCompile(`\bP[0-9]+[ab]?\b|\bH[0-9]+\b`)
)

func (d *declared) read(path string) error {
	text, err := os.ReadFile(path)
	words := d.words
	if found := packageOf.FindSubmatch(text); filepath.Ext(path) == ".go" && found != nil {
		name := string(found[1])
		if d.packages[name] == nil {
			d.packages[name] = map[string]bool{}
		}
		words = d.packages[name]
	}
	for _, w := range anyWord.FindAll(text, -1) {
		words[string(w)] = true
		d.words[string(w)] = true
	}
	if filepath.Ext(path) != ".story" && !strings.HasSuffix(path, "_test.go") {
		return err
	}
	for _, test := range testOf.FindAllSubmatch(text, -1) {
		d.tests[string(test[1])] = true
	}
	for _, comment := range comments.FindAll(text, -1) {
		for _, cited := range cites.FindAll(comment, -1) {
			d.cited[string(cited)] = true
		}
	}
	return err
}

var (
	testNamed = regexp.MustCompile(`^Test[A-Z][A-Za-z0-9]*$`)
	qualified = regexp.MustCompile(
		`^([a-z][a-z0-9]*)\.([A-Z][A-Za-z0-9]*)((?:\.[A-Z][A-Za-z0-9]*)?)(?:\(.*\))?$`)
	camelCase = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9]*[a-z][A-Z][A-Za-z0-9]*$`)
	folder    = regexp.MustCompile(`^(?:bench|client|cmd|demo|dev|e2e|examples|functions|infra|internal|localstack|shared|verify|workflows|workflowtest)(?:/[a-z0-9_-]+)+/?$`)
)

// namesOfAWS are actions and metrics that documents name and no file here uses.
var namesOfAWS = []string{
	"CreateGrant", "DeleteTableReplica", "DescribeSecurityGroups", "GetKeyPolicy", "GetKeyRotationStatus",
	"ListResourceTags", "PutKeyPolicy",
	"ReplicationLatency", "ScheduleKeyDeletion", "UpdateKeyDescription", "UpdateTableReplicaAutoScaling",
}

// check looks up a name that a document shows as code.
func (d *declared) check(file, code string) error {
	switch {
	case testNamed.MatchString(code):
		if !d.tests[code] {
			return fmt.Errorf("there is no such test")
		}
	case qualified.MatchString(code):
		m := qualified.FindStringSubmatch(code)
		if m[1] == "engine" && d.packages["infra"][m[2]] { // an app names the construct so
			return nil
		}
		known, ours := d.packages[m[1]]
		if ours && !(known[m[2]] && (m[3] == "" || known[m[3][1:]])) {
			return fmt.Errorf("package %s declares no %s", m[1], m[2]+m[3])
		}
	case camelCase.MatchString(code):
		if !d.words[code] && !slices.Contains(namesOfAWS, code) {
			return fmt.Errorf("nothing has this name")
		}
	case folder.MatchString(code):
		return exists(file, code)
	}
	return nil
}

// rules is the first page of the protocol, and rulePages match all of them.
const (
	rules     = "docs/explanation/protocol.md"
	rulePages = "docs/explanation/protocol*.md"
)

// pagesOf joins the documents that a pattern matches.
func pagesOf(all map[string]string, pattern string) string {
	var b strings.Builder
	for _, file := range slices.Sorted(maps.Keys(all)) {
		if found, _ := path.Match(pattern, file); found {
			b.WriteString(all[file] + "\n")
		}
	}
	return b.String()
}

// hole matches a reason for a rule that tells what went wrong without it.
var hole = regexp.MustCompile(`(?m)^- Why \(H([0-9]+)\): `)

// rulesCited are the lists of numbered things, with the documents that define each and the pattern of a
// definition.
var rulesCited = []struct {
	cited   *regexp.Regexp
	file    string
	defines *regexp.Regexp
}{
	{regexp.MustCompile(`\bP([0-9]+a?)\b`), rulePages, regexp.MustCompile(`(?m)^## P([0-9]+a?) `)},
	{regexp.MustCompile(`\bH([0-9]+)\b`), rulePages, hole},
	{
		regexp.MustCompile(`\bI([0-9]+)\b`), "docs/reference/simulator.md",
		regexp.MustCompile(`(?m)^- I([0-9]+): `),
	},
}

// TestRulesAreDefined: each number of a rule that a document cites is defined.
func TestRulesAreDefined(t *testing.T) {
	all := documents(t)
	for _, list := range rulesCited {
		defined := map[string]bool{}
		for _, m := range list.defines.FindAllStringSubmatch(pagesOf(all, list.file), -1) {
			for _, number := range m[1:] {
				defined[number] = true
			}
		}
		require.GreaterOrEqual(t, len(defined), 20, list.file)
		for file, text := range all {
			for _, m := range list.cited.FindAllStringSubmatch(text, -1) {
				if !defined[m[1]] {
					t.Errorf("%s cites %s, which %s does not define", file, m[0], list.file)
				}
			}
		}
	}
}

// TestRulesSayWhy: each rule has a reason, and the comments of tests cite it. A story plays each hole, and begins
// with its number.
func TestRulesSayWhy(t *testing.T) {
	text := pagesOf(documents(t), rulePages)
	d, err := names()
	require.NoError(t, err)
	for _, section := range regexp.MustCompile(`(?m)^##+ `).Split(text, -1) {
		rule, _, _ := strings.Cut(section, " ")
		if !strings.HasPrefix(rule, "P") {
			continue
		}
		require.Contains(t, section, "\n- Why")
		require.True(t, d.cited[rule], "no test cites %s", rule)
	}
	closed := map[string]bool{}
	for _, m := range hole.FindAllStringSubmatch(text, -1) {
		require.False(t, closed[m[1]], "H%s is the reason for two rules", m[1])
		closed[m[1]] = true
		require.True(t, d.cited["H"+m[1]], "no story plays H%s", m[1])
	}
	require.GreaterOrEqual(t, len(closed), 20)
}

var (
	link       = regexp.MustCompile(`\]\(([^)\s]+)\)|(?m)^\[[a-z]+\]: (\S+)$`)
	references = regexp.MustCompile(`\]\[([a-z]+)\]`)
	title      = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestLinks: the target of each link in a document exists, and so does the heading.
func TestLinks(t *testing.T) {
	all := documents(t)
	followed := 0
	for file, text := range all {
		require.NotContains(t, text, "\n<<<<<<< ", file)
		require.NotContains(t, text, "\n>>>>>>> ", file)
		_, text = snippets(file, text)
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			require.NoError(t, follow(all, file, m[1]+m[2]), file)
			followed++
		}
		for _, m := range references.FindAllStringSubmatch(text, -1) {
			require.Contains(t, text, "\n["+m[1]+"]: ", file)
		}
	}
	require.GreaterOrEqual(t, followed, 100)
}

const initialReadme = "examples/booking/README.md"

func follow(all map[string]string, file, to string) error {
	if strings.Contains(to, "://") {
		return nil
	}
	where, heading, _ := strings.Cut(to, "#")
	target := file
	if where != "" {
		target = filepath.ToSlash(filepath.Join(filepath.Dir(file), where))
	}
	if file == initialReadme && strings.HasPrefix(where, "..") {
		return errors.New("stepkeeper init writes this file into projects, where that is not")
	}
	if _, err := os.Stat(filepath.Join(root, target)); err != nil {
		return fmt.Errorf("there is no %s", target)
	}
	if heading == "" {
		return nil
	}
	for _, m := range title.FindAllStringSubmatch(all[target], -1) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(plain, " ", "-") == heading {
			return nil
		}
	}
	return fmt.Errorf("%s has no heading #%s", target, heading)
}
