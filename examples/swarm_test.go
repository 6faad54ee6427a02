package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

type particle struct {
	At float64 `json:"at"`
}

// swarm has a solver that halves each position, so that the lowest square is below one quarter of the last.
func swarm(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "swarm/swarm.yaml")
	w.Agent("solver").On("move").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Particle particle }
		err := c.Into(&in)
		return particle{in.Particle.At / 2}, err
	})
	w.Agent("solver").On("best").Func(func(c workflowtest.Call) (any, error) {
		var in struct{ Particles []particle }
		err := c.Into(&in)
		best := in.Particles[0].At * in.Particles[0].At
		for _, p := range in.Particles {
			best = min(best, p.At*p.At)
		}
		return map[string]float64{"fitness": best}, err
	})
	return w
}

// 7, 3.5, 1.75, 0.875: three rounds of three particles.
func TestTheSwarmArrives(t *testing.T) {
	run := swarm(t).Submit(map[string]any{"goal": 1, "particles": []particle{{9}, {-8}, {7}}})
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectOutput(map[string]any{"best": map[string]any{"fitness": 0.765625}, "rounds": 3, "good": true})
	run.ExpectCalls("solver.move", 9)
	run.Child("search", 1).Child("move", 2).ExpectProcessed()
}

// A goal that is out of reach ends with what there is.
func TestAGoalOutOfReach(t *testing.T) {
	run := swarm(t).Submit(map[string]any{"goal": -1, "particles": []particle{{9}}})
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	var out struct {
		Rounds int
		Good   bool
	}
	run.Output(&out)
	require.Equal(t, 50, out.Rounds)
	require.False(t, out.Good)
}

// A particle that cannot be moved stops its round for the operator; afterwards the rounds before it are not run again.
func TestAParticleFails(t *testing.T) {
	w := swarm(t)
	w.Agent("solver").On("move").Return(particle{5}).Return(particle{4}).
		Fail(workflowtest.Permanent("broken", "a particle is lost")).Return(particle{1})
	run := w.Submit(map[string]any{"goal": 1, "particles": []particle{{9}, {8}}})
	w.Agent("solver").On("best").Return(map[string]any{"fitness": 16}).Return(map[string]any{"fitness": 1})
	run.UntilEnd(time.Hour)
	run.ExpectError("search")
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.Child("search", 0).ExpectCalls("solver.move", 2)
}
