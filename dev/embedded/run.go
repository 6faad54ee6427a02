package embedded

import (
	"context"
	"errors"

	"github.com/stepkeeper/stepkeeper/dev/api"
)

// Run opens the runtime, serves it on the loopback address and, when ctx ends, drains within 5 s.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	listener, err := api.Listen(o.Listen)
	if err != nil {
		return err
	}
	o.server = "http://" + listener.Addr().String()
	s, err := Open(ctx, o)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	address := o.server
	config := api.Config{Backend: s, Version: o.Version, Clock: o.Clock, Metrics: s.Metrics()}
	if o.Pages != nil {
		config.Pages, config.PagePaths = o.Pages(address), o.PagePaths
	}
	if o.Ready != nil {
		o.Ready(Started{Address: address, Workflows: len(s.workflows.infos()), Agents: len(s.agents)})
	}
	stop := context.AfterFunc(ctx, s.receiving) // agents and schedulers drain while HTTP does
	defer stop()
	err = api.Serve(ctx, listener, api.New(config))
	return errors.Join(err, s.Close())
}
