package simulate_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/simulate"
)

// BenchmarkOrders measures simulated orders with all checks on; the goal is 2,000 a second on a core.
// orders/cpu-s counts the processor time of the whole process, the garbage collector's too, so that
// what else the machine does counts little.
func BenchmarkOrders(b *testing.B) {
	var all []simulate.Scenario
	for n := range uint64(200) {
		sc := simulate.Scenario{Definition: simulate.Drawn(n)}
		sc.Prepare()
		all = append(all, sc)
	}
	orders := 0
	seed := uint64(0)
	cpu := simulate.CPUTime()
	for b.Loop() {
		orders += simulate.Run(all[seed%200], simulate.NewSeeded(seed), simulate.Options{}).Orders
		seed++
	}
	b.ReportMetric(float64(orders)/b.Elapsed().Seconds(), "orders/s")
	if cpu = simulate.CPUTime() - cpu; cpu > 0 {
		b.ReportMetric(float64(orders)/cpu.Seconds(), "orders/cpu-s")
	}
}
