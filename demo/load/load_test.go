package load_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

// asContestant makes the test's program a contestant whose orders fail if their prefix is "bad".
const asContestant = "LOAD_TEST_CONTESTANT"

func TestMain(m *testing.M) {
	if os.Getenv(asContestant) == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("GOGC") != "" {
		fmt.Fprintln(os.Stderr, "GOGC was passed on")
		os.Exit(1)
	}
	if err := load.Serve(os.Stdin, os.Stdout, func(id string) error {
		if strings.HasPrefix(id, "bad") {
			return errors.New("no such order")
		}
		return nil
	}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func TestRunRunsEachOrderOnceWithinTheConcurrency(t *testing.T) {
	var mu sync.Mutex
	runs := map[int]int{}
	running := 0
	highest := 0
	got, err := load.Run(t.Context(), load.Request{Orders: 100, Concurrency: 4}, func(i int) error {
		mu.Lock()
		runs[i]++
		running++
		highest = max(highest, running)
		mu.Unlock()
		defer func() { mu.Lock(); running--; mu.Unlock() }()
		return nil
	})
	require.NoError(t, err)
	require.Greater(t, got.OrdersPerS, float64(0))
	for i := range 100 {
		require.Equal(t, 1, runs[i], "%+v", i)
	}
	require.LessOrEqual(t, highest, 4)
}

func TestRunEndsWithTheFirstError(t *testing.T) {
	failed := errors.New("failed")
	runs := 0
	_, err := load.Run(t.Context(), load.Request{Orders: 100, Concurrency: 1}, func(i int) error {
		runs++
		if i == 3 {
			return failed
		}
		return nil
	})
	require.ErrorIs(t, err, failed)
	require.Equal(t, 4, runs)
}

func TestRunStartsOrdersAtTheRateUntilTheContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	began := time.Now()
	_, err := load.Run(ctx, load.Request{Concurrency: 8, PerSecond: 100}, func(i int) error {
		if early := time.Duration(i)*10*time.Millisecond - time.Since(began); early > 0 {
			t.Errorf("order %d started %s before its turn", i, early)
		}
		if i == 5 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
}

func TestContestantMeasuresInAProcessOfItsOwn(t *testing.T) {
	t.Setenv("GOGC", "50") // must not reach the contestant
	c, err := load.Start(t.Context(), []string{asContestant + "=1"}, os.Args[0])
	require.NoError(t, err)
	got, err := c.Measure(load.Request{Prefix: "good", Orders: 10, Concurrency: 2})
	require.NoError(t, err)
	require.Greater(t, got.OrdersPerS, float64(0))
	_, err = c.Measure(load.Request{Prefix: "bad", Orders: 10, Concurrency: 2})
	require.ErrorContains(t, err, "no such order", "the error of a failed order")
	require.NoError(t, c.Close())
}

func TestContestantThatEndsIsAnError(t *testing.T) {
	c, err := load.Start(t.Context(), []string{asContestant + "=1", "GOGC=50"}, os.Args[0])
	require.NoError(t, err)
	_, err = c.Measure(load.Request{Prefix: "good", Orders: 1, Concurrency: 1})
	require.Error(t, err)
}

func TestServeRejectsWhatIsNoRequest(t *testing.T) {
	for _, line := range []string{
		"x", `{"prefix":"a","orders":0,"concurrency":1}`,
		`{"prefix":"a","orders":1,"concurrency":99999999}`,
	} {
		require.Error(t, load.Serve(strings.NewReader(line+"\n"), os.Stderr,
			func(string) error { return nil }), line)
	}
}

func TestPercentile(t *testing.T) {
	all := []float64{4, 1, 3, 2}
	m, last, none := load.Median(all), load.Percentile(all, 1), load.Median(nil)
	require.InDelta(t, 3, m, 0)
	require.InDelta(t, 4, last, 0)
	require.Zero(t, none)
}
