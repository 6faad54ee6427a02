package explore

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// TestSimulatorPageShowsTheFigures checks that docs/reference/simulator.md names as many scenarios, cells
// and worlds as the code has.
func TestSimulatorPageShowsTheFigures(t *testing.T) {
	text, err := os.ReadFile("../../../docs/reference/simulator.md")
	if err != nil {
		t.Fatal(err)
	}
	page := strings.Join(strings.Fields(string(text)), " ") // the page wraps its lines
	cannot := 0
	for r := range world.RoleCount {
		for c := range world.CallCount {
			for _, a := range world.ActsAt[c] {
				if absent(r, c, a) != "" {
					cannot++
				}
			}
		}
	}
	for _, want := range []string{
		fmt.Sprintf("single call of %d base scenarios", len(scenes())),
		fmt.Sprintf("All places and all %d cells are hit. %d cells cannot exist", world.CellCount(nil), cannot),
		fmt.Sprintf("in %d small worlds", len(smallScopes())),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("docs/reference/simulator.md does not say %q", want)
		}
	}
}
