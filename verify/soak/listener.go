package soak

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
)

// cutListener is a loopback address whose connections can all be cut, and that can be shut.
type cutListener struct {
	listener net.Listener
	mu       sync.Mutex
	open     map[net.Conn]struct{}
	shut     bool
	serving  sync.WaitGroup
}

// newCutListener listens on a free port; attend begins to serve.
func newCutListener(ctx context.Context) (*cutListener, error) {
	var lc net.ListenConfig
	listener, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}
	return &cutListener{listener: listener, open: map[net.Conn]struct{}{}}, nil
}

// attend runs serve for each connection, which is closed after it.
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

// url is the door's address.
func (d *cutListener) url() string { return "http://" + d.listener.Addr().String() }

// enter keeps a connection to cut it; false where the door is shut.
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

// close severs every connection and takes no new ones until reopen.
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

// end closes the door for good, and waits for those who are inside.
func (d *cutListener) end() {
	_ = d.listener.Close()
	d.close()
	d.serving.Wait()
}

// sever ends a connection with a reset, as a router does that has lost its tables.
func sever(c net.Conn) {
	if t, ok := c.(*net.TCPConn); ok {
		_ = t.SetLinger(0)
	}
	_ = c.Close()
}

// dial reaches the same address through the same door.
func (d *cutListener) dial(ctx context.Context, address string) (net.Conn, error) {
	var dialer net.Dialer
	return dialer.DialContext(ctx, "tcp", address)
}

// newForwarder is a door that carries bytes to the server that is behind it just now, unchanged: the engine,
// which has another address after each restart.
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
		<-done // one side has ended: what the other still sends is not waited for
		_, _ = c.Close(), up.Close()
		<-done
	})
	return d, nil
}

func carry(to, from net.Conn, done chan<- struct{}) {
	_, _ = io.Copy(to, from)
	done <- struct{}{}
}
