package app

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Unattended returns the queues without a consumer. If they cannot be learned, it warns: the command is about
// something else.
func (a *App) Unattended(ctx context.Context, c *client.Client, workflow string) []view.Unattended {
	all, err := c.Unattended(ctx, workflow)
	if err != nil && ctx.Err() == nil {
		a.Warn(err.Error())
	}
	return all
}

// WarnUnattended writes to standard error what nothing takes from: sentences for people, one document for
// programs.
func (a *App) WarnUnattended(all []view.Unattended) {
	if a.JSON() && len(all) > 0 {
		_ = encode(a.Streams.Err, map[string]any{"unattended": all}, "")
		return
	}
	for _, u := range all {
		fmt.Fprintln(a.Streams.Err, a.Streams.Style().Warn(render.Unattended(u, a.Now())))
	}
}

// Warn writes to standard error what does not keep the command from its end.
func (a *App) Warn(text string) {
	if a.JSON() {
		_ = encode(a.Streams.Err, map[string]any{"warning": text}, "")
		return
	}
	fmt.Fprintln(a.Streams.Err, a.Streams.Style().Warn("warning: "+render.Clean(text)))
}
