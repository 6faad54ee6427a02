// Package redirect prevents HTTP clients from following redirects.
package redirect

import (
	"cmp"
	"fmt"
	"net/http"
)

// Refused returns a copy of the client that does not follow redirects. The copy returns the redirect as the
// response.
func Refused(c http.Client) *http.Client {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = Transport{c.Transport}
	return &c
}

// Transport is an http.RoundTripper. If the redirect address in a response cannot be parsed, Transport
// removes the address. With the address, http.Client would return an error instead of the response.
type Transport struct {
	Next http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip sends a request with Next.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(req)
	if err == nil {
		if _, wrong := req.URL.Parse(resp.Header.Get("Location")); wrong != nil {
			resp.Header.Del("Location")
		}
	}
	return resp, err
}

// CloseIdleConnections closes the idle connections of Next. http.Client calls this method.
func (t Transport) CloseIdleConnections() {
	below := http.Client{Transport: t.Next}
	below.CloseIdleConnections()
}

// Target describes the address of a redirect for an error text. It shows only the scheme and the host,
// because the rest may contain a secret. For a path of the same server or an unreadable address it returns a
// phrase.
func Target(resp *http.Response) string {
	location := resp.Header.Get("Location")
	u, err := resp.Request.URL.Parse(location)
	switch {
	case location == "" || err != nil || u.Host == "":
		return "an address that is missing or cannot be read"
	case u.Scheme == resp.Request.URL.Scheme && u.Host == resp.Request.URL.Host:
		return "another path of the same server"
	}
	return fmt.Sprintf("%.200q", u.Scheme+"://"+u.Host)
}
