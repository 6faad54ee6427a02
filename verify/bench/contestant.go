package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/load"
	"github.com/stepkeeper/stepkeeper/dev/embedded"
)

// serveContestant runs measurements with a runtime in the folder dir. It submits orders over HTTP if overHTTP
// is true, and in this process otherwise. It reads the requests for measurements from the parameter in.
func serveContestant(ctx context.Context, dir string, overHTTP bool, in io.Reader, out io.Writer) error {
	if overHTTP {
		s, err := serve(ctx, dir)
		if err != nil {
			return err
		}
		return errors.Join(load.Serve(in, out, func(id string) error { return s.one(ctx, id) }), s.close())
	}
	s, err := openRuntime(ctx, dir, operations())
	if err != nil {
		return err
	}
	return errors.Join(load.Serve(in, out, func(id string) error { return one(ctx, s, id) }), s.Close())
}

type served struct {
	client *client.Client
	stop   context.CancelFunc
	ended  chan error
}

func serve(ctx context.Context, dir string) (*served, error) {
	opts, err := runtimeOptions(dir, operations(), map[string]string{"saga": saga})
	if err != nil {
		return nil, err
	}
	opts.Listen = "127.0.0.1:0"
	address := make(chan string, 1)
	opts.Ready = func(s embedded.Started) { address <- s.Address }
	ctx, stop := context.WithCancel(ctx)
	s := &served{stop: stop, ended: make(chan error, 1)}
	go func() { s.ended <- embedded.Run(ctx, opts) }()
	select {
	case err := <-s.ended:
		stop()
		return nil, err
	case url := <-address:
		s.client, err = client.New(url)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		return s, nil
	}
}

func (s *served) measure(ctx context.Context) contestant {
	return func(r load.Request) (load.Result, error) {
		return load.Run(ctx, r, func(i int) error { return s.one(ctx, r.ID(i)) })
	}
}

func (s *served) one(ctx context.Context, id string) error {
	o, err := s.client.Run(ctx, client.Order{ID: id, Workflow: "saga", Content: json.RawMessage(body)})
	if err == nil && o.State != "Processed" {
		err = fmt.Errorf("order %s ended %s", id, o.State)
	}
	return err
}

func (s *served) close() error {
	s.stop()
	return <-s.ended
}
