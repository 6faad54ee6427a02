package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

func wanted(t *testing.T, fruit string) *workflowtest.Run {
	w := workflowtest.New(t, "basket/basket.yaml").AllowUnscripted()
	w.Agent("customer").On("choose").Return(map[string]any{"fruit": fruit})
	return w.Submit(map[string]any{"customer": "c-7"}).UntilEnd(time.Minute)
}

// Exactly one of the ways is taken.
func TestOneFruitIsOrdered(t *testing.T) {
	for _, fruit := range []string{"apple", "cherry", "banana"} {
		run := wanted(t, fruit)
		run.ExpectProcessed()
		run.ExpectPath("choose", fruit, "fill")
	}
}

func TestAFruitThatNobodySells(t *testing.T) {
	run := wanted(t, "durian")
	run.ExpectCompensated()
	require.Equal(t, "not-sold", run.Task().Error.Code)
	run.ExpectCalls("customer.deliver", 0)
}
