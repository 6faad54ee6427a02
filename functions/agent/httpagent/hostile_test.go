package httpagent

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/redact"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// serving is a service on a free port that answers each request as written, byte for byte.
func serving(t *testing.T, answer func(conn *net.TCPConn, r *http.Request)) (url string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	var all sync.WaitGroup
	all.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			all.Go(func() {
				defer func() { _ = conn.Close() }()
				if r, err := http.ReadRequest(bufio.NewReader(conn)); err == nil {
					_, _ = io.Copy(io.Discard, r.Body)
					answer(conn.(*net.TCPConn), r)
				}
			})
		}
	})
	t.Cleanup(func() { _ = l.Close(); all.Wait() })
	return "http://" + l.Addr().String()
}

// The ways in which an answer 200 can break off after its status has arrived.
var brokenOff = map[string]func(conn *net.TCPConn){
	"shorter than its length": func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":1}")
	},
	"nothing of its length": func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\n")
	},
	"between two chunks": func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn,
			"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"id\":1}\r\n")
	},
	"within a chunk": func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n20\r\n{\"id\":1}")
	},
	"a reset": func(conn *net.TCPConn) {
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":1}")
		_ = conn.SetLinger(0)
	},
}

// P31: an answer 2xx that broke off is neither done nor proof that nothing happened. A plain service
// is not called again, one that knows keys is.
func TestAnswersThatBreakOff(t *testing.T) {
	for name, send := range brokenOff {
		for _, output := range []string{"json", "ignore"} {
			t.Run(name+", "+output, func(t *testing.T) {
				var calls atomic.Int32
				url := serving(t, func(conn *net.TCPConn, _ *http.Request) { calls.Add(1); send(conn) })
				s := serviceOf(t, "agents: {payment: {url: '"+url+"', operations: {charge: {output: "+output+
					", check: {path: /charge}}}}}", Options{})
				for _, grade := range []core.Grade{core.Plain, core.Idempotent} {
					c := call()
					c.Grade = grade
					_, err := run(s, c)
					fails(t, err, worker.Failure{Code: "network"})
				}
				happened, _, err := s.Operations()["charge"].Check(t.Context(), call())
				require.False(t, happened)
				require.Error(t, err)
			})
		}
	}
}

// piped leads the service's connections to a function, inside a synctest bubble. Each connection is
// answered by the path of its first request.
func piped(s *Service, answer func(conn net.Conn, path string)) {
	dial := func(context.Context, string, string) (net.Conn, error) {
		near, far := net.Pipe()
		go func() {
			defer func() { _ = far.Close() }()
			if r, err := http.ReadRequest(bufio.NewReader(far)); err == nil {
				_, _ = io.Copy(io.Discard, r.Body)
				answer(far, r.URL.Path)
			}
		}()
		return near, nil
	}
	for _, client := range []*http.Client{s.kept, s.fresh} {
		client.Transport.(redirect.Transport).Next.(*http.Transport).DialContext = dial
	}
}

