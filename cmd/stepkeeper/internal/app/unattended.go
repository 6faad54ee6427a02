package app

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Unattended returns the queues without a consumer. If a check fails, Unattended also prints a warning.
func (a *App) Unattended(ctx context.Context, c *client.Client, workflow string) []view.Unattended {
	all, err := c.Unattended(ctx, workflow)
	if err != nil && ctx.Err() == nil {
		a.Warn(err.Error())
	}
	return all
}

// WarnUnattended prints the queues without a consumer to standard error. It prints a sentence for each queue,
// or one JSON document for all queues.
func (a *App) WarnUnattended(all []view.Unattended) {
	if a.JSON() && len(all) > 0 {
		_ = encode(a.Streams.Err, map[string]any{"unattended": all}, "")
		return
	}
	for _, u := range all {
		fmt.Fprintln(a.Streams.Err, a.Streams.Style().Warn(render.Unattended(u, a.Now())))
	}
}

// Warn prints a warning to standard error.
func (a *App) Warn(text string) {
	if a.JSON() {
		_ = encode(a.Streams.Err, map[string]any{"warning": text}, "")
		return
	}
	fmt.Fprintln(a.Streams.Err, a.Streams.Style().Warn("warning: "+render.Clean(text)))
}
