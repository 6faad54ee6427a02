// Package diagram draws the steps of a workflow as a layered graph in SVG. Every step is in a later layer
// than its predecessors. No line crosses a box.
package diagram

import (
	"cmp"
	"slices"
)

// Node is a box of the graph.
type Node struct {
	ID     string
	After  []string // IDs of the predecessors; unknown IDs are ignored
	Title  string   // first line of text
	Detail string   // second line of text
	Class  string   // class in the style sheet, such as the state of the step
	Link   string   // address that a click opens; "" for a box without a link
	Group  string   // boxes of a layer with the same group stand beside each other, in a frame; "" for no frame
}

// Sizes in pixels, except orderings and straighten, which are numbers of passes.
const (
	boxWidth   = 208
	boxHeight  = 52
	laneWidth  = 16 // width of a line that passes a layer
	sideGap    = 24 // gap between boxes in a layer
	layerGap   = 44 // gap between layers
	margin     = 8
	framing    = 8 // distance from a frame to its boxes; two frames beside each other do not touch
	orderings  = 8
	straighten = 12
)

type point struct{ x, y float64 }

// cell is a box, or the position at which a line passes a layer.
type cell struct {
	node   int // index of the box; -1 for a line
	layer  int
	side   float64 // coordinate of the centre within the layer
	size   float64 // extent within the layer
	in     []int   // cells in the previous layer that are connected to the cell
	out    []int   // cells in the next layer that are connected to the cell
	weight float64 // sort key while the layers are reordered
}

type layout struct {
	nodes  []Node
	cells  []cell
	layers [][]int // cells of each layer, in order
	chains [][]int // cells that each line connects
}

func newLayout(nodes []Node, boxSize float64) *layout {
	l := &layout{nodes: nodes}
	edges := edgesOf(nodes)
	depth := depths(len(nodes), edges)
	l.layers = make([][]int, slices.Max(append(depth, 0))+1)
	for i := range nodes {
		l.add(cell{node: i, layer: depth[i], size: boxSize})
	}
	for _, e := range edges {
		chain := []int{e[0]}
		for at := depth[e[0]] + 1; at < depth[e[1]]; at++ {
			chain = append(chain, l.add(cell{node: -1, layer: at, size: laneWidth}))
		}
		chain = append(chain, e[1])
		for i := range len(chain) - 1 {
			from := chain[i]
			to := chain[i+1]
			l.cells[from].out = append(l.cells[from].out, to)
			l.cells[to].in = append(l.cells[to].in, from)
		}
		l.chains = append(l.chains, chain)
	}
	for _, layer := range l.layers {
		l.gather(layer)
	}
	l.order()
	l.place()
	return l
}

// gather puts the boxes of a group beside each other, at the place of the first of them.
func (l *layout) gather(layer []int) {
	groups := map[string][]int{}
	for _, at := range layer {
		if g := l.groupOf(at); g != "" {
			groups[g] = append(groups[g], at)
		}
	}
	gathered := layer[:0]
	for _, at := range slices.Clone(layer) {
		switch g := l.groupOf(at); {
		case g == "":
			gathered = append(gathered, at)
		case groups[g][0] == at:
			gathered = append(gathered, groups[g]...)
		}
	}
}

func (l *layout) groupOf(at int) string {
	if l.cells[at].node < 0 {
		return ""
	}
	return l.nodes[l.cells[at].node].Group
}

func (l *layout) add(c cell) int {
	l.cells = append(l.cells, c)
	at := len(l.cells) - 1
	l.layers[c.layer] = append(l.layers[c.layer], at)
	return at
}

