package console_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// mermaidVariable is the variable of `make test-console` that names the program which draws diagrams.
const mermaidVariable = "STEPKEEPER_MERMAID"

var mermaidBlock = regexp.MustCompile("(?ms)^```mermaid\n(.*?)^```$")

// Every diagram of the documents can be drawn.
func TestBrowserDrawsDiagrams(t *testing.T) {
	b := newTab(t)
	program, err := os.ReadFile(os.Getenv(mermaidVariable))
	require.NoError(t, err)
	pages, err := filepath.Glob("../../../../docs/*/*.md")
	require.NoError(t, err)
	b.do(chromedp.Navigate("about:blank"), chromedp.EmulateViewport(1280, 900))
	_, err = chromedp.Run(b.ctx, chromedp.Evaluate[bool](string(program)+
		";mermaid.initialize({startOnLoad: false}); true"))
	require.NoError(t, err)
	drawn := 0
	for _, page := range append(pages, "../../../../README.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for i, block := range mermaidBlock.FindAllSubmatch(text, -1) {
			name := fmt.Sprintf("diagram-%s-%d", strings.TrimSuffix(filepath.Base(page), ".md"), i+1)
			b.draw(name, string(block[1]))
			drawn++
		}
	}
	require.GreaterOrEqual(t, drawn, 3)
}

// draw draws a diagram, and checks that it has a size.
func (b *tab) draw(name, diagram string) {
	b.Helper()
	text, err := json.Marshal(diagram)
	require.NoError(b, err)
	wrong := evaluate[string](b, fmt.Sprintf(`mermaid.render(%q, %s).then((drawn) => {
		document.body.innerHTML = drawn.svg;
		const size = document.querySelector("svg").getBoundingClientRect();
		return size.width > 100 && size.height > 30 ? "" : "it is empty";
	}, (error) => String(error))`, name, text))
	require.Empty(b, wrong, "%s:\n%s", name, diagram)
	b.shot(name)
}
