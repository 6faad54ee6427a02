package infra_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/infra"
)

var pages = []string{"aws.md", "aws-recovery.md", "aws-rules.md", "aws-tuning.md"}

func file(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(append([]string{".."}, path...)...))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// firsts are the first groups of all matches, sorted, once each.
func firsts(pattern, text string) (found []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		found = append(found, m[1])
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// What the pages name is there: outputs, targets of make, files and headings, settings of the app.
func TestDocs(t *testing.T) {
	var golden tmpl
	if err := json.Unmarshal([]byte(file(t, "infra", "testdata", "shop.template.json")), &golden); err != nil {
		t.Fatal(err)
	}
	settings := firsts(`(?m)^//\t([a-z0-9-]+)  `, file(t, "infra", "app", "main.go"))
	makefile := file(t, "Makefile")
	for _, page := range pages {
		text := file(t, "docs", page)
		for _, output := range firsts(`\b(Engine[A-Z][A-Za-z]*(?:Url|Table|Topic|Function|Policy))\b`, text) {
			if _, there := golden.Outputs[output]; !there {
				t.Errorf("%s: there is no output %s", page, output)
			}
		}
		for _, target := range firsts("(?:`|    )make ([a-z-]+)", text) {
			if !regexp.MustCompile("(?m)^" + target + ":").MatchString(makefile) {
				t.Errorf("%s: there is no make %s", page, target)
			}
		}
		for _, name := range firsts(`-c ([a-z0-9-]+)=`, text) {
			if !slices.Contains(settings, name) {
				t.Errorf("%s: infra/app has no setting %s", page, name)
			}
		}
		for _, link := range firsts(`\]\(([^)\s]+)\)`, text) {
			followed(t, page, link)
		}
	}
	listed := firsts("`([a-z0-9-]+)`", between(t, file(t, "docs", "aws.md"), "All of them stand in", "Synthesis warns"))
	if !slices.Equal(listed, settings) {
		t.Errorf("aws.md lists the settings\n%v\ninfra/app/main.go has\n%v", listed, settings)
	}
	code := file(t, "infra", "app", "example", "settings.go") + file(t, "infra", "app", "example", "example.go")
	if read := firsts(`c\.(?:text|list|truth|number|duration|pairs)\("([a-z0-9-]+)"`, code); !slices.Equal(read, settings) {
		t.Errorf("the app reads the settings\n%v\nits comment has\n%v", read, settings)
	}
	tuning := file(t, "docs", "aws-tuning.md")
	for _, f := range reflect.VisibleFields(reflect.TypeFor[infra.Tuning]()) {
		if !strings.Contains(tuning, f.Name+"`") {
			t.Errorf("aws-tuning.md does not say what Tuning.%s moves", f.Name)
		}
	}
}

func between(t *testing.T, text, begin, end string) string {
	t.Helper()
	_, text, found := strings.Cut(text, begin)
	text, _, ended := strings.Cut(text, end)
	if !found || !ended {
		t.Fatalf("%q and %q do not stand there", begin, end)
	}
	return text
}

// followed goes to a file, and to a heading of it.
func followed(t *testing.T, page, link string) {
	t.Helper()
	if strings.Contains(link, "://") {
		return
	}
	where, heading, _ := strings.Cut(link, "#")
	path := filepath.Join("docs", where)
	if where == "" {
		path = filepath.Join("docs", page)
	}
	if _, err := os.Stat(filepath.Join("..", path)); err != nil {
		t.Errorf("%s: there is no %s", page, path)
		return
	}
	if heading == "" {
		return
	}
	for _, title := range firsts(`(?m)^#+ (.*)$`, file(t, path)) {
		plain := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(title), "")
		if strings.ReplaceAll(plain, " ", "-") == heading {
			return
		}
	}
	t.Errorf("%s: %s has no heading %q", page, path, heading)
}
