// Package redirect keeps HTTP clients from following redirects.
package redirect

import (
	"cmp"
	"fmt"
	"net/http"
)

// Refused returns a copy of the client that returns each redirect as the response, instead of following it.
func Refused(c http.Client) *http.Client {
	c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.Transport = Transport{c.Transport}
	return &c
}

// Transport removes redirect addresses that cannot be parsed. http.Client would return an error with such an
// address instead of the response.
type Transport struct {
	Next http.RoundTripper // nil means http.DefaultTransport
}

// RoundTrip sends a request.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := cmp.Or(t.Next, http.DefaultTransport).RoundTrip(req)
	if err == nil {
		if _, wrong := req.URL.Parse(resp.Header.Get("Location")); wrong != nil {
			resp.Header.Del("Location")
		}
	}
	return resp, err
}

// CloseIdleConnections closes the idle connections of the transport below, for http.Client.
func (t Transport) CloseIdleConnections() {
	below := http.Client{Transport: t.Next}
	below.CloseIdleConnections()
}

// Target describes the address of a redirect in an error: its scheme and host in quotes, or a phrase if it is
// another path of the same server or unreadable. The rest of the address may hold a secret.
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
