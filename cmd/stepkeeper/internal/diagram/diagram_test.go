package diagram_test

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/diagram"
)

// graphs generates graphs in which a step can come after any of the steps before it.
var graphs = rapid.Custom(func(t *rapid.T) []diagram.Node {
	n := rapid.IntRange(1, 24).Draw(t, "nodes")
	nodes := make([]diagram.Node, n)
	for i := range nodes {
		nodes[i] = diagram.Node{
			ID: fmt.Sprint("s", i), Title: fmt.Sprint("step-", i),
			Detail: "agent: <do> & \"undo\"", Class: "Pending",
		}
		for j := range i {
			if rapid.IntRange(0, 4).Draw(t, "edge") == 0 {
				nodes[i].After = append(nodes[i].After, fmt.Sprint("s", j))
			}
		}
		if g := rapid.IntRange(0, 5).Draw(t, "group"); g < 2 {
			nodes[i].Group = fmt.Sprint("g", g)
		}
	}
	return nodes
})

type rect struct{ x, y, width, height float64 }

var (
	frames = regexp.MustCompile(`<rect class="frame" x="([-0-9.]+)" y="([-0-9.]+)" width="([-0-9.]+)" height="([-0-9.]+)"`)
	rects  = regexp.MustCompile(`<rect x="([-0-9.]+)" y="([-0-9.]+)" width="([-0-9.]+)" height="([-0-9.]+)"`)
	paths  = regexp.MustCompile(`<path class="edge" d="([^"]+)"`)
	sizes  = regexp.MustCompile(`viewBox="0 0 ([0-9]+) ([0-9]+)"`)
	parts  = regexp.MustCompile(`([MCL])([-0-9. ]+)`)
)

func numbers(texts []string) []float64 {
	all := make([]float64, len(texts))
	for i, text := range texts {
		all[i], _ = strconv.ParseFloat(text, 64)
	}
	return all
}

func boxes(svg string) []rect { return rectangles(rects, svg) }

func rectangles(form *regexp.Regexp, svg string) []rect {
	var all []rect
	for _, m := range form.FindAllStringSubmatch(svg, -1) {
		n := numbers(m[1:])
		all = append(all, rect{n[0], n[1], n[2], n[3]})
	}
	return all
}

// points returns points at small distances along every line.
func points(svg string) [][][2]float64 {
	var all [][][2]float64
	for _, path := range paths.FindAllStringSubmatch(svg, -1) {
		var line [][2]float64
		var at [2]float64
		for _, part := range parts.FindAllStringSubmatch(path[1], -1) {
			n := numbers(strings.Fields(part[2]))
			switch part[1] {
			case "M":
				at = [2]float64{n[0], n[1]}
			case "L":
				n = []float64{at[0], at[1], n[0], n[1], n[0], n[1]}
				fallthrough
			case "C":
				for i := range 41 {
					t := float64(i) / 40
					u := 1 - t
					line = append(line, [2]float64{
						u*u*u*at[0] + 3*u*u*t*n[0] + 3*u*t*t*n[2] + t*t*t*n[4],
						u*u*u*at[1] + 3*u*u*t*n[1] + 3*u*t*t*n[3] + t*t*t*n[5],
					})
				}
				at = [2]float64{n[4], n[5]}
			}
		}
		all = append(all, line)
	}
	return all
}

// For every graph: no two boxes touch, no line passes through a box, everything is inside the picture, each
// dependency has a line, the layers are in the order of the work, and the picture is the same each time.
func TestGraphsCanBeRead(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := graphs.Draw(t, "graph")
		d := rapid.SampledFrom([]diagram.Direction{diagram.Down, diagram.Across}).Draw(t, "direction")
		svg := diagram.SVG(nodes, d, "steps")
		require.Equal(t, svg, diagram.SVG(nodes, d, "steps"))
		size := numbers(sizes.FindStringSubmatch(svg)[1:])
		all := boxes(svg)
		lines := points(svg)
		edges := 0
		for i, n := range nodes {
			edges += len(n.After)
			a := all[i]
			require.GreaterOrEqual(t, a.x, float64(0), "%+v", i)
			require.GreaterOrEqual(t, a.y, float64(0), "%+v", i)
			require.LessOrEqual(t, a.x+a.width, size[0]+0.5, "%+v", i)
			require.LessOrEqual(t, a.y+a.height, size[1]+0.5, "%+v", i)
			for j, b := range all[:i] {
				if a.x < b.x+b.width+8 && b.x < a.x+a.width+8 && a.y < b.y+b.height+8 &&
					b.y < a.y+a.height+8 {
					t.Fatalf("boxes %d and %d touch: %v %v", j, i, b, a)
				}
			}
			for _, before := range n.After {
				j, _ := strconv.Atoi(before[1:])
				if d == diagram.Down && all[j].y >= a.y || d == diagram.Across && all[j].x >= a.x {
					t.Fatalf("step %d does not stand after step %d", i, j)
				}
			}
			for _, line := range lines {
				for _, p := range line {
					if p[0] > a.x+0.2 && p[0] < a.x+a.width-0.2 && p[1] > a.y+0.2 && p[1] < a.y+a.height-0.2 {
						t.Fatalf("a line passes through box %d at %v: %v", i, p, a)
					}
				}
			}
		}
		require.Len(t, lines, edges)
	})
}

