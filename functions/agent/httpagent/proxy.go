package httpagent

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"time"
)

var errProxy = errors.New("the proxy refused the connection")

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

func (a Agent) proxyURL() *url.URL {
	if a.Proxy.text == "" {
		return nil
	}
	u, _ := url.Parse(a.Proxy.text) // completeAuth has checked the address
	if u.Port() == "" {
		u.Host = net.JoinHostPort(u.Hostname(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return u
}

func tunnel(proxy *url.URL, dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, proxy.Host)
		if err != nil {
			return nil, fmt.Errorf("the proxy cannot be reached: %w", err)
		}
		if proxy.Scheme == "https" {
			conn = tls.Client(conn, &tls.Config{MinVersion: tls.VersionTLS12, ServerName: proxy.Hostname()})
		}
		if err := connect(ctx, conn, proxy, address); err != nil {
			_ = conn.Close()
			return nil, err
		}
		return conn, nil
	}
}

func connect(ctx context.Context, conn net.Conn, proxy *url.URL, address string) error {
	//nolint:forbidigo // a connection uses the machine's clock
	end := time.Now().Add(dialTimeout)
	if own, bounded := ctx.Deadline(); bounded && own.Before(end) {
		end = own
	}
	if err := conn.SetDeadline(end); err != nil {
		return err
	}
	req := &http.Request{
		Method: http.MethodConnect, URL: &url.URL{Opaque: address}, Host: address,
		Header: http.Header{},
	}
	if u := proxy.User; u != nil {
		password, _ := u.Password()
		req.Header.Set("Proxy-Authorization",
			"Basic "+base64.StdEncoding.EncodeToString([]byte(u.Username()+":"+password)))
	}
	if err := req.Write(conn); err != nil {
		return err
	}
	in := bufio.NewReader(io.LimitReader(conn, maxConnect))
	res, err := http.ReadResponse(in, req)
	if err != nil {
		return fmt.Errorf("the proxy's response cannot be read: %w", err)
	}
	_ = res.Body.Close() // the response to a CONNECT has no body
	switch {
	case res.StatusCode != http.StatusOK:
		return fmt.Errorf("%w with status %d; check its address, password and rules", errProxy,
			res.StatusCode)
	case in.Buffered() > 0:
		return fmt.Errorf("%w: it sent bytes before the service was asked", errProxy)
	}
	return conn.SetDeadline(time.Time{})
}

// maxConnect is the largest response of a proxy to CONNECT, in bytes.
const maxConnect = 64 << 10

// unusedProxy returns a hint if the environment names a proxy that the agent ignores.
func (a Agent) unusedProxy() string {
	if a.Proxy.text != "" {
		return ""
	}
	for _, name := range []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy"} {
		if os.Getenv(name) != "" {
			return "; the proxy in " + name + " is not used, write proxy: in the agents file"
		}
	}
	return ""
}