// No answer outlives its time: whatever the status, a body that never ends is left, and the next call is made.
func TestNoAnswerOutlivesItsTime(t *testing.T) {
	const closing, chunked = "Connection: close\r\n", "Transfer-Encoding: chunked\r\n\r\n"
	const done, failed, later = core.OutcomeDone, core.OutcomeFailed, core.OutcomeRetryLater
	type want struct {
		outcome core.Outcome
		code    string
		within  time.Duration
	}
	const whole = 30 * time.Second // the step's timeout
	tests := map[string]want{
		"100 Continue": {later, "timeout", whole}, "102 Processing": {later, "timeout", whole},
		"103 Early Hints": {later, "timeout", whole},
		"101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: nothing": {failed, "http-101", 0},
		"101 Switching Protocols": {failed, "http-101", 0},
		"200 OK":                  {later, "timeout", whole}, "201 Created": {later, "timeout", whole},
		"202 Accepted":   {later, "timeout", whole},
		"204 No Content": {done, "", 0}, "205 Reset Content": {later, "timeout", whole},
		"206 Partial Content": {later, "timeout", whole},
		"301 Moved":           {failed, "http-301", wordsTime}, "302 Found": {failed, "http-302", wordsTime},
		"304 Not Modified":       {failed, "http-304", 0},
		"307 Temporary Redirect": {failed, "http-307", wordsTime},
		"400 Bad Request":        {failed, "http-400", wordsTime}, "401 Unauthorized": {
			later, "unauthorized",
			wordsTime,
		}, "403 Forbidden": {failed, "http-403", wordsTime},
		"404 Not Found": {failed, "http-404", wordsTime}, "408 Request Timeout": {
			later, "http-408",
			wordsTime,
		}, "409 Conflict": {failed, "http-409", wordsTime},
		"422 No": {failed, "http-422", wordsTime}, "429 Too Many": {later, "http-429", wordsTime},
		"500 Internal": {later, "http-500", wordsTime}, "501 Not Implemented": {
			failed, "http-501",
			wordsTime,
		}, "502 Bad Gateway": {later, "http-502", wordsTime},
		"503 Unavailable":     {later, "http-503", wordsTime},
		"504 Gateway Timeout": {later, "http-504", wordsTime}, "599 Odd": {later, "http-599", wordsTime},
	}
	for status, want := range tests {
		for _, body := range []string{"silent", "a trickle"} {
			t.Run(strings.Fields(status)[0]+" "+body, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					s := serviceOf(t, "agents: {payment: {url: 'http://127.0.0.1'}}", Options{})
					ended := make(chan struct{})
					defer close(ended)
					piped(s, func(conn net.Conn, path string) {
						if path == "/good" {
							_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
							<-ended
							return
						}
						endless := closing + chunked
						more := "1\r\n \r\n"
						if strings.Contains(status, "Upgrade:") {
							endless = chunked // the switch of a protocol says Connection: Upgrade
						}
						if strings.HasPrefix(status, "10") {
							more = "HTTP/1.1 103 Early Hints\r\n\r\n"
						}
						_, err := io.WriteString(conn, "HTTP/1.1 "+status+"\r\n"+endless)
						for err == nil && body == "a trickle" {
							select {
							case <-ended:
								return
							case <-time.After(time.Second):
								_, err = io.WriteString(conn, more)
							}
						}
						<-ended
					})
					ctx, cancel := context.WithTimeout(t.Context(), whole)
					defer cancel()
					start := time.Now()
					c := call()
					c.Name = "bad"
					_, err := s.Operations()[worker.AnyOperation].Run(ctx, c)
					require.LessOrEqual(t, time.Since(start), want.within)
					if want.outcome == done {
						require.NoError(t, err)
					} else {
						f := failureOf(t, err)
						require.Equal(t, want.code, f.Code)
						require.Equal(t, want.outcome == failed, f.Permanent)
					}
					c.Name = "good"
					_, err = run(s, c)
					require.NoError(t, err, "the next call")
					s.Close()
				})
			})
		}
	}
}

// A body is read as far as it may be, not further: however fast and long it is.
func TestBodiesWithoutEndAreNotRead(t *testing.T) {
	for status, code := range map[string]string{"200 OK": "response-too-large", "422 No": "http-422"} {
		synctest.Test(t, func(t *testing.T) {
			s := serviceOf(t, "agents: {payment: {url: 'http://127.0.0.1', maxResponse: 64KiB}}", Options{})
			var taken atomic.Int64
			piped(s, func(conn net.Conn, _ string) {
				_, err := io.WriteString(conn, "HTTP/1.1 "+status+"\r\nContent-Length: 9000000000\r\n\r\n")
				for err == nil && taken.Load() < 8<<20 {
					var n int
					n, err = conn.Write(bytes.Repeat([]byte("x"), 4096))
					taken.Add(int64(n))
				}
			})
			_, err := run(s, call())
			f := failureOf(t, err)
			require.Equal(t, code, f.Code, status)
			require.Equal(t, code == "response-too-large", f.Happened, status)
			s.Close()
			synctest.Wait()
			require.LessOrEqual(t, taken.Load(), int64(128<<10), status)
		})
	}
}

