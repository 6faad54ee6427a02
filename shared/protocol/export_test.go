package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Cell names one cell of the transition tables: Step is "" for an event of the whole task.
type Cell struct{ Event, Step, Task int }

func (c Cell) String() string {
	if c.Step < 0 {
		return fmt.Sprintf("event %d × task %d", c.Event, c.Task)
	}
	return fmt.Sprintf("event %d × step %s × task %d", c.Event, stepStates[c.Step], c.Task)
}

// Definitions counts how often the rows define each cell; cells that no row defines are in it with
// 0. silent are cells that neither do anything nor say why not.
func Definitions() (defined map[Cell]int, silent []Cell) {
	defined = map[Cell]int{}
	note := func(c Cell, r rule, n int) {
		defined[c] += n
		if n == 0 && r.step == nil && r.task == nil && r.ignore == "" {
			silent = append(silent, c)
		}
	}
	position := map[core.State]int{}
	for i, s := range stepStates {
		position[s] = i
	}
	for m := range int(modes) {
		for k := range int(stepKinds) {
			for i, s := range stepStates {
				note(Cell{k, i, m}, stepTable[k][s][m], 0)
			}
		}
		for k := int(stepKinds); k < int(kinds); k++ {
			note(Cell{k, -1, m}, taskTable[k][m], 0)
		}
	}
	for _, row := range stepRows {
		for _, k := range row.events {
			for _, s := range row.steps {
				for _, m := range row.tasks {
					note(Cell{int(k), position[s], int(m)}, row.rule, 1)
				}
			}
		}
	}
	for _, row := range taskRows {
		for _, m := range row.tasks {
			note(Cell{int(row.event), -1, int(m)}, row.rule, 1)
		}
	}
	return defined, silent
}
