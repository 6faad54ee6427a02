package soak_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// cutListener is a loopback listener. The soak can cut all of its connections, and close it.
type cutListener struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	shut     bool
	serving  sync.WaitGroup
}

// newCutListener listens on a free port. attend starts to serve.
func newCutListener(ctx context.Context) (*cutListener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &cutListener{listener: listener, open: map[net.Conn]struct{}{}}, nil
}

// attend runs serve for each connection, and closes the connection afterwards.
func (d *cutListener) attend(serve func(c net.Conn)) {
	d.serving.Go(func() {
		for {
			c, err := d.listener.Accept()
			if err != nil {
				return // closed
			}
			if !d.enter(c) {
				sever(c)
				continue
			}
			d.serving.Go(func() {
				defer d.leave(c)
				serve(c)
			})
		}
	})
}

// url returns the listener's address.
func (d *cutListener) url() string { return "http://" + d.listener.Addr().String() }

// enter records a connection so that it can be cut. It returns false if the listener is closed.
func (d *cutListener) enter(c net.Conn) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.shut {
		return false
	}
	d.open[c] = struct{}{}
	return true
}

func (d *cutListener) leave(c net.Conn) {
	d.mu.Lock()
	delete(d.open, c)
	d.mu.Unlock()
	_ = c.Close()
}

// cut severs every connection.
func (d *cutListener) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for c := range d.open {
		sever(c)
	}
}

// close severs every connection and accepts no new ones until reopen.
func (d *cutListener) close() {
	d.mu.Lock()
	d.shut = true
	d.mu.Unlock()
	d.cut()
}

func (d *cutListener) reopen() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.shut = false
}

// end closes the listener for good, and waits for the running connections.
func (d *cutListener) end() {
	_ = d.listener.Close()
	d.close()
	d.serving.Wait()
}

// sever ends a connection with a reset.
func sever(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// dial connects to the same address through this listener.
func (d *cutListener) dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// newForwarder returns a listener that forwards bytes unchanged to the present server: the engine, which has
// another address after each restart.
func newForwarder(ctx context.Context, behind func() string) (*cutListener, error) {
	d, err := newCutListener(ctx)
	if err != nil {
		return nil, err
	}
	d.attend(func(c net.Conn) {
		up, err := d.dial(ctx, behind())
		if err != nil || !d.enter(up) {
			if err == nil {
				sever(up)
			}
			sever(c)
			return
		}
		defer d.leave(up)
		done := make(chan struct{}, 2)
		go carry(up, c, done)
		go carry(c, up, done)
		<-done // one side has ended, and the rest from the other side is not needed
		_ = c.Close()
		_ = up.Close()
		<-done
	})
	return d, nil
}

func carry(to, from net.Conn, done chan<- struct{}) {
	_, _ = io.Copy(to, from)
	done <- struct{}{}
}
