// Prose measures the documents: words per sentence, long sentences and passive sentences.
//
// `make lint` runs Vale on the pages. It passes Vale's alerts to this program as JSON, and the names of the
// pages as arguments. The program prints one line for each page and one line for all pages. It fails if an
// alert is an error, if a page is too long, or if the pages together miss a goal.
//
// With -texts FOLDER the program writes the texts of the help, the console and the alerts into files in the
// folder. These files are then measured like pages.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	tables "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// Goals for all pages together, and the largest number of words on a page.
const (
	maxWords         = 45_000
	maxPage          = 2_500
	maxWordsSentence = 11.0
	maxLongShare     = 0.015
	maxPassiveShare  = 0.07
)

const longSentence = 28 // number of words

type alert struct {
	Check, Message, Severity string
	Line                     int
}

type counts struct{ words, sentences, long, passive int }

func (c *counts) add(o counts) {
	c.words += o.words
	c.sentences += o.sentences
	c.long += o.long
	c.passive += o.passive
}

func (c counts) share(n int) float64 { return float64(n) / float64(max(1, c.sentences)) }

func (c counts) String() string {
	return fmt.Sprintf("%6d words, %4.1f per sentence, %4.1f %% long, %4.1f %% passive", c.words,
		c.share(c.words),
		100*c.share(c.long), 100*c.share(c.passive))
}

func main() {
	if len(os.Args) == 3 && os.Args[1] == "-texts" {
		if err := writeTexts(os.Args[2]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	problems, err := run(os.Stdin, os.Stdout, os.Args[1:])
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 {
		os.Exit(1)
	}
}

// run measures the pages. It returns the errors of Vale, the pages that are too long, and the missed goals.
func run(vale io.Reader, out io.Writer, pages []string) (problems []string, err error) {
	alerts := map[string][]alert{}
	if err := json.NewDecoder(vale).Decode(&alerts); err != nil {
		return nil, fmt.Errorf("read the output of Vale: %w", err)
	}
	var all counts
	for _, page := range pages {
		source, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		c := measure(source)
		for _, a := range alerts[page] {
			if a.Severity == "error" {
				problems = append(problems, fmt.Sprintf("%s:%d: %s", page, a.Line, a.Message))
			} else if strings.HasSuffix(a.Check, ".Passive") {
				c.passive++
			}
		}
		if c.words > maxPage {
			problems = append(problems, fmt.Sprintf("%s has %d words, and may have %d: split it", page,
				c.words, maxPage))
		}
		fmt.Fprintf(out, "%-50s %s\n", page, c)
		all.add(c)
	}
	fmt.Fprintf(out, "%-50s %s\n", "all", all)
	for _, goal := range []struct {
		what     string
		is, most float64
	}{
		{"words", float64(all.words), maxWords},
		{"words per sentence", all.share(all.words), maxWordsSentence},
		{"share of long sentences", all.share(all.long), maxLongShare},
		{"share of passive sentences", all.share(all.passive), maxPassiveShare},
	} {
		if goal.is > goal.most {
			problems = append(problems, fmt.Sprintf("%s: %v, and at most %v", goal.what, goal.is,
				goal.most))
		}
	}
	return problems, nil
}

// measure counts the words and the sentences of a page. It ignores code blocks. A heading, a list item or a
// table cell ends a sentence, whatever its last character is.
func measure(source []byte) (c counts) {
	doc := goldmark.New(goldmark.WithExtensions(extension.Table)).Parser().Parse(text.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n.(type) {
		case *ast.Paragraph, *ast.TextBlock, *ast.Heading, *tables.TableCell:
			if entering {
				c.add(sentences(prose(n, source)))
			}
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	return c
}

// prose returns the text of a node. A code span counts as one word.
func prose(n ast.Node, source []byte) string {
	var b bytes.Buffer
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.CodeSpan:
			if entering {
				b.WriteString("code")
			}
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			if entering {
				b.Write(n.Segment.Value(source))
				if n.SoftLineBreak() {
					b.WriteByte(' ')
				}
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// sentences counts the sentences of a text and their words. It ignores sentences of one or two words, which
// are labels.
func sentences(text string) (c counts) {
	words := 0
	end := func() {
		if words > 2 {
			c.sentences++
			c.words += words
		}
		if words > longSentence {
			c.long++
		}
		words = 0
	}
	for _, word := range strings.Fields(text) {
		if strings.ContainsFunc(word, unicode.IsLetter) || strings.ContainsFunc(word, unicode.IsDigit) {
			words++
		}
		if last := strings.TrimRight(word, `"')*`); strings.HasSuffix(last, ".") ||
			strings.HasSuffix(last, "?") ||
			strings.HasSuffix(last, "!") || strings.HasSuffix(last, ":") {
			end()
		}
	}
	end()
	return c
}
