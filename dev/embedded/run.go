package embedded

import (
	"context"
	"errors"
	"net"
	"net/http"

	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Run opens the runtime and serves it on the loopback address. When ctx ends, Run shuts down within 5 s.
func Run(ctx context.Context, o Options) error {
	o = o.withDefaults()
	listener, err := api.Listen(o.Listen)
	if err != nil {
		return err
	}
	defer func() { _ = listener.Close() }() // closes the listener if Open fails; otherwise Serve closes it
	o.server = "http://" + listener.Addr().String()
	started := Started{Address: o.server}
	var answers net.Listener
	if o.AnswersListen != "" {
		answers, err = api.Listen(o.AnswersListen)
		if err != nil {
			return err
		}
		defer func() { _ = answers.Close() }()
		started.Answers = "http://" + answers.Addr().String()
	}
	s, err := Open(ctx, o)
	if err != nil {
		return err
	}
	config := api.Config{
		Backend: s, Version: o.Version, Clock: o.Clock, Metrics: s.Metrics(),
		ReceiptKey: s.tokens.Derive("receipt handles of SQS"),
	}
	if o.Pages != nil {
		config.Pages = o.Pages(o.server)
		config.PagePaths = o.PagePaths
	}
	if o.Ready != nil {
		started.Workflows = s.workflows.served()
		started.Agents = len(s.agents)
		started.Checked = s.store.Checked()
		o.Ready(started)
	}
	serving, within := errgroup.WithContext(ctx) // if one listener fails, the other listener ends too
	// the actors stop receiving when the HTTP server shuts down
	stop := context.AfterFunc(within, s.receiving)
	defer stop()
	serve := func(on net.Listener, h http.Handler) {
		serving.Go(func() error {
			return port.Guard(o.Log, "the server", func() error { return api.Serve(within, on, h) })
		})
	}
	serve(listener, api.New(config))
	if answers != nil {
		serve(answers, api.Answers(s))
	}
	return errors.Join(serving.Wait(), s.Close())
}
