package cli

import (
	"context"
	"errors"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/demo/stage"
)

func TestDemo(t *testing.T) {
	for _, c := range []struct {
		err  error
		want failure.Code
	}{{nil, failure.OK}, {runner.ErrNotProven, failure.General}, {runner.ErrStack, failure.General}} {
		var got runner.Options
		x := call{demo: func(_ context.Context, o runner.Options) (runner.Report, error) {
			got = o
			require.Contains(t, string(o.Workflow), "workflow: order")
			return runner.Report{Progress: stage.Progress{Lines: 3}}, c.err
		}}
		x.run(t, "demo", "--seed", "7").want(t, c.want)
		require.EqualValues(t, 7, got.Seed)
		require.NotEmpty(t, got.Binary)
		require.NotNil(t, got.Out)
		require.Empty(t, got.Dir)
		r := x.run(t, "demo", "--output", "json")
		if errors.Is(c.err, runner.ErrStack) {
			continue
		}
		d := decodeLines(t, r.out)
		require.Len(t, d, 1, "the output is the report alone")
		require.EqualValues(t, 3, d[0]["submitted"])
	}
}

// The folder of a demo is kept on request, and its name is printed. An interrupt
// does not count as a failed proof.
func TestDemoKeeps(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, flags := range [][]string{{}, {"--output", "json"}} {
		var got runner.Options
		x := call{demo: func(_ context.Context, o runner.Options) (runner.Report, error) {
			got = o
			return runner.Report{}, nil
		}}
		r := x.run(t, append([]string{"demo", "--keep-files"}, flags...)...)
		r.want(t, failure.OK, "kept in "+got.Dir)
		info, err := os.Stat(got.Dir)
		require.NoError(t, err)
		require.True(t, info.IsDir(), "%v", flags)
		if len(flags) > 0 {
			require.NotContains(t, r.out, "kept in", "%v", flags)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	x := call{ctx: ctx, demo: func(context.Context, runner.Options) (runner.Report, error) {
		cancel()
		return runner.Report{}, errors.New("ended")
	}}
	r := x.run(t, "demo")
	require.Equal(t, failure.General, r.code)
	require.Contains(t, r.err, "interrupted")
	require.NotContains(t, r.err, "--seed")
}
