package protocol

import "fmt"

// Defined returns the cells of the transition tables: those that rows define more than once, or with a state that
// does not exist, and those without a rule.
func Defined() (faults []string) {
	seen := map[string]bool{}
	for _, row := range stepRows {
		for _, c := range row.cells {
			for _, s := range c.steps {
				for _, m := range c.tasks {
					cell := fmt.Sprintf("event %d × step %s × task %d", row.event, s, m)
					if seen[cell] || stepTable[row.event][s] == nil {
						faults = append(faults, cell+" is defined twice, or its state is unknown")
					}
					seen[cell] = true
				}
			}
		}
	}
	for k := range kinds {
		for _, s := range stepStates {
			for m := range modes {
				if k < stepKinds && (stepTable[k][s] == nil || stepTable[k][s][m] == nil) {
					faults = append(faults, fmt.Sprintf("event %d × step %s × task %d has no rule", k, s, m))
				}
			}
		}
		if k >= stepKinds && taskTable[k] == nil {
			faults = append(faults, fmt.Sprintf("event %d has no rule", k))
		}
	}
	return faults
}
