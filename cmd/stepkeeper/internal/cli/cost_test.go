package cli

import (
	"encoding/json"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/cost"
)

func TestCost(t *testing.T) {
	r := call{}.run(t, "cost")
	r.want(t, failure.OK, "Dollars per million orders", "All in", "while nothing happens", "Step Functions Standard", "Temporal Cloud", "Source, 20")
	r = call{}.run(t, "cost", "--output", "json")
	r.want(t, failure.OK)
	var got struct {
		DollarsPerMillion map[string]float64 `json:"dollars_per_million"`
		IdlePerMonth      float64            `json:"idle_per_month"`
		Units             cost.Units         `json:"units"`
	}
	if err := json.Unmarshal([]byte(r.out), &got); err != nil {
		t.Fatal(err)
	}
	if got.DollarsPerMillion["load"] <= 0 || got.DollarsPerMillion["trickle"] <= 0 || got.IdlePerMonth <= 0 || len(got.Units.Shapes["load"].Lines) == 0 {
		t.Errorf("%+v", got)
	}
}
