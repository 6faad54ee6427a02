package httpagent

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"sync"
)

var errUnasked = errors.New("the service sent bytes before a request was written; the connection was closed")

// conn is a connection of HTTP/1.1 that closes after unsolicited bytes. These bytes follow the end of a response, or
// arrive before a request is written. net/http could read them as the response to the next request.
type conn struct {
	net.Conn
	mu        sync.Mutex
	changed   sync.Cond
	reading   bool // net/http waits for bytes, so it has read all earlier bytes
	closed    bool // no more requests can be written
	unwritten bool // nothing of the next request is written yet
}

func newConn(c net.Conn) *conn {
	own := &conn{Conn: c, unwritten: true}
	own.changed.L = &own.mu
	return own
}

// begin prepares the connection for a request. It waits until net/http has read all bytes or the
// connection is closed.
func (c *conn) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.reading && !c.closed {
		c.changed.Wait()
	}
	c.unwritten = true
}

// end closes the connection after an error of a request. It reports whether bytes of the request were
// written. After end, no more bytes can be written.
func (c *conn) end() (written bool) {
	_ = c.Close()
	c.set(func() { written = !c.unwritten })
	return written
}

// Read reads bytes of a response. It closes the connection if the bytes come before a request is written.
func (c *conn) Read(p []byte) (int, error) {
	c.set(func() { c.reading = true })
	n, err := c.Conn.Read(p)
	early := false
	c.set(func() {
		c.reading = false
		early = n > 0 && c.unwritten
		c.closed = c.closed || early
	})
	if early {
		_ = c.Conn.Close()
		return 0, errUnasked
	}
	return n, err
}

// Write writes bytes of a request. It fails if the connection is closed.
func (c *conn) Write(p []byte) (int, error) {
	closed := false
	c.set(func() {
		closed = c.closed
		c.unwritten = c.unwritten && closed
	})
	if closed {
		return 0, net.ErrClosed
	}
	return c.Conn.Write(p)
}

// Close closes the connection. Calls of begin that wait for the connection return.
func (c *conn) Close() error {
	c.set(func() { c.closed = true })
	return c.Conn.Close()
}

func (c *conn) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	c.changed.Broadcast()
}

// watched makes the connections of a transport detect unsolicited bytes. With TLS the connections check the
// decrypted bytes, because a server may send records of the TLS protocol itself at any time. Connections of
// HTTP/2 do not need it, because each of their responses names its request.
func watched(t *http.Transport) *http.Transport {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return newConn(c), nil
	}
	t.DialTLSContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		config := t.TLSClientConfig.Clone()
		if config.ServerName == "" {
			config.ServerName, _, _ = net.SplitHostPort(address) // net/http passes host:port
		}
		secure := tls.Client(c, config)
		ctx, cancel := context.WithTimeout(ctx, dialTimeout)
		defer cancel()
		if err := secure.HandshakeContext(ctx); err != nil {
			_ = c.Close()
			return nil, err
		}
		if secure.ConnectionState().NegotiatedProtocol == "h2" {
			return secure, nil
		}
		return newConn(secure), nil
	}
	return t
}
