package app

import (
	"context"
	"errors"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Below returns a task and, below it, the open children of its blocks and of its repeated steps. People answer these as
// if their steps were those of the order.
func Below(ctx context.Context, c *client.Client, t *client.Task) ([]*client.Task, error) {
	all := []*client.Task{t}
	level := all
	for range core.MaxChildDepth {
		var below []*client.Task
		for _, parent := range level {
			for _, id := range openBlocks(parent) {
				child, err := c.Get(ctx, id)
				if err != nil && !errors.Is(err, client.ErrNotFound) { // it was asked to start, and is not there yet
					return nil, err
				}
				if err == nil {
					below = append(below, child)
				}
			}
		}
		all = append(all, below...)
		level = below
	}
	return all, nil
}

func openBlocks(t *client.Task) (ids []string) {
	if t.State != core.Processing {
		return nil
	}
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.State == core.Waiting && s.Children != nil && (s.Kind == view.KindBlock || s.Children.Repeat != nil) {
			ids = append(ids, s.Children.Open...)
		}
	}
	return ids
}
