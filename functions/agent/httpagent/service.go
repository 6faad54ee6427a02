package httpagent

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// Options are the options of a Service. The zero value is for ordinary use.
type Options struct {
	Clock    port.Clock // clock for dates in Retry-After; nil means the real one
	Resolver Resolver   // nil means the system's
}

// Service calls one remote service. Close it when its worker has ended.
type Service struct {
	agent Agent
	clock port.Clock
	kept  *http.Client // keeps connections
	// client for plain calls and points of no return. It opens new connections, because one that the server
	// just dropped would leave such a call in doubt.
	fresh  *http.Client
	dialer net.Dialer
}

// New returns the client of an agent from a loaded Config. It returns an error for an external agent.
func New(name string, agent Agent, o Options) (*Service, error) {
	if agent.External {
		return nil, fmt.Errorf("agent %q is external: a process of its own serves %s", name,
			port.Requests(name))
	}
	if agent.OnAWS() {
		return nil, fmt.Errorf("agent %q calls services of AWS; package awsagent makes its operations", name)
	}
	if agent.redact == nil {
		return nil, fmt.Errorf("agent %q was not made by Load or Parse", name)
	}
	o.Clock = cmp.Or[port.Clock](o.Clock, port.ClockFunc(time.Now))
	o.Resolver = cmp.Or[Resolver](o.Resolver, net.DefaultResolver)
	s := &Service{agent: agent, clock: o.Clock, dialer: net.Dialer{KeepAlive: 30 * time.Second}}
	s.kept, s.fresh = s.client(o, false), s.client(o, true)
	return s, nil
}

// client speaks HTTP/1.1, without proxies (the address rules would be void), redirects, cookies,
// or compression.
func (s *Service) client(o Options, single bool) *http.Client {
	return redirect.Refused(http.Client{
		Transport: watched(&http.Transport{
			DialContext:            guardedDial(s.agent.Allow, o.Resolver, s.dialer.DialContext),
			MaxIdleConns:           s.agent.Concurrency,
			MaxIdleConnsPerHost:    s.agent.Concurrency,
			IdleConnTimeout:        time.Minute,
			MaxResponseHeaderBytes: 64 << 10,
			DisableCompression:     true,
			DisableKeepAlives:      single,
		}),
	})
}

// Operations returns the operations for a worker.Config.
func (s *Service) Operations() worker.Operations {
	operations := make(worker.Operations, len(s.agent.Operations))
	for name, o := range s.agent.Operations {
		op := worker.Operation{Run: func(ctx context.Context, call worker.Call) (any, error) {
			return outputOf(s.do(ctx, o, call))
		}}
		if o.Check != nil {
			op.Check = func(ctx context.Context, call worker.Call) (bool, any, error) {
				happened, answer, err := s.check(ctx, *o.Check, call)
				out, err := outputOf(answer, err)
				return happened, out, err
			}
		}
		operations[name] = op
	}
	return operations
}

func outputOf(out json.RawMessage, err error) (any, error) {
	if err != nil || len(out) == 0 {
		return nil, err
	}
	return out, nil
}

// Close drops idle connections.
func (s *Service) Close() {
	s.kept.CloseIdleConnections()
	s.fresh.CloseIdleConnections()
}