// Only this machine's own names are this machine: others need TLS, and may not lead to it.
func TestNamesThatLookLikeThisMachine(t *testing.T) {
	for _, host := range []string{
		"localhost.evil.example", "127.0.0.1.evil.example", "evil-localhost",
		"localhost.", "127.0.0.1.", "xn--localhost",
	} {
		if _, err := parse([]byte(simple("http://"+host)), env()); err == nil ||
			!strings.Contains(err.Error(), "plain http to "+host) {
			t.Errorf("http://%s: %v", host, err)
		}
		s := serviceOf(t, simple("https://"+host),
			Options{Resolver: resolves("127.0.0.1")})
		_, err := run(s, call())
		fails(t, err, worker.Failure{Code: "address-refused", Permanent: true, NoEffect: true})
	}
	for _, host := range []string{
		"localhost", "LOCALHOST", "127.0.0.1", "[::1]", "127.1.2.3",
		"[::ffff:127.0.0.1]",
	} {
		_, err := parse([]byte(simple("'http://"+host+"'")), env())
		require.NoError(t, err, host)
	}
}

// No call leaves the folder that its operation names, whatever the IDs in its path are.
func TestPathsStayWhereTheyBelong(t *testing.T) {
	for _, path := range []string{
		"/..", "/a/../b", "/a/./b", "/%2e%2e/b", "/a/.%2E", "/a/%252e%252e/b",
		"/a%2f..%2fb", "/a/..%5cb", "//evil.example/a", "a", "/a#b", "/a b", `/a\b`,
	} {
		file := "agents: {payment: {url: 'https://a.example', operations: {charge: {path: '" + path +
			"'}, other: {path: /x, check: {path: '" + path + "'}}}}}"
		_, err := parse([]byte(file), env())
		require.ErrorContains(t, err, `operation "charge": path`, path)
		require.ErrorContains(t, err, `operation "other": check: path`, path)
	}
	var called []string
	srv := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		called = append(called, r.RequestURI)
	}))
	defer srv.Close()
	ask := func(path, task string) error {
		c := call()
		c.OrderID = task
		c.Key = core.Key(task, 2, "pay")
		_, err := run(serviceOf(t, "agents: {payment: {url: '"+srv.URL+
			"/base', operations: {charge: {path: '"+path+"'}}}}", Options{}), c)
		return err
	}
	for path, task := range map[string]string{
		"/x/{task}": "..", "/x/{task}/y": ".", "/{key}": "..",
		"/.{task}": ".", "/x/{task}.": ".",
	} {
		fails(t, ask(path, task), worker.Failure{Code: "request", Permanent: true, NoEffect: true})
		require.Empty(t, called, path)
	}
	for path, want := range map[string]string{
		"/x/{task}?k={task}":          "/base/x/a..b%3Fc=%23d%2F%2Fe?k=a..b%3Fc%3D%23d%2F%2Fe",
		"/x/{step}/{run}/{operation}": "/base/x/pay/2/charge",
	} {
		called = nil
		require.NoError(t, ask(path, "a..b?c=#d//e"), "%v %v", path, want)
		require.Equal(t, []string{want}, called, "%v %v", path, want)
	}
}

// Secrets are cut out of what a service answers, in whatever way its JSON writes them.
func TestSecretsInOutputs(t *testing.T) {
	const secret = `hunter2<"é\x`
	escaped := ""
	for _, r := range secret {
		escaped += fmt.Sprintf(`\u%04X`, r)
	}
	plain, err := json.Marshal(secret)
	require.NoError(t, err)
	inside := string(plain[1 : len(plain)-1])
	const longer = "12345678-and-more"
	for name, tt := range map[string]struct{ body, want string }{
		"the whole text": {string(plain), `"[hidden]"`},
		"among other words": {
			`{"a":["as Bearer ` + inside + ` was sent"]}`,
			`{"a":["as Bearer [hidden] was sent"]}`,
		},
		"a key":                  {`{"` + inside + `":1}`, `{"[hidden]":1}`},
		"every character a code": {`{"a": "` + escaped + `", "b":2}`, `{"a": "[hidden]", "b":2}`},
		"one character a code":   {`{"a":"\u0068` + inside[1:] + `"}`, `{"a":"[hidden]"}`},
		"with escapes beside it": {`{"a":"\n` + inside + `\/"}`, `{"a":"\n[hidden]/"}`},
		"a number": {
			`{"pin":12345678,"other":123456789}`,
			`{"pin":"[hidden]","other":123456789}`,
		},
		"one within another": {`{"a":"` + longer + `"}`, `{"a":"[hidden]"}`},
		"nothing of it":      {`{"a" : "\u0041\/<" , "b":1.50}`, `{"a" : "\u0041\/<" , "b":1.50}`},
		"the service's host": {`{"link":"https://a.example/r/1"}`, `{"link":"https://a.example/r/1"}`},
		"a short one":        {`{"mode":"test"}`, `{"mode":"test"}`},
	} {
		t.Run(name, func(t *testing.T) {
			r := redact.Redactor{}.With(secret, "12345678", longer, "test")
			require.Equal(t, tt.want, string(r.Output(json.RawMessage(tt.body))))
		})
	}
}

