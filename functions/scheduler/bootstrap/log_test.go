package main

import (
	"context"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// A line of Lambda's log has the message's ID under a key of its own, because "message" is the text of the
// line.
func TestLinesOfTheLog(t *testing.T) {
	d := tripping(t)
	log := awsstub.NewLog(t)
	f, err := newFunction(d.Environment(d.settings), io.Discard, log.Logger)
	require.NoError(t, err)
	d.take(f, "intake", "AIDASHOP", submission("o-1"))
	d.take(f, "replies", "AROAAGENT:x", "{poison", `{"schema":9}`,
		reply("seat", "shipping", core.OutcomeDone))
	_, err = f(context.Background(), event("elsewhere", "{}"))
	require.NoError(t, err)
	lines := log.Lines()
	for text, want := range map[string]string{"message returned to its queue": "m1"} {
		require.Equal(t, want, awsstub.About(t, lines, text)["messageId"], "%v", text)
	}
	quarantined := map[any]bool{}
	for _, line := range lines {
		if line["message"] == "message put into quarantine" {
			quarantined[line["messageId"]] = true
		}
	}
	if len(quarantined) != 2 || !quarantined["m0"] || !quarantined["m2"] {
		t.Errorf("in quarantine: %v", quarantined)
	}
}