// Each frame contains boxes of one group, whole, and touches no other box and no other frame; each box of a group
// stands in one.
func TestFramesContainTheirGroups(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := graphs.Draw(t, "graph")
		svg := diagram.SVG(nodes, rapid.SampledFrom([]diagram.Direction{diagram.Down, diagram.Across}).Draw(t, "direction"), "")
		framed := make([]int, len(nodes))
		around := rectangles(frames, svg)
		for f, frame := range around {
			groups := map[string]bool{}
			for i, box := range boxes(svg) {
				switch {
				case contains(frame, box):
					groups[nodes[i].Group] = true
					framed[i]++
				case overlap(frame, box):
					t.Fatalf("frame %v touches box %d: %v", frame, i, box)
				}
			}
			require.Len(t, groups, 1, "%+v", frame)
			require.False(t, groups[""], "%+v", frame)
			for _, other := range around[:f] {
				require.False(t, overlap(frame, other), "frames touch: %v %v", frame, other)
			}
		}
		for i, n := range nodes {
			require.Equal(t, n.Group != "", framed[i] == 1, "%+v", i)
		}
	})
}

func overlap(a, b rect) bool {
	return a.x < b.x+b.width && b.x < a.x+a.width && a.y < b.y+b.height && b.y < a.y+a.height
}

func contains(a, b rect) bool {
	return a.x <= b.x && a.y <= b.y && b.x+b.width <= a.x+a.width && b.y+b.height <= a.y+a.height
}

// Names cannot add markup to the picture, and circles and unknown names are harmless.
func TestGraphsOfAnything(t *testing.T) {
	svg := diagram.SVG([]diagram.Node{
		{
			ID: "a", Title: `</text><script>alert(1)</script>`, Class: `x" onload="1`, Link: `"><script>`,
			After: []string{"b", "nowhere", "a", "b"},
		},
		{ID: "b", After: []string{"a"}, Title: strings.Repeat("ß", 100)},
	}, diagram.Down, `"<&`)
	require.NotContains(t, svg, "<script")
	require.NotContains(t, svg, `onload="`)
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%v in %s", err, svg)
		}
	}
	require.True(t, strings.HasSuffix(diagram.SVG(nil, diagram.Down, "none"), "</svg>"))
}

// The simplest graphs look as people would draw them.
func TestGraphsAreStraight(t *testing.T) {
	svg := diagram.SVG([]diagram.Node{
		{ID: "a"},
		{ID: "b", After: []string{"a"}},
		{ID: "c", After: []string{"b"}},
	}, diagram.Down, "")
	all := boxes(svg)
	require.InDelta(t, all[1].x, all[0].x, 0)
	require.InDelta(t, all[2].x, all[1].x, 0)
	svg = diagram.SVG([]diagram.Node{
		{ID: "a"},
		{ID: "b", After: []string{"a"}},
		{ID: "c", After: []string{"a"}},
		{ID: "d", After: []string{"b", "c"}},
	}, diagram.Down, "")
	all = boxes(svg)
	require.InDelta(t, all[3].x, all[0].x, 0)
	require.Less(t, all[1].x, all[0].x)
	require.Greater(t, all[2].x, all[0].x)
}

// A text as long as its box is written whole; a longer one ends in an ellipsis and is no longer than that.
func TestLongTextsAreCut(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{strings.Repeat("ä", 26), strings.Repeat("ä", 26)},
		{strings.Repeat("ä", 27), strings.Repeat("ä", 25) + "…"},
	} {
		require.Contains(t, diagram.SVG([]diagram.Node{{ID: "a", Title: x.text}}, diagram.Across, ""), ">"+x.want+"<")
	}
}
