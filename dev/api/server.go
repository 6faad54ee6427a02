package api

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/loopback"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	headerTimeout = 5 * time.Second
	readTimeout   = 30 * time.Second
	writeTimeout  = MaxWait + 30*time.Second
	idleTimeout   = 2 * time.Minute
	maxHeader     = 32 << 10
	drainTimeout  = 3 * time.Second // shorter than the 5 s in which the process must end after SIGTERM
)

// Listen opens a TCP address of the loopback interface, such as "127.0.0.1:8377". Port 0 selects a free port.
// Listen refuses all other interfaces, because the API has no users or passwords.
func Listen(address string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen address %q: %w; give host and port, like 127.0.0.1:8377", address, err)
	}
	if !loopback.Is(host) {
		return nil,
			fmt.Errorf(
				"listen address %q is not on the loopback interface; use 127.0.0.1, because every client "+
					"that reaches this port may submit and undo orders", address)
	}
	return net.Listen("tcp", address)
}

// Serve serves h on ln until ctx ends. Then waiting requests, streams of events and long polls end at once.
// All other requests have 3 seconds to finish. Serve always closes the listener.
func Serve(ctx context.Context, ln net.Listener, h http.Handler) error {
	base, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	var open atomic.Int64
	s := &http.Server{
		Handler: bounded(&open, h), ReadHeaderTimeout: headerTimeout, ReadTimeout: readTimeout,
		WriteTimeout: writeTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeader,
		BaseContext: func(net.Listener) context.Context { return context.WithValue(base, drainKey{}, ctx) },
		ErrorLog:    slog.NewLogLogger(slog.Default().Handler(), slog.LevelWarn),
	}
	watchConnections(s, &open)
	failed := make(chan error, 1)
	go func() { failed <- port.Guard(nil, "the server", func() error { return s.Serve(ln) }) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serving %s: %w", ln.Addr(), err)
	case <-ctx.Done():
	}
	limit, stop := context.WithTimeout(base, drainTimeout)
	defer stop()
	err := s.Shutdown(limit)
	cancel()
	if err != nil {
		err = errors.Join(fmt.Errorf("some requests to %s had to be cut off after %v: %w", ln.Addr(),
			drainTimeout, err), s.Close())
	}
	return err
}

// bounded closes connections after their response while too many are open, so that idle connections do not take the
// open files that the agents and the store need.
func bounded(open *atomic.Int64, next http.Handler) http.Handler {
	most := int64(ofFiles(mostIdle))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if open.Load() > most {
			w.Header().Set("Connection", "close")
		}
		next.ServeHTTP(w, r)
	})
}

// watchConnections counts the open connections, and closes a new one if there are too many. It also makes Shutdown
// close connections on which no request has come. Browsers open some connections in advance, and Shutdown would wait
// for them.
func watchConnections(s *http.Server, open *atomic.Int64) {
	most := int64(3 * ofFiles(mostOpen))
	var unused sync.Map
	s.ConnState = func(c net.Conn, state http.ConnState) {
		unused.Delete(c)
		switch state {
		case http.StateNew:
			unused.Store(c, nil)
			if open.Add(1) > most {
				_ = c.Close()
			}
		case http.StateClosed:
			open.Add(-1)
		}
	}
	s.RegisterOnShutdown(func() {
		unused.Range(func(c, _ any) bool {
			_ = c.(net.Conn).Close() // no request is lost, because the server has read none
			return true
		})
	})
}
