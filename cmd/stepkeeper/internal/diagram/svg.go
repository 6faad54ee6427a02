package diagram

import (
	"fmt"
	"html"
	"strings"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
)

// Direction is the direction from one layer to the next.
type Direction int

// The directions. Down fits a narrow screen, and Across fits a wide screen.
const (
	Down Direction = iota
	Across
)

// SVG draws the graph as a part of an HTML page. The page's style sheet must define the classes graph, detail,
// frame and head, and the classes of the nodes.
func SVG(nodes []Node, d Direction, label string) string {
	size := float64(boxWidth)
	if d == Across {
		size = boxHeight
	}
	p := picture{layout: newLayout(nodes, size), across: d == Across}
	width, height := p.extent()
	var b strings.Builder
	// The role is that of a group, because boxes can be links.
	fmt.Fprintf(&b,
		`<svg role="group" class="graph" width="%.0f" height="%.0f" viewBox="0 0 %.0f %.0f" aria-label="%s">`,
		width, height, width, height, html.EscapeString(label))
	for _, layer := range p.layers {
		p.frames(&b, layer)
	}
	for _, chain := range p.chains {
		p.line(&b, chain)
	}
	for i := range p.nodes {
		p.box(&b, i)
	}
	b.WriteString("</svg>")
	return b.String()
}

type picture struct {
	*layout
	across bool
}

func (p *picture) boxAlong() float64 {
	if p.across {
		return boxWidth
	}
	return boxHeight
}

func (p *picture) at(along, side float64) point {
	if p.across {
		return point{along, side}
	}
	return point{side, along}
}

func (p *picture) start(layer int) float64 { return margin + float64(layer)*(p.boxAlong()+layerGap) }

func (p *picture) extent() (width, height float64) {
	side := 0.0
	for i := range p.cells {
		side = max(side, p.cells[i].side+p.cells[i].size/2)
	}
	e := p.at(p.start(len(p.layers))-layerGap+margin, side+margin)
	return e.x, e.y
}

func (p *picture) corner(i int) point {
	c := &p.cells[i]
	return p.at(p.start(c.layer), c.side-c.size/2)
}

// frames draws a frame around the boxes of each group in a layer.
func (p *picture) frames(b *strings.Builder, layer []int) {
	for i := 0; i < len(layer); {
		group := p.groupOf(layer[i])
		end := i + 1
		for end < len(layer) && group != "" && p.groupOf(layer[end]) == group {
			end++
		}
		if group != "" {
			first := &p.cells[layer[i]]
			last := &p.cells[layer[end-1]]
			along := p.start(first.layer) - framing
			from := p.at(along, first.side-first.size/2-framing)
			to := p.at(along+p.boxAlong()+2*framing, last.side+last.size/2+framing)
			fmt.Fprintf(b, `<rect class="frame" x="%.1f" y="%.1f" width="%.1f" height="%.1f" rx="10"/>`,
				from.x, from.y, to.x-from.x, to.y-from.y)
		}
		i = end
	}
}

// line draws the line of a chain. The line is curved between layers, and straight where it passes a layer.
func (p *picture) line(b *strings.Builder, chain []int) {
	const arrow = 6.0
	from := &p.cells[chain[0]]
	to := &p.cells[chain[len(chain)-1]]
	point := p.at(p.start(from.layer)+p.boxAlong(), from.side)
	fmt.Fprintf(b, `<path class="edge" d="M%.1f %.1f`, point.x, point.y)
	for i := 1; i < len(chain); i++ {
		before := &p.cells[chain[i-1]]
		c := &p.cells[chain[i]]
		left := p.start(before.layer) + p.boxAlong()
		reached := p.start(c.layer)
		if c.node >= 0 {
			reached -= arrow
		}
		middle := (left + reached) / 2
		a := p.at(middle, before.side)
		z := p.at(middle, c.side)
		end := p.at(reached, c.side)
		fmt.Fprintf(b, "C%.1f %.1f %.1f %.1f %.1f %.1f", a.x, a.y, z.x, z.y, end.x, end.y)
		if c.node < 0 {
			through := p.at(reached+p.boxAlong(), c.side)
			fmt.Fprintf(b, "L%.1f %.1f", through.x, through.y)
		}
	}
	b.WriteString(`"/>`)
	tip := p.start(to.layer)
	x := p.at(tip, to.side)
	y := p.at(tip-arrow, to.side-4)
	z := p.at(tip-arrow, to.side+4)
	fmt.Fprintf(b, `<path class="head" d="M%.1f %.1fL%.1f %.1fL%.1f %.1fZ"/>`, x.x, x.y, y.x, y.y, z.x, z.y)
}

func (p *picture) box(b *strings.Builder, i int) {
	n := &p.nodes[i]
	at := p.corner(i)
	if n.Link != "" {
		fmt.Fprintf(b, `<a href="%s">`, html.EscapeString(n.Link))
	}
	fmt.Fprintf(b,
		`<g class="node %s"><title>%s</title><rect x="%.1f" y="%.1f" width="%d" height="%d" rx="6"/>`,
		html.EscapeString(n.Class), html.EscapeString(strings.TrimSuffix(n.Title+": "+n.Detail, ": ")), at.x,
		at.y, boxWidth, boxHeight)
	title := 22.0
	if n.Detail == "" {
		title = 31
	}
	fmt.Fprintf(b, `<text x="%.1f" y="%.1f">%s</text>`, at.x+12, at.y+title,
		html.EscapeString(render.Cut(n.Title, 26)))
	if n.Detail != "" {
		fmt.Fprintf(b, `<text class="detail" x="%.1f" y="%.1f">%s</text>`, at.x+12, at.y+40,
			html.EscapeString(render.Cut(n.Detail, 31)))
	}
	b.WriteString("</g>")
	if n.Link != "" {
		b.WriteString("</a>")
	}
}
