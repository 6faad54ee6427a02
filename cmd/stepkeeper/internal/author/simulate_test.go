package author

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/internal/simulate"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// TestBrokenCoreRuleIsReportedAsOurs: a rule that no workflow and no service can break is Stepkeeper's own.
func TestBrokenCoreRuleIsReportedAsOurs(t *testing.T) {
	sc := simulate.Scenario{Definition: &core.Definition{Name: "order"}}
	for _, format := range []string{"text", "json"} {
		s, b := streams.Test(false)
		o := &simulateOptions{app: app.New(s, func(string) string { return "" }), scene: sc}
		require.NoError(t, o.app.Root().ParseFlags([]string{"--output", format}))
		err := o.played(&simulate.Result{Violation: &simulate.Violation{
			Invariant: "P16",
			Text:      "the Supervisor claimed step a",
		}}, 1, 0)
		f := (*failure.Error)(nil)
		require.ErrorAs(t, err, &f, format)
		require.Equal(t, failure.NotProcessed, f.Code, format)
		for _, want := range []string{
			"report this to us", "Stepkeeper itself does",
			"https://github.com/stepkeeper/stepkeeper/issues",
		} {
			require.Contains(t, b.Out.String(), want, format)
		}
	}
}
