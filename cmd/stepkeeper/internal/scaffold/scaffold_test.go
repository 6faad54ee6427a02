package scaffold

import (
	"testing"
)

// TestVariable: a name with hyphens makes a variable that shells can set.
func TestVariable(t *testing.T) {
	if got := (Agent{Name: "car-hire"}).Variable(); got != "CAR_HIRE_URL" {
		t.Errorf("the variable is %s, want CAR_HIRE_URL", got)
	}
}