// A whole address from the environment is no secret but for what follows the host.
func TestWhichPartOfTheAddressIsSecret(t *testing.T) {
	for name, tt := range map[string]struct{ url, value, body, want string }{
		"the whole address": {
			"${env:V}", "https://a.example", `"https://a.example/x"`,
			`"https://a.example/x"`,
		},
		"the host": {"https://${env:V}/b", "a.example", `"a.example"`, `"a.example"`},
		"a path, whole": {
			"${env:V}", "https://a.example/hook/T0KEN-1", `"/hook/T0KEN-1 at a.example"`,
			`"/[hidden] at a.example"`,
		},
		"a part of the path": {"https://a.example/${env:V}/x", "T0KEN-1", `"T0KEN-1"`, `"[hidden]"`},
	} {
		a := Agent{URL: Secret{text: tt.url}}
		require.Empty(t, a.Fill(Variables{Lookup: env("V", tt.value)}))
		require.Equal(t, tt.want, string(a.redact.Output(json.RawMessage(tt.body))), "%v", name)
	}
}

// What a service sends without being asked stays out of the log of the process.
func TestUnsolicitedBytesAreNotLogged(t *testing.T) {
	const secret = "hunter2-hunter2"
	lines := make(lineWriter, 10)
	before := log.Writer()
	log.SetOutput(lines)
	defer log.SetOutput(before)
	url := serving(t, func(conn *net.TCPConn, r *http.Request) {
		_, _ = io.WriteString(conn,
			"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}HTTP/1.1 200 OK\r\nX-Echo: "+
				r.Header.Get("Authorization")+"\r\n\r\n")
	})
	s := serviceOf(t, `agents: {payment: {url: "`+url+`", headers: {Authorization: "Bearer ${env:TOKEN}"}}}`,
		Options{}, "TOKEN", secret)
	_, err := run(s, call())
	require.NoError(t, err)
	select {
	case line := <-lines:
		require.NotContains(t, line, secret)
		require.Contains(t, line, unsolicited)
		require.True(t, strings.HasSuffix(line, "\n"))
	case <-time.After(10 * time.Second):
		t.Error("net/http logs nothing of it any more: standardLog is not needed")
	}
	log.Print("another line")
	require.True(t, strings.HasSuffix(<-lines, "another line\n"))
}

type lineWriter chan string

func (l lineWriter) Write(line []byte) (int, error) {
	l <- string(line)
	return len(line), nil
}

// An error of net/http quotes what the service sent: the secret in it is cut out in that form too.
func TestSecretsInQuotedErrors(t *testing.T) {
	const secret = `hun"ter\2`
	url := serving(t, func(conn *net.TCPConn, r *http.Request) {
		_, _ = io.WriteString(conn, "HTTP/9.9x "+r.Header.Get("Authorization")+"\r\n\r\n")
	})
	s := serviceOf(t, `agents: {payment: {url: "`+url+`", headers: {Authorization: "${env:TOKEN}"}}}`,
		Options{}, "TOKEN", secret)
	_, err := run(s, call())
	f := failureOf(t, err)
	require.NotContains(t, f.Error(), "ter")
	require.Contains(t, f.Error(), redact.Hidden)
}
