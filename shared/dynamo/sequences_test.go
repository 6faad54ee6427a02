package dynamo_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
)

// Random sequences of operations, through faults of the backend, answer as the model does.
func TestSequences(t *testing.T) {
	t.Parallel()
	storetest.Sequences(t, options(true), func(t *testing.T) storetest.Backends {
		return newFaulty(t, dynamo.Options{FinishedIndex: true, Shards: 5}).backends()
	})
}

// Many clients at once, through faults of the backend: each history is linearizable.
func TestLinearizable(t *testing.T) {
	t.Parallel()
	storetest.Linearizable(t, func(t *testing.T) storetest.Backends {
		return newFaulty(t, dynamo.Options{Shards: 2}).backends()
	})
}
