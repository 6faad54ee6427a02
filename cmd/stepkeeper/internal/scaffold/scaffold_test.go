package scaffold

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVariable: a name with hyphens makes a variable that shells can set.
func TestVariable(t *testing.T) {
	require.Equal(t, "CAR_HIRE_URL", (Agent{Name: "car-hire"}).Variable())
}