// edgesOf returns the lines as pairs of node indexes. It leaves out lines that would close a cycle.
func edgesOf(nodes []Node) [][2]int {
	index := make(map[string]int, len(nodes))
	for i, n := range nodes {
		index[n.ID] = i
	}
	const open, closed = 1, 2
	state := make([]int, len(nodes))
	var edges [][2]int
	var visit func(i int)
	visit = func(i int) {
		state[i] = open
		seen := map[int]bool{}
		for _, before := range nodes[i].After {
			from, known := index[before]
			if !known || seen[from] || state[from] == open {
				continue
			}
			seen[from] = true
			if state[from] == 0 {
				visit(from)
			}
			edges = append(edges, [2]int{from, i})
		}
		state[i] = closed
	}
	for i := range nodes {
		if state[i] == 0 {
			visit(i)
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int {
		return cmp.Or(cmp.Compare(a[1], b[1]), cmp.Compare(a[0], b[0]))
	})
	return edges
}

// depths returns the layer of each node. A node without predecessors is in layer 0. Any other node is in the
// layer after its last predecessor.
func depths(n int, edges [][2]int) []int {
	before := make([][]int, n)
	for _, e := range edges {
		before[e[1]] = append(before[e[1]], e[0])
	}
	depth := make([]int, n)
	for i := range depth {
		depth[i] = -1
	}
	var of func(i int) int
	of = func(i int) int {
		if depth[i] < 0 {
			deepest := -1
			for _, b := range before[i] {
				deepest = max(deepest, of(b))
			}
			depth[i] = deepest + 1
		}
		return depth[i]
	}
	for i := range n {
		of(i)
	}
	return depth
}

// order sorts the cells of each layer to reduce crossings of lines. It makes several passes and keeps the
// result with the fewest crossings.
func (l *layout) order() {
	best := l.copyOrder()
	fewest := l.crossings()
	for sweep := range orderings {
		for k := range l.layers {
			at := k
			joined := func(c *cell) []int { return c.in }
			if sweep%2 == 1 {
				at = len(l.layers) - 1 - k
				joined = func(c *cell) []int { return c.out }
			}
			l.reorder(l.layers[at], joined)
		}
		if n := l.crossings(); n < fewest {
			best = l.copyOrder()
			fewest = n
		}
	}
	l.layers = best
}

func (l *layout) copyOrder() [][]int {
	c := make([][]int, len(l.layers))
	for i := range l.layers {
		c[i] = slices.Clone(l.layers[i])
	}
	return c
}

// reorder sorts the cells of a layer by the mean position of their joined cells. For a cell without joined
// cells, its own position counts.
func (l *layout) reorder(layer []int, joined func(*cell) []int) {
	place := l.places()
	for i, at := range layer {
		c := &l.cells[at]
		c.weight = float64(i)
		if near := joined(c); len(near) > 0 {
			sum := 0.0
			for _, n := range near {
				sum += float64(place[n])
			}
			c.weight = sum / float64(len(near))
		}
	}
	slices.SortStableFunc(layer,
		func(a, b int) int { return cmp.Compare(l.cells[a].weight, l.cells[b].weight) })
	l.gather(layer)
}

func (l *layout) places() []int {
	place := make([]int, len(l.cells))
	for _, layer := range l.layers {
		for i, at := range layer {
			place[at] = i
		}
	}
	return place
}

func (l *layout) crossings() int {
	place := l.places()
	count := 0
	for _, layer := range l.layers {
		var ends []int // ends of the lines; the lines are sorted by their starts
		for _, at := range layer {
			out := make([]int, 0, len(l.cells[at].out))
			for _, to := range l.cells[at].out {
				out = append(out, place[to])
			}
			slices.Sort(out)
			ends = append(ends, out...)
		}
		for i := range ends {
			for _, later := range ends[i+1:] {
				if later < ends[i] {
					count++
				}
			}
		}
	}
	return count
}

// place sets the coordinate of each cell within its layer. It moves each cell towards the connected cells in
// other layers. It keeps the minimum distance between the cells of a layer.
func (l *layout) place() {
	for _, layer := range l.layers {
		l.settle(layer, nil)
	}
	for i := range straighten {
		for k := range l.layers {
			layer := l.layers[k]
			near := func(c *cell) []int { return c.in }
			if i%2 == 1 {
				layer = l.layers[len(l.layers)-1-k]
				near = func(c *cell) []int { return c.out }
			}
			wish := make([]float64, len(layer))
			for j, at := range layer {
				c := &l.cells[at]
				wish[j] = c.side
				if n := near(c); len(n) > 0 {
					sum := 0.0
					for _, to := range n {
						sum += l.cells[to].side
					}
					wish[j] = sum / float64(len(n))
				}
			}
			l.settle(layer, wish)
		}
	}
	least := 0.0
	for i := range l.cells {
		least = min(least, l.cells[i].side-l.cells[i].size/2)
	}
	for i := range l.cells {
		l.cells[i].side += margin - least
	}
}

// settle moves the cells of a layer towards the positions in wish. It makes one pass from each end of the
// layer. Each pass keeps the minimum distances. The mean of the two positions therefore keeps the distances
// too.
func (l *layout) settle(layer []int, wish []float64) {
	n := len(layer)
	if wish == nil {
		wish = make([]float64, n)
	}
	up := slices.Clone(wish)
	down := slices.Clone(wish)
	distance := func(i int) float64 {
		return (l.cells[layer[i]].size+l.cells[layer[i+1]].size)/2 + sideGap
	}
	for i := 1; i < n; i++ {
		up[i] = max(up[i], up[i-1]+distance(i-1))
	}
	for i := n - 2; i >= 0; i-- {
		down[i] = min(down[i], down[i+1]-distance(i))
	}
	for i, at := range layer {
		l.cells[at].side = (up[i] + down[i]) / 2
	}
}
