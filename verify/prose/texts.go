package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"
)

// writeTexts writes the texts of the help, the console and the alerts into Markdown files in a folder, so
// that Vale can read them. The working folder must be the root of the repository.
func writeTexts(folder string) error {
	help, err := os.ReadFile("cmd/stepkeeper/internal/app/commands.yaml")
	if err != nil {
		return err
	}
	var commands any
	if err := yaml.Unmarshal(help, &commands); err != nil {
		return err
	}
	pages, err := filepath.Glob("cmd/stepkeeper/internal/console/*.html")
	if err != nil {
		return err
	}
	var console []string
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		console = append(console, nodes(string(text))...)
	}
	var alerts []string
	for _, file := range []string{"shared/message/alert.go", "shared/sns/alerts.go"} {
		literals, err := literals(file)
		if err != nil {
			return err
		}
		alerts = append(alerts, literals...)
	}
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	flags, rest := described(commands)
	for name, texts := range map[string][]string{"help-1": rest[:len(rest)/2], "help-2": rest[len(rest)/2:],
		"flags": flags, "console": console, "alerts": alerts} {
		if len(texts) < 5 {
			return fmt.Errorf("%s has only %d texts: look where they are now", name, len(texts))
		}
		if err := os.WriteFile(filepath.Join(folder, name+".md"), []byte(strings.Join(texts, "\n\n")+"\n"),
			0o600); err != nil {
			return err
		}
	}
	return nil
}

var code = regexp.MustCompile(`(?m)^  .*\n?`)

// ignored lists the keys in commands.yaml whose values are names or code.
var ignored = []string{"use", "examples", "id", "group", "files", "complete", "values", "suggest"}

// described returns the texts of the flags in commands.yaml, and all other texts of the file.
func described(v any) (flags, rest []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			f, r := described(value)
			switch {
			case slices.Contains(ignored, key):
			case key == "flags" || key == "shared":
				flags = slices.Concat(flags, f, r)
			default:
				flags, rest = append(flags, f...), append(rest, r...)
			}
		}
	case []any:
		for _, value := range v {
			_, texts := described(value)
			rest = append(rest, texts...)
		}
	case string:
		rest = []string{code.ReplaceAllString(v, "\n")}
	}
	slices.Sort(flags)
	slices.Sort(rest)
	return flags, rest
}

var (
	action = regexp.MustCompile(`\{\{-?\s*(?:if|else|end|range|with|define|template|block|/\*)[^}]*\}\}`)
	value  = regexp.MustCompile(`\{\{[^}]*\}\}`)
	script = regexp.MustCompile(`(?s)<(script|style|svg)\b.*?</(script|style|svg)>`)
	inline = regexp.MustCompile(`</?(?:a|strong|span|code|em|kbd|b|time|label)\b[^>]*>`)
	tag    = regexp.MustCompile(`(?s)<[^>]*>`)
)

// nodes returns the texts of an HTML template that have more than two words. Inserted values become "value".
func nodes(template string) (texts []string) {
	text := value.ReplaceAllString(action.ReplaceAllString(script.ReplaceAllString(template, ""), ""),
		"value")
	for _, node := range strings.Split(tag.ReplaceAllString(inline.ReplaceAllString(text, ""), "\n\n"),
		"\n\n") {
		if node = strings.Join(strings.Fields(node), " "); len(strings.Fields(node)) > 2 {
			texts = append(texts, node)
		}
	}
	return texts
}

// literals returns the string literals of a Go file that have more than two words, except struct tags.
func literals(file string) (texts []string, err error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		return nil, err
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		if l, ok := n.(*ast.BasicLit); ok && l.Kind == token.STRING {
			text, _ := strconv.Unquote(l.Value)
			if len(strings.Fields(text)) > 2 && !strings.Contains(l.Value, ":\"") {
				texts = append(texts, text)
			}
		}
		return true
	})
	return texts, nil
}
