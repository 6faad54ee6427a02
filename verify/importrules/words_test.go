package importrules

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// unwanted are the words of the linter's list, with what to say instead.
func unwanted(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("../../.golangci.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Settings struct {
				Misspell struct {
					Words []struct{ Typo, Correction string } `yaml:"extra-words"`
				}
			}
		}
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	words := map[string]string{}
	for _, w := range config.Linters.Settings.Misspell.Words {
		words[w.Typo] = w.Correction
	}
	if len(words) < 10 {
		t.Fatalf("the linter knows only %d words", len(words))
	}
	return words
}

var (
	// wordsOf also splits what is written togetherLikeThis.
	wordsOf = regexp.MustCompile(`[A-Z]?[a-z]+|[A-Z]+`)
	// examples in a document: "not this, but that".
	notThis = regexp.MustCompile(`(?s)<!-- words: begin -->.*<!-- words: end -->`)
)

// stored are names that stand in workflow files and in stored documents, and so stay.
var stored = regexp.MustCompile("t[e]llAfter|[`\"]t[e]ll[`\"]|[|] t[e]ll [|]|json:\"t[o]ld")

// handedBack is said of messages: they are returned to their queue.
var handedBack = regexp.MustCompile(`(?i)\b(?:giv(?:en|e|es|ing)|gave) (?:\w+ ){0,3}back\b`)

// wordy are the endings of files that hold text for people.
var wordy = []string{".go", ".md", ".yaml", ".html", ".css", ".js", ".json", ".story", ".py", ".sh"}

// found are the unwanted words of a text, by line.
func found(words map[string]string, text string) (lines map[int]string) {
	lines = map[int]string{}
	for i, line := range strings.Split(text, "\n") {
		for _, w := range wordsOf.FindAllString(line, -1) {
			if _, is := words[strings.ToLower(w)]; is {
				lines[i+1] = strings.ToLower(w)
			}
		}
	}
	return lines
}

// TestWords: documents, examples and programs use the words of their trade. The linter says so too of
// comments and texts in Go; this test adds identifiers, in which words stand togetherLikeThis, and all other
// files.
func TestWords(t *testing.T) {
	words, files := unwanted(t), 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || entry.Name() == "cdk.out" ||
			entry.Name() == "bin" || strings.HasPrefix(entry.Name(), ".") && path != "../.."):
			return filepath.SkipDir
		case !slices.Contains(wordy, filepath.Ext(path)) || entry.Name() == "CHANGELOG.md" ||
			entry.Name() == ".golangci.yaml":
			return nil
		}
		data, err := os.ReadFile(path)
		files++
		text := notThis.ReplaceAllStringFunc(stored.ReplaceAllString(string(data), ""),
			func(s string) string { return strings.Repeat("\n", strings.Count(s, "\n")) })
		if phrase := handedBack.FindString(text); phrase != "" && !strings.Contains(path, "testdata") {
			t.Errorf("%s says %q; a message is returned to its queue", path, phrase)
		}
		for line, word := range found(words, text) {
			t.Errorf("%s:%d says %q; the word is %q, or another plain one", path, line, word, words[word])
		}
		return err
	})
	if err != nil || files < 500 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestUnwantedWordsAreFound: alone and within a name, and nothing else is.
func TestUnwantedWordsAreFound(t *testing.T) {
	words := map[string]string{"lorem": "ipsum"}
	for text, want := range map[string]int{"the lorem of it": 1, "callLorem()": 1, "Lorem": 1, "loremly": 0,
		"No body": 0} {
		if got := len(found(words, text)); got != want {
			t.Errorf("%q: %d words are found, want %d", text, got, want)
		}
	}
}
