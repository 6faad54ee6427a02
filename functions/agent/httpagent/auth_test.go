package httpagent

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// agentOf reads an agent whose secrets come from values.
func agentOf(text string, values map[string]string) (entry, error) {
	c, err := parse([]byte("agents: {payment: {"+text+"}}"), func(name string) (string, bool) {
		v, ok := values[name]
		return v, ok
	})
	return c["payment"], err
}

// charging returns a call of the agent's service.
func charging(t *testing.T, text string, values map[string]string, o Options) func() (any, error) {
	t.Helper()
	return trusting(t, nil, text, values, o)
}

// trusting is charging with trust in the certificate of a server.
func trusting(t *testing.T, srv *httptest.Server, text string, values map[string]string,
	o Options,
) func() (any, error) {
	t.Helper()
	a, err := agentOf(text, values)
	require.NoError(t, err)
	s, err := New("payment", a.Agent, a.Operations, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	if srv != nil {
		trust(s, srv)
	}
	return func() (any, error) {
		in := call()
		in.Deadline = time.Now().Add(time.Minute)
		return run(s, in)
	}
}

// trust makes the clients of a service accept the certificate of a server.
func trust(s *Service, srv *httptest.Server) {
	for _, c := range []*http.Client{s.kept, s.fresh, s.auth.client} {
		transport := c.Transport.(redirect.Transport).Next.(*http.Transport)
		config := srv.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
		if transport.TLSClientConfig != nil {
			config.Certificates = transport.TLSClientConfig.Certificates
		}
		transport.TLSClientConfig = config
	}
}

// tokens is a token endpoint, and a service that accepts the newest token.
type tokens struct {
	mu       sync.Mutex
	issued   int
	accepted string // "" accepts the newest
	lasts    int    // seconds
	status   int    // status of the token endpoint; 0 means 200
	prefix   string // beginning of each token
}

func (s *tokens) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.URL.Path == "/token" {
		id, secret, _ := r.BasicAuth()
		if s.status != 0 || id != "shop" || secret != "s3cr3t-value" ||
			r.FormValue("scope") != "charge refund" {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(max(s.status, 400))
			_, _ = io.WriteString(w, `{"error":"no client s3cr3t-value","error_description":"s3cr3t-value"}`)
			return
		}
		s.issued++
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"access_token":"%stoken-%d","token_type":"Bearer","expires_in":%d}`, s.prefix,
			s.issued, s.lasts)
		return
	}
	want := s.accepted
	if want == "" {
		want = fmt.Sprintf("token-%d", s.issued)
	}
	if r.Header.Get("Authorization") != "Bearer "+want {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprintf(w, `{"echo":%q}`, r.Header.Get("Authorization"))
}

const oauth = "auth: {oauth2: {tokenURL: '%[1]s/token', clientID: shop, clientSecret: '${env:SECRET}', " +
	"scopes: [charge, refund]}}, url: '%[1]s'"

// A token is fetched once, replaced before it ends and when the service refuses it, and never shown. Broken
// by: the refused token is used again.
func TestOAuth2(t *testing.T) {
	state := &tokens{lasts: 3600}
	srv := httptest.NewServer(state)
	defer srv.Close()
	secret := map[string]string{"SECRET": "s3cr3t-value"}
	charge := charging(t, fmt.Sprintf(oauth, srv.URL), secret, Options{})
	for range 3 {
		out, err := charge()
		require.NoError(t, err)
		require.Equal(t, `{"echo":"Bearer [hidden]"}`, fmt.Sprintf("%s", out))
	}
	require.Equal(t, 1, state.issued)
	state.accepted = "token-2" // the first was revoked
	if _, err := charge(); err != nil || state.issued != 2 {
		t.Errorf("after a 401: %v, %d tokens", err, state.issued)
	}
	state.accepted = "another"
	if _, err := charge(); failureOf(t, err).Code != core.CodeUnauthorized || state.issued != 3 {
		t.Errorf("always 401: %v, %d tokens", err, state.issued)
	}
	state.accepted = ""
	state.lasts = 10
	state.issued = 0
	charge = charging(t, fmt.Sprintf(oauth, srv.URL), secret, Options{})
	for range 2 {
		_, err := charge()
		require.NoError(t, err)
	}
	require.Equal(t, 2, state.issued)
	state.prefix = strings.Repeat("x", 20_000)
	_, err := charging(t, fmt.Sprintf(oauth, srv.URL), secret, Options{})()
	fails(t, err, worker.Failure{Code: core.CodeUnauthorized, NoEffect: true})
	for status, code := range map[int]string{
		401: core.CodeUnauthorized, 400: core.CodeUnauthorized,
		503: "token", 429: "token",
	} {
		state.status = status
		_, err := charging(t, fmt.Sprintf(oauth, srv.URL), secret, Options{})()
		fails(t, err, worker.Failure{Code: code, NoEffect: true})
		require.NotContains(t, err.Error(), "s3cr3t")
	}
}

// A token endpoint that responds with something else than a token is misconfigured, and the step waits for the
// operator. An endpoint that does not respond, or is overloaded, is unreachable.
func TestTokenEndpointsThatReturnNoToken(t *testing.T) {
	const ok, end = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Type: ", "\r\n\r\n"
	const waits = core.CodeUnauthorized
	for name, c := range map[string]struct{ response, code, text string }{
		"a page":           {ok + "text/html" + end + "<html>", waits, "else than"},
		"a form":           {ok + "text/plain" + end + "%zz", waits, "else than"},
		"no object":        {ok + "application/json" + end + "[]", waits, "else than"},
		"no token":         {ok + "application/json" + end + "{}", waits, "else than"},
		"no body":          {ok + "application/json" + end, waits, "else than"},
		"an early end":     {ok + "application/json\r\nContent-Length: 99" + end + "{", waits, "else than"},
		"no HTTP":          {"SSH-2.0-OpenSSH_9.6\r\n", waits, "else than"},
		"a line break":     {ok + "application/json" + end + `{"access_token":"a\nb"}`, waits, "no header can have"},
		"a late refusal":   {ok + "application/json" + end + `{"error":"invalid_client"}`, waits, "invalid_client"},
		"a redirect":       {"HTTP/1.1 302 Found\r\nLocation: /login\r\nContent-Length: 0" + end, waits, "answered 302"},
		"not found":        {"HTTP/1.1 404 No\r\nContent-Length: 0" + end, waits, "answered 404"},
		"a failure":        {"HTTP/1.1 502 Bad\r\nContent-Length: 0" + end, "token", "answered 502"},
		"too many":         {"HTTP/1.1 429 Wait\r\nContent-Length: 0" + end, "token", "answered 429"},
		"a connection end": {"", "unreachable", "could not be reached"},
	} {
		t.Run(name, func(t *testing.T) {
			address := serving(t, func(conn *net.TCPConn, _ *http.Request) { _, _ = io.WriteString(conn, c.response) })
			_, err := charging(t, fmt.Sprintf(oauth, address), map[string]string{"SECRET": "s3cr3t-value"}, Options{})()
			fails(t, err, worker.Failure{Code: c.code, NoEffect: true}, c.text)
		})
	}
}

// The address rules hold for the token endpoint and for the proxy. Broken by: they hold for the url alone.
func TestAddressesOfTokensAndProxies(t *testing.T) {
	values := map[string]string{"SECRET": "s3cr3t-value"}
	const service = "url: 'https://payment.example', "
	token := func(address string) string {
		return service + "auth: {oauth2: {tokenURL: '" + address +
			"', clientID: a, clientSecret: '${env:SECRET}'}}"
	}
	for _, c := range []struct{ text, want string }{
		{token("http://login.example/token"), "tokenURL is plain http"},
		{token("https://169.254.169.254/token"), "link-local"},
		{token("https://10.0.0.1/token"), "is private"},
		{token("ftp://login.example"), "tokenURL is not an address"},
		{token("https://a:b@login.example/"), "holds a name or password"},
		{token("https://login.example/t") + ", allow: {hosts: [payment.example]}", "not among allow.hosts"},
		{service + "proxy: 'http://10.0.0.1:3128'", "is private"},
		{service + "proxy: 'http://169.254.169.254'", "link-local"},
		{service + "proxy: 'socks5://proxy.example'", "proxy is no address like"},
		{service + "proxy: 'http://a:secret@proxy.example'", "proxy holds a secret"},
		{service + "auth: {}", "auth is empty"},
		{service + "auth: {sigv4: {service: ''}}", "service is"},
		{service + "auth: {sigv4: {service: s3}}", "service s3 is not supported"},
		{service + "auth: {sigv4: {service: lambda}}, headers: {authorization: '${env:SECRET}'}", "leave it out of headers"},
		{service + "auth: {oauth2: {tokenURL: 'https://a.example', clientID: a, clientSecret: b}}", "clientSecret holds a secret"},
		{service + "auth: {certificate: {chain: '${env:SECRET}'}}", "key is missing"},
	} {
		_, err := agentOf(c.text, values)
		require.ErrorContains(t, err, c.want, c.text)
	}
	a, err := agentOf(token("https://login.example/t"), values)
	require.NoError(t, err)
	s, err := New("payment", a.Agent, a.Operations, Options{Resolver: resolves("10.1.2.3")})
	require.NoError(t, err)
	_, err = s.Operations()[worker.AnyOperation].Run(t.Context(), worker.Call{Name: "charge"})
	fails(t, err, worker.Failure{Code: "address-refused", Permanent: true, NoEffect: true})
}

// Requests are signed for the Region of the host or of the file, body included.
func TestSigV4(t *testing.T) {
	var got http.Header
	srv := httptest.NewServer(
		http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }),
	)
	defer srv.Close()
	c := aws.Config{
		Region:      "eu-west-3",
		Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "tok"),
	}
	for text, region := range map[string]string{"": "eu-west-3", ", region: us-west-2": "us-west-2"} {
		charge := charging(t, "url: '"+srv.URL+"', auth: {sigv4: {service: execute-api"+text+"}}", nil,
			Options{AWS: c})
		_, err := charge()
		require.NoError(t, err)
		a := got.Get("Authorization")
		require.True(t, strings.HasPrefix(a, "AWS4-HMAC-SHA256 Credential=AKID/"), "signed %s", a)
		require.Contains(t, a, "/"+region+"/execute-api/")
		require.Contains(t, a, "idempotency-key")
		require.Equal(t, "tok", got.Get("X-Amz-Security-Token"))
	}
	a, err := agentOf("url: 'https://abc123.execute-api.eu-central-1.amazonaws.com/prod', "+
		"auth: {sigv4: {service: execute-api}}", nil)
	require.NoError(t, err)
	require.Equal(t, "eu-central-1", a.SigningRegion())
	require.Equal(t, "abc123", a.API())
	c.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, errors.New("expired")
	})
	_, err = charging(t, "url: '"+srv.URL+"', auth: {sigv4: {service: lambda}}", nil, Options{AWS: c})()
	fails(t, err, worker.Failure{Code: core.CodeUnauthorized, NoEffect: true})
}

// The host of a service of AWS names the Region, in each partition.
func TestRegionOfTheHost(t *testing.T) {
	for host, want := range map[string]string{
		"abc123.execute-api.cn-north-1.amazonaws.com.cn":     "cn-north-1",
		"abc123.execute-api.eusc-de-east-1.amazonaws.eu":     "eusc-de-east-1",
		"abc123.execute-api.ap-southeast-2.api.aws":          "ap-southeast-2",
		"abc123.lambda-url.us-gov-west-1.on.aws":             "us-gov-west-1",
		"abc123.execute-api.eu-central-1.amazonaws.example":  "",
		"abc123.execute-api.eusc-de-east-1.amazonaws.com":    "",
		"abc123.execute-api.eu-central-1.amazonaws.com.evil": "",
	} {
		a, err := agentOf("url: 'https://"+host+"', auth: {sigv4: {service: execute-api}}", nil)
		require.NoError(t, err)
		require.Equal(t, want, a.SigningRegion(), host)
	}
}

// AWS refuses credentials that have expired as it refuses what they do not allow, and names the cause in a header.
func TestRefusedSignatures(t *testing.T) {
	c := aws.Config{Region: "eu-west-3", Credentials: credentials.NewStaticCredentialsProvider("AKID", "secret", "tok")}
	const signed = ", auth: {sigv4: {service: execute-api}}"
	denied := worker.Failure{Code: "http-403", Permanent: true, NoEffect: true}
	for name, tt := range map[string]struct {
		code, auth string
		want       worker.Failure
	}{
		"expired":      {"ExpiredTokenException", signed, worker.Failure{Code: core.CodeUnauthorized, NoEffect: true}},
		"denied":       {"AccessDeniedException", signed, denied},
		"no such path": {"MissingAuthenticationTokenException", signed, denied},
		"not signed":   {"ExpiredTokenException", "", denied},
	} {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("X-Amzn-ErrorType", tt.code)
				w.WriteHeader(http.StatusForbidden)
			}))
			defer srv.Close()
			_, err := charging(t, "url: '"+srv.URL+"'"+tt.auth, nil, Options{AWS: c})()
			fails(t, err, tt.want)
		})
	}
}

// certificate returns a client certificate that signed itself, and its key, in PEM.
func certificate(t *testing.T) (chain, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(1),
		NotAfter: time.Now().
			Add(time.Hour),
	}, &x509.Certificate{SerialNumber: big.NewInt(1)}, &private.PublicKey, private)
	require.NoError(t, err)
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	require.NoError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes}))
}

// A service that wants a client certificate gets it. One that cannot be read is found at the start.
func TestClientCertificates(t *testing.T) {
	const text = "url: 'https://payment.example', " +
		"auth: {certificate: {chain: '${env:CHAIN}', key: '${env:KEY}'}}"
	chain, key := certificate(t)
	a, err := agentOf(text, map[string]string{"CHAIN": chain, "KEY": "nonsense"})
	require.NoError(t, err)
	_, err = New("payment", a.Agent, a.Operations, Options{})
	require.ErrorContains(t, err, "certificate cannot be read")
	var shown atomic.Int32
	srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		shown.Store(int32(len(r.TLS.PeerCertificates)))
	}))
	srv.TLS = &tls.Config{ClientAuth: tls.RequireAnyClientCert}
	srv.StartTLS()
	defer srv.Close()
	charge := trusting(t, srv, strings.Replace(text, "https://payment.example", srv.URL, 1),
		map[string]string{"CHAIN": chain, "KEY": key}, Options{})
	_, err = charge()
	require.NoError(t, err)
	require.EqualValues(t, 1, shown.Load())
}

// proxy is an HTTP proxy that counts what it connects, and asks for a password.
func proxy(t *testing.T, to string, count *atomic.Int32) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "Basic c2hvcDpzM2NyM3QtdmFsdWU=" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		count.Add(1)
		if r.Method != http.MethodConnect {
			_, _ = io.WriteString(w, `{"by":"proxy"}`)
			return
		}
		next, err := net.Dial("tcp", to)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
		go func() { _, _ = io.Copy(next, conn); next.Close() }()
		_, _ = io.Copy(conn, next)
		conn.Close()
	}))
	t.Cleanup(srv.Close)
	return srv
}

// Calls go through the proxy of the entry, which resolves the name, and through none of the environment's.
func TestProxy(t *testing.T) {
	var count atomic.Int32
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `{"by":"service"}`)
	}))
	defer srv.Close()
	through := proxy(t, srv.Listener.Addr().String(), &count)
	values := map[string]string{"PASSWORD": "s3cr3t-value"}
	entry := "proxy: '" + strings.Replace(
		through.URL,
		"http://",
		"http://shop:${env:PASSWORD}@",
		1,
	) + "', url: "
	for url, want := range map[string]string{
		"https://example.com": "service",
		"http://example.com":  "proxy",
	} {
		charge := trusting(t, srv, entry+"'"+url+"', insecure: true", values, Options{})
		out, err := charge()
		require.NoError(t, err, url)
		require.Equal(t, `{"by":"`+want+`"}`, fmt.Sprintf("%s", out), url)
	}
	require.Equal(t, int32(2), count.Load())
	charge := trusting(t, srv, "proxy: '"+through.URL+"', url: 'https://example.com'", nil, Options{})
	_, err := charge()
	fails(t, err, worker.Failure{Code: "proxy", NoEffect: true}, "407")
	t.Setenv("HTTPS_PROXY", through.URL)
	_, err = charging(t, "url: 'https://payment.invalid'", nil, Options{Resolver: resolves()})()
	fails(t, err, worker.Failure{Code: "dns", NoEffect: true}, "HTTPS_PROXY is not used")
	require.Equal(t, int32(2), count.Load())
}
