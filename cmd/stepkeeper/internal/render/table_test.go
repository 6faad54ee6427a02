package render_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

// A screen of 100 columns has no room for every column beside a long name: the spare ones go, as many as must.
func TestRowsOfOneLine(t *testing.T) {
	s, _ := streams.Test(true)
	for width, want := range map[int]string{
		20: "ORDER RUN TOOK WHY", 66: "ORDER TOOK WHY", 78: "ORDER WHY", 200: "ORDER WHY",
	} {
		rows := [][]string{{strings.Repeat("o", width), "0", "21.0s", strings.Repeat("why ", 20)}}
		header := render.OneLine(s.Style(), []string{"ORDER", "RUN", "TOOK", "WHY"}, rows, "RUN", "TOOK")
		require.Equal(t, want, strings.Join(header, " "), width)
		require.Len(t, rows[0], len(header), width)
		var b strings.Builder
		render.Table(&b, s.Style(), "", header, rows)
		require.Equal(t, 2, strings.Count(b.String(), "\n"), b.String())
	}
}
