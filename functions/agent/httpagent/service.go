package httpagent

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// Options configures a Service. The zero value is sufficient for an agent that needs no AWS credentials.
type Options struct {
	Clock    port.Clock // clock for the date in Retry-After; nil means the machine's clock
	Resolver Resolver   // nil means the system's resolver
	AWS      aws.Config // credentials, needed if the agent has Auth.SigV4
}

// Service calls one remote service. Call Close when the worker has ended.
type Service struct {
	agent      Agent
	operations map[string]Operation
	clock      port.Clock
	kept       *http.Client // client that keeps connections
	// Client for plain calls and points of no return. It opens a new connection for each call, because a
	// broken kept connection would leave the call in doubt.
	fresh  *http.Client
	dialer net.Dialer
	auth   *authenticator
}

// New returns the Service for a filled and completed agent.
func New(name string, agent Agent, operations map[string]Operation, o Options) (*Service, error) {
	if !agent.Filled() {
		return nil, fmt.Errorf("agent %q was not completed; get it from package settings", name)
	}
	o.Clock = cmp.Or[port.Clock](o.Clock, port.ClockFunc(time.Now))
	o.Resolver = cmp.Or[Resolver](o.Resolver, net.DefaultResolver)
	s := &Service{
		agent: agent, operations: operations, clock: o.Clock,
		dialer: net.Dialer{KeepAlive: 30 * time.Second},
	}
	certificates, err := agent.certificates()
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	s.kept = s.client(o, agent.URL, false, certificates)
	s.fresh = s.client(o, agent.URL, true, certificates)
	var token Secret
	if agent.Auth != nil && agent.Auth.OAuth2 != nil {
		token = agent.Auth.OAuth2.TokenURL
	}
	tokens := s.client(o, token, true, nil)
	tokens.Timeout = tokenTime
	s.auth, err = s.newAuthenticator(o.AWS, tokens)
	if err != nil {
		return nil, fmt.Errorf("agent %q: %w", name, err)
	}
	return s, nil
}

// Filled reports whether the settings hold the values of variables, which can be secret.
func (a Agent) Filled() bool { return a.redact != nil }

// tokenTime is the time limit of a request to the token endpoint.
const tokenTime = 10 * time.Second

func (s *Service) dial(o Options, host string) dialFunc {
	return guardedDial(s.agent.Allow.forHost(host), o.Resolver, s.dialer.DialContext)
}

// client returns a client of an address, without redirects, cookies and compression. It uses HTTP/2 if the service
// offers it over TLS, and HTTP/1.1 otherwise. It uses a proxy only if the agents file names the proxy. If single is
// true, each request uses a new connection. A proxy resolves names itself, so with a proxy the address rules
// apply only to the proxy's address.
func (s *Service) client(o Options, address Secret, single bool, certificates []tls.Certificate) *http.Client {
	to, err := url.Parse(address.text)
	if err != nil {
		to = &url.URL{} // calls fail with a better error
	}
	t := &http.Transport{
		DialContext:            s.dial(o, to.Hostname()),
		MaxIdleConns:           s.agent.Concurrency,
		MaxIdleConnsPerHost:    s.agent.Concurrency,
		IdleConnTimeout:        time.Minute,
		MaxResponseHeaderBytes: 64 << 10,
		DisableCompression:     true,
		DisableKeepAlives:      single,
		ForceAttemptHTTP2:      true,
		// Without pings, all calls would use a dead connection of HTTP/2 until the system gives it up.
		HTTP2:           &http.HTTP2Config{SendPingTimeout: 15 * time.Second, PingTimeout: 5 * time.Second},
		TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, Certificates: certificates},
	}
	if proxy := s.agent.proxyURL(); proxy != nil {
		t.DialContext = s.dial(o, proxy.Hostname())
		if to.Scheme == "https" {
			t.DialContext = tunnel(proxy, t.DialContext)
		} else {
			t.Proxy = http.ProxyURL(proxy)
		}
	}
	return redirect.Refused(http.Client{Transport: watched(t)})
}

// Operations returns the operations for a worker.Config.
func (s *Service) Operations() worker.Operations {
	operations := make(worker.Operations, len(s.operations))
	for name, o := range s.operations {
		op := worker.Operation{Run: func(ctx context.Context, call worker.Call) (any, error) {
			return s.do(ctx, o, call)
		}}
		if o.Check != nil {
			op.Check = func(ctx context.Context, call worker.Call) (bool, any, error) {
				return s.check(ctx, *o.Check, call)
			}
		}
		operations[name] = op
	}
	return operations
}

// Close closes idle connections.
func (s *Service) Close() {
	s.kept.CloseIdleConnections()
	s.fresh.CloseIdleConnections()
}
