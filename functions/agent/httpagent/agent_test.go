package httpagent

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// TestMain sets a proxy that does not exist: no test, and no call of the product, may use it.
func TestMain(m *testing.M) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		if err := os.Setenv(name, "http://127.0.0.1:1"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for i := 0; i < len(pairs); i += 2 {
			if pairs[i] == name {
				return pairs[i+1], true
			}
		}
		return "", false
	}
}

// serviceOf makes the client of the one agent "payment" of a file.
func serviceOf(t *testing.T, file string, o Options, pairs ...string) *Service {
	t.Helper()
	c, err := parse([]byte(file), env(pairs...))
	require.NoError(t, err)
	if o.Clock == nil {
		o.Clock = port.ClockFunc(func() time.Time { return noon })
	}
	s, err := New("payment", c["payment"].Agent, c["payment"].Operations, o)
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func simple(url string) string { return "agents: {payment: {url: " + url + "}}" }

func call() worker.Call {
	return worker.Call{
		OrderID: "o-1", Run: 2, Step: "pay", Attempt: 3, Operation: core.Do, Name: "charge",
		Grade: core.Idempotent,
		Key:   "o-1/2/pay", Input: json.RawMessage(`{"amount":1}`), Deadline: noon.Add(time.Minute),
		Trace: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
}

func run(s *Service, c worker.Call) (any, error) {
	ops := s.Operations()
	op, ok := ops[c.Name]
	if !ok {
		op = ops[worker.AnyOperation]
	}
	return op.Run(context.Background(), c)
}

func failureOf(t *testing.T, err error) *worker.Failure {
	t.Helper()
	f := (*worker.Failure)(nil)
	require.ErrorAs(t, err, &f)
	return f
}

// fails checks an error to be that failure, and to say so.
func fails(t *testing.T, err error, want worker.Failure, parts ...string) {
	t.Helper()
	f := failureOf(t, err)
	require.Equal(t, []any{want.Code, want.Permanent, want.NoEffect, want.Happened},
		[]any{f.Code, f.Permanent, f.NoEffect, f.Happened}, "%v", f)
	for _, part := range parts {
		require.ErrorContains(t, f, part)
	}
}

func TestTheRequestCarriesWhatTheServiceNeeds(t *testing.T) {
	got := make(chan *http.Request, 1)
	var body []byte
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ = io.ReadAll(r.Body)
		got <- r
		_, _ = w.Write([]byte(` {"id":"c-1"}` + "\n"))
	}))
	defer srv.Close()
	s := serviceOf(t, fmt.Sprintf(`{"agents":{"payment":{"url":"%s/base/","headers":{"authorization":"Bearer ${env:TOKEN}"},
		"operations":{"charge":{"method":"PUT","path":"/charges/{key}?task={task}&k={key}"}}}}}`, srv.URL), Options{}, "TOKEN", "s3cret")
	out, err := run(s, call())
	require.NoError(t, err)
	require.Equal(t, `{"id":"c-1"}`, string(out.(json.RawMessage)))
	r := <-got
	require.Equal(t, "PUT", r.Method)
	require.Equal(t, "/base/charges/o-1%2F2%2Fpay?task=o-1&k=o-1%2F2%2Fpay", r.RequestURI)
	require.Equal(t, `{"amount":1}`, string(body))
	for name, want := range map[string]string{
		"Idempotency-Key": "o-1/2/pay", "Traceparent": call().Trace, "X-Stepkeeper-Operation": "do",
		"X-Stepkeeper-Task": "o-1",
		"X-Stepkeeper-Run":  "2", "X-Stepkeeper-Step": "pay", "X-Stepkeeper-Attempt": "3",
		"Content-Type":  "application/json",
		"Authorization": "Bearer s3cret", "X-Stepkeeper-Deadline": "2026-11-21T12:01:00Z",
	} {
		require.Equal(t, want, r.Header.Get(name), "%v", name)
	}
}

// Each status of the table, one by one. A status beyond the classes is an answer without a meaning.
func TestEachStatusHasItsClass(t *testing.T) {
	permanent := map[int]bool{
		401: false, 407: false, 408: false, 423: false, 425: false, 429: false, 501: true,
		505: true,
	}
	proof := map[int]bool{408: false, 501: true, 505: true}
	for status := 300; status <= 700; status++ {
		if _, listed := permanent[status]; !listed {
			permanent[status] = status < 500 || status >= 600
		}
		if _, listed := proof[status]; !listed {
			proof[status] = status >= 400 && status < 500
		}
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		status := 0
		_, _ = fmt.Sscanf(r.URL.Path, "/s%d", &status)
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "7")
		w.WriteHeader(status)
	}))
	defer srv.Close()
	s := serviceOf(t, simple(srv.URL), Options{})
	for status := 300; status <= 700; status++ {
		c := call()
		c.Name = fmt.Sprintf("s%d", status)
		_, err := run(s, c)
		code := fmt.Sprintf("http-%d", status)
		if status == 401 {
			code = core.CodeUnauthorized // no failure of the step (P45)
		}
		fails(t, err, worker.Failure{Code: code, Permanent: permanent[status], NoEffect: proof[status]})
		require.Equal(t, !permanent[status], failureOf(t, err).RetryAfter == 7*time.Second, "%v", status)
	}
}

func nested(levels int) string { return strings.Repeat("[", levels) + strings.Repeat("]", levels) }

// What a body means: the output, or the failure with its text. One that begins with POST is the whole text.
func TestBodies(t *testing.T) {
	tests := map[string]struct {
		status int
		body   string
		extra  string // of the agent's configuration
		want   string // output; "" for none
		code   string // of the failure; "" for none
		text   string // that the failure's text holds
	}{
		"an object":  {200, `{"a":1}`, "", `{"a":1}`, "", ""},
		"created":    {201, `[1]`, "", `[1]`, "", ""},
		"accepted":   {202, `1`, "", `1`, "", ""},
		"nothing":    {200, "  \n", "", "", "", ""},
		"no content": {204, "", "", "", "", ""},
		"no JSON": {
			200, "OK", "", "", "response-not-json",
			"POST /charge was done, but its answer cannot be read: it is not JSON at byte 0: invalid " +
				"character 'O' at start of value; let the service answer JSON, or say output: ignore",
		},
		"no UTF-8":          {200, "[\"a\xffb\"]", "", "", "output", "output.0: byte 3 is not UTF-8"},
		"no UTF-8, no JSON": {200, "[\xff]", "", "", "response-not-json", "byte 1"},
		"a key twice":       {200, `{"a":1,"a":2}`, "", "", "output", "output.a: the key stands twice"},
		"half of a pair": {
			200, `{"n":"\ud83d"}`, "", "", "output",
			"was done, but its answer cannot be kept: output.n: half of a surrogate pair at byte 6",
		},
		"half of a pair in a key": {200, `{"n":[{"\ude00":1}]}`, "", "", "output", "output.n.0: half of"},
		"half of a pair, ignored": {200, `"\ud83d"`, "operations: {charge: {output: ignore}}", "", "", ""},
		"no JSON, ignored":        {200, "OK", "operations: {charge: {output: ignore}}", "", "", ""},
		"just small enough": {
			200, `"` + strings.Repeat("a", 98) + `"`, "maxResponse: 100",
			`"` + strings.Repeat("a", 98) + `"`, "", "",
		},
		"too large": {
			200, `"` + strings.Repeat("a", 99) + `"`, "maxResponse: 100", "",
			"response-too-large", "maxResponse",
		},
		"too large, and it begins with space": {
			200, strings.Repeat(" ", 101) + `{}`, "maxResponse: 100", "",
			"response-too-large", "maxResponse",
		},
		"the service's words": {
			422, `{"error":{"code":"no-funds","message":"card declined"}}`, "", "",
			"no-funds", "refused: no-funds: card declined",
		},
		"the code of problem+json":   {409, `{"title":"Taken","code":"seatTaken"}`, "", "", "seatTaken", "Taken: seatTaken"},
		"a code that is a number":    {422, `{"error":{"code":422,"message":"no"}}`, "", "", "http-422", "refused: no"},
		"a code in other characters": {422, `{"code":"NO_FUNDS"}`, "", "", "http-422", "NO_FUNDS"},
		"a code of 41 characters":    {422, `{"code":"` + strings.Repeat("a", 41) + `"}`, "", "", "http-422", "refused"},
		"a code of 40 characters": {
			422, `{"code":"` + strings.Repeat("a", 40) + `"}`, "", "", strings.Repeat("a", 40), "refused",
		},
		"a code of Stepkeeper":        {422, `{"code":"not-yet"}`, "", "", "http-422", "not-yet"},
		"the code of another status":  {422, `{"code":"http-404"}`, "", "", "http-422", "http-404"},
		"a code of what may be tried": {503, `{"code":"maintenance"}`, "", "", "http-503", "maintenance"},
		"a code of a status that the file calls permanent": {
			503, `{"code":"maintenance"}`, `classify: {"503": permanent}`, "", "maintenance", "maintenance",
		},
		"a code beside credentials": {401, `{"code":"token-expired"}`, "", "", "unauthorized", "token-expired"},
		"problem+json": {
			400, `{"title":"Bad","detail":"no amount"}`, "", "", "http-400",
			"Bad: no amount",
		},
		"another form":          {409, `{"error":"taken"}`, "", "", "http-409", "taken"},
		"message":               {404, `{"message":"no such order"}`, "", "", "http-404", "no such order"},
		"no words from no JSON": {500, "<h1>stack</h1>", "", "", "http-500", "POST /charge answered 500, the service failed"},
		"no words":              {500, `{"a":1}`, "", "", "http-500", "POST /charge answered 500, the service failed"},
		"control codes": {
			422, `{"message":"a\nb\u0007c\u202ed"}`, "", "", "http-422", "POST /charge answered 422, refused: a b c d",
		},
		"all forms": {
			422, `{"title":"t","detail":"d","message":"m","error":"e"}`, "", "", "http-422",
			"POST /charge answered 422, refused: t: d: m: e",
		},
		"words of an object": {
			422, `{"title":"t","error":{"code":"c","message":"n"}}`, "", "", "c",
			"POST /charge answered 422, refused: t: c: n",
		},
		"200 letters": {
			422, `{"message":"` + strings.Repeat("é", 200) + `"}`, "", "", "http-422",
			"POST /charge answered 422, refused: " + strings.Repeat("é", 200),
		},
		"201 letters": {
			422, `{"message":"` + strings.Repeat("é", 201) + `"}`, "", "", "http-422",
			"POST /charge answered 422, refused: " + strings.Repeat("é", 200) + "…",
		},
		"a number within bounds": {200, `{"n":1e999}`, "", `{"n":1e999}`, "", ""},
		"a number out of bounds": {200, `{"n":1e1000}`, "", "", "response-number", "send it as a text"},
		"a number of 129 digits": {
			200, `{"n":` + strings.Repeat("7", 129) + `}`, "", "", "response-number", "send it as a text",
		},
		"64 levels":         {200, nested(64), "", nested(64), "", ""},
		"65 levels":         {200, nested(65), "", "", "response-too-deep", "deeper than 64 levels"},
		"very many levels":  {200, nested(9_998), "", "", "response-too-deep", "deeper than 64 levels"},
		"too deep, ignored": {200, nested(65), "operations: {charge: {output: ignore}}", "", "", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			out, err := run(serviceOf(t, "agents:\n  payment:\n    url: "+srv.URL+"\n    "+tt.extra,
				Options{}), call())
			if tt.code == "" {
				got, _ := out.(json.RawMessage)
				require.NoError(t, err)
				require.Equal(t, tt.want, string(got))
				return
			}
			f := failureOf(t, err)
			require.Equal(t, tt.code, f.Code)
			require.ErrorContains(t, f, tt.text)
			if strings.HasPrefix(tt.text, "POST ") {
				require.EqualError(t, f, tt.text)
			}
			require.LessOrEqual(t, len(f.Error()), core.MaxMessage)
			require.Equal(t, tt.status < 300, f.Happened)
			require.False(t, f.Happened && f.NoEffect)
		})
	}
}

func TestAnEncodingNobodyAskedFor(t *testing.T) {
	for coding, want := range map[string]string{
		"gzip": `its Content-Encoding is "gzip", which an agent neither asks for nor reads; let the service answer ` +
			`JSON`,
		"identity": "it is not JSON at byte 0",
	} {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if asked := r.Header.Values("Accept-Encoding"); len(asked) > 0 {
				t.Errorf("asked for %q", asked)
			}
			w.Header().Set("Content-Encoding", coding)
			_, _ = io.WriteString(w, "\x1f\x8b\x08")
		}))
		_, err := run(serviceOf(t, simple(srv.URL), Options{}), call())
		srv.Close()
		f := failureOf(t, err)
		require.Equal(t, "response-not-json", f.Code)
		require.True(t, f.Happened)
		require.ErrorContains(t, f, want)
	}
}

func TestRetryAfter(t *testing.T) {
	for value, want := range map[string]time.Duration{
		"3": 3 * time.Second, "0": 0, "-1": 0, "": 0, "soon": 0, "999999999": time.Hour,
		"99999999999999999999": time.Hour, "-99999999999999999999": 0,
		noon.Add(90 * time.Second).Format(http.TimeFormat): 90 * time.Second,
		noon.Add(-time.Minute).Format(http.TimeFormat):     0,
		noon.Add(48 * time.Hour).Format(http.TimeFormat):   time.Hour,
	} {
		require.Equal(t, want, retryAfter(value, noon), "%v", value)
	}
}

// Each way in which a network fails.
func TestNetworkFailures(t *testing.T) {
	abort := func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
	hang := func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	}
	quiet := log.New(io.Discard, "", 0)
	server := func(h http.HandlerFunc) func(*testing.T) string {
		return func(t *testing.T) string {
			srv := httptest.NewUnstartedServer(h)
			srv.Config.ErrorLog = quiet
			srv.Start()
			t.Cleanup(srv.Close)
			return srv.URL
		}
	}
	tests := map[string]struct {
		url       func(*testing.T) string
		extra     string
		resolver  Resolver
		permanent bool
		noEffect  bool
		code      string
	}{
		"closed port": {url: closedPort, noEffect: true, code: "unreachable"},
		"no such name": {
			url: func(*testing.T) string { return "https://no.example" }, noEffect: true,
			code:     "dns",
			resolver: resolves(),
		},
		"a refused address": {
			url: func(*testing.T) string {
				return "https://rebound.example"
			}, permanent: true, noEffect: true, code: "address-refused",
			resolver: resolves("169.254.169.254"),
		},
		"a name that leads to this machine": {
			url: func(*testing.T) string {
				return "https://rebound.example"
			},
			permanent: true, noEffect: true, code: "address-refused",
			resolver: resolves("127.0.0.1"),
		},
		"reset after sending": {url: server(abort), code: "network"},
		"no answer in time":   {url: server(hang), extra: "timeout: 50ms", code: "timeout"},
		"an unknown authority": {
			permanent: true, noEffect: true, code: "tls",
			url: func(t *testing.T) string {
				srv := httptest.NewUnstartedServer(http.NotFoundHandler())
				srv.Config.ErrorLog = quiet
				srv.StartTLS()
				t.Cleanup(srv.Close)
				return srv.URL
			},
		},
		"no TLS there": {permanent: true, noEffect: true, code: "tls", url: func(t *testing.T) string {
			return strings.Replace(server(abort)(t), "http:", "https:", 1)
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s := serviceOf(t, "agents:\n  payment:\n    url: "+tt.url(t)+"\n    "+tt.extra,
				Options{Resolver: tt.resolver})
			_, err := run(s, call())
			says := map[string]string{
				"unreachable": "was not sent, the service could not be reached",
				"dns":         "was not sent, the name was not resolved", "address-refused": "was not sent",
				"network": "broke off, and may have had its effect",
				"timeout": "was not answered in time, and may have had its effect",
				"tls":     "was not sent, the other side cannot be trusted",
			}[tt.code]
			fails(t, err, worker.Failure{Code: tt.code, Permanent: tt.permanent, NoEffect: tt.noEffect}, says)
		})
	}
}

type resolver func(ctx context.Context, network, host string) ([]netip.Addr, error)

func (r resolver) LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error) {
	return r(ctx, network, host)
}

// resolves returns a resolver that finds the addresses for every name, or no name.
func resolves(addresses ...string) resolver {
	return func(_ context.Context, _, host string) (ips []netip.Addr, err error) {
		for _, a := range addresses {
			ips = append(ips, netip.MustParseAddr(a))
		}
		if ips == nil {
			err = &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
		}
		return ips, err
	}
}

func closedPort(t *testing.T) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return "http://" + l.Addr().String()
}

// The address that was checked is the one that is dialled: a name that answers otherwise the
// second time gains nothing, because there is no second time.
func TestTheCheckedAddressIsDialled(t *testing.T) {
	var dialled []string
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		dialled = append(dialled, address)
		return nil, errors.New("closed")
	}
	guarded := guardedDial(Allow{}, resolves("93.184.216.34", "2606:2800::1"), dial)
	_, err := guarded(context.Background(), "tcp", "shop.example:443")
	require.Error(t, err, "the failure was swallowed")
	require.Equal(t, "93.184.216.34:443 [2606:2800::1]:443", strings.Join(dialled, " "))
	dialled = nil
	mixed := resolves("93.184.216.34", "10.0.0.1")
	_, err = guardedDial(Allow{}, mixed, dial)(context.Background(), "tcp", "shop.example:443")
	require.ErrorIs(t, err, ErrAddress)
	require.Empty(t, dialled)
}

func TestAddresses(t *testing.T) {
	all := Allow{Loopback: true, PrivateAddresses: true}
	tests := map[string]struct{ none, all bool }{
		"93.184.216.34": {true, true}, "2606:2800::1": {true, true},
		"127.0.0.1": {false, true}, "::1": {false, true}, "::ffff:127.0.0.1": {false, true},
		"10.1.2.3": {false, true}, "192.168.0.1": {false, true}, "172.16.9.9": {false, true},
		"fd12::1": {false, true}, "100.100.100.200": {false, true},
		"169.254.169.254": {}, "169.254.0.1": {}, "::ffff:169.254.169.254": {}, "64:ff9b::a9fe:a9fe": {},
		"fe80::1": {}, "fe80::1%eth0": {}, "fd00:ec2::254": {}, "fd00:ec2::254%eth0": {},
		"2002:7f00:1::%eth0": {false, true},
		"224.0.0.1":          {}, "ff02::1": {}, "0.0.0.0": {}, "::": {}, "0.1.2.3": {},
		"255.255.255.255": {}, "240.0.0.1": {},
		"64:ff9b::7f00:1": {false, true}, "64:ff9b::5db8:d822": {true, true},
		// IPv4 addresses in other clothes: mapped, 6to4, NAT64, IPv4-compatible.
		"::ffff:10.0.0.1": {false, true}, "::ffff:100.64.0.1": {false, true},
		"::ffff:93.184.216.34": {true, true}, "::ffff:0.0.0.0": {}, "::ffff:224.0.0.1": {},
		"2002:7f00:1::": {false, true}, "2002:a00:1::1": {false, true}, "2002:a9fe:a9fe::": {},
		"2002:6440:1::": {false, true}, "2002:5db8:d822::1": {true, true},
		"64:ff9b::6440:1": {false, true}, "64:ff9b::a00:1": {false, true}, "::10.0.0.1": {false, true},
		"::169.254.169.254": {}, "::5db8:d822": {true, true},
		"64:ff9b:1::a9fe:a9fe": {}, "2001:0:5db8:d822::1": {},
		// Edges of networks.
		"100.64.0.0": {false, true}, "100.127.255.255": {false, true}, "100.63.255.255": {true, true},
		"100.128.0.0": {true, true}, "192.0.0.192": {false, true},
		"198.18.0.1": {false, true}, "198.20.0.1": {true, true}, "fec0::1": {false, true}, "fd00:ec2::23": {},
		"fd20:ce::254": {}, "239.255.255.255": {}, "1.0.0.0": {true, true},
	}
	for text, want := range tests {
		ip := netip.MustParseAddr(text)
		require.Equal(t, want.none, (Allow{}).check(ip) == nil, text)
		require.Equal(t, want.all, all.check(ip) == nil, text)
	}
	require.Error(t, (Allow{}).check(netip.Addr{}), "an address that is none is allowed")
}

// What a check says besides its status does not matter; where it cannot be asked, nothing is known.
func TestChecks(t *testing.T) {
	for name, tt := range map[string]struct {
		status   int
		body     string
		happened bool
		out      string
		code     string
	}{
		"done":       {200, `{"id":1}`, true, `{"id":1}`, ""},
		"no content": {204, "", true, "", ""},
		"no JSON":    {200, "OK", true, "", ""},
		"too long":   {200, `"` + strings.Repeat("a", 200) + `"`, true, "", ""},
		"too deep":   {200, nested(65), true, "", ""},
		"not found":  {404, "", false, "", ""},
		"gone":       {410, "", false, "", ""},
		"refused":    {403, `{"message":"who are you"}`, false, "", "http-403"},
		"who":        {401, "", false, "", core.CodeUnauthorized},
		"too many":   {429, "", false, "", "http-429"},
		"broken":     {500, "", false, "", "http-500"},
		"moved":      {301, "", false, "", "http-301"},
	} {
		t.Run(name, func(t *testing.T) {
			asked := ""
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				asked = r.Method + " " + r.RequestURI + " " + string(body)
				w.WriteHeader(tt.status)
				_, _ = io.WriteString(w, tt.body)
			}))
			defer srv.Close()
			s := serviceOf(t, "agents: {payment: {url: '"+srv.URL+"', maxResponse: 100, operations: "+
				"{'*': {check: {path: '/{operation}?key={key}'}}, posted: {check: {method: POST, path: /x}}}}}", Options{})
			for operation, want := range map[string]string{
				worker.AnyOperation: "GET /charge?key=o-1%2F2%2Fpay ", "posted": "POST /x {}",
			} {
				happened, out, err := s.Operations()[operation].Check(t.Context(), call())
				got, _ := out.(json.RawMessage)
				require.Equal(t, want, asked)
				require.Equal(t, tt.happened, happened)
				require.Equal(t, tt.out, string(got))
				if tt.code == "" {
					require.NoError(t, err)
					continue
				}
				require.Equal(t, tt.code, failureOf(t, err).Code)
			}
		})
	}
}

// net/http repeats requests with an Idempotency-Key by itself when a kept connection breaks. Each
// try must be one request, or the ledger of plain services would count wrongly.
func TestOneTryIsOneRequest(t *testing.T) {
	for name, tt := range map[string]struct {
		method, input string
		grade         core.Grade
	}{
		"with a body":                  {"POST", `{"a":1}`, core.Idempotent},
		"with a body, plain":           {"POST", `{"a":1}`, core.Plain},
		"without input":                {"POST", "", core.Idempotent},
		"without input, plain":         {"POST", "", core.Plain},
		"without a body":               {"GET", "", core.Idempotent},
		"without a body, to delete it": {"DELETE", "", core.Idempotent},
	} {
		var calls atomic.Int32
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body)
			if calls.Add(1) > 1 {
				panic(http.ErrAbortHandler)
			}
		}))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.Start()
		s := serviceOf(t, fmt.Sprintf(withMethod, srv.URL, tt.method), Options{})
		c := call()
		c.Grade = tt.grade
		c.Input = json.RawMessage(tt.input)
		_, err := run(s, c)
		require.NoError(t, err, name)
		_, err = run(s, c)
		require.False(t, failureOf(t, err).NoEffect, name)
		require.Equal(t, int32(2), calls.Load(), name)
		srv.Close()
	}
}

// A connection that was kept can break under a call, which is in doubt then: what must not be called twice
// (P31), and what could prove its refusal (P22a), takes a new one.
func TestWhichCallsTakeANewConnection(t *testing.T) {
	for name, tt := range map[string]struct {
		grade  core.Grade
		pivot  bool
		opened int32
	}{
		"plain":                            {core.Plain, false, 3},
		"fenced":                           {core.Fenced, false, 1},
		"idempotent":                       {core.Idempotent, false, 1},
		"idempotent, a point of no return": {core.Idempotent, true, 3},
	} {
		t.Run(name, func(t *testing.T) {
			var opened atomic.Int32
			srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
			srv.Config.ConnState = func(_ net.Conn, s http.ConnState) {
				if s == http.StateNew {
					opened.Add(1)
				}
			}
			srv.Start()
			defer srv.Close()
			s := serviceOf(t, simple(srv.URL), Options{})
			c := call()
			c.Grade = tt.grade
			c.PointOfNoReturn = tt.pivot
			for range 3 {
				_, err := run(s, c)
				require.NoError(t, err)
			}
			require.Equal(t, tt.opened, opened.Load())
		})
	}
}

// Secrets show up neither in logs of the configuration, nor in errors, nor where a service echoes them.
func TestSecretsNeverShow(t *testing.T) {
	const secret = "hunter2-hunter2"
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
		}
		_, _ = fmt.Fprintf(w, `{"message":"bad credentials %s"}`, r.Header.Get("Authorization"))
	}))
	file := `agents: {payment: {url: "` + srv.URL + `/${env:TOKEN}", ` +
		`headers: {Authorization: "Bearer ${env:TOKEN}"}, operations: {"*": {check: {path: /}}}}}`
	s := serviceOf(t, file, Options{}, "TOKEN", secret)
	var logged bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&logged, &slog.HandlerOptions{Level: slog.LevelDebug}))
	_, refused := run(s, call())
	_, found, err := s.Operations()[worker.AnyOperation].Check(t.Context(), call())
	require.NoError(t, err)
	require.Equal(t, `{"message":"bad credentials Bearer [hidden]"}`, fmt.Sprintf("%s", found))
	srv.Close()
	_, unreachable := run(s, call())
	logger.Info("shown", "agent", s.agent, "url", s.agent.URL, "header", s.agent.Headers, "refused", refused,
		"unreachable", unreachable)
	shown := logged.String() + fmt.Sprintf("%v %+v %#v %s", s.agent.Headers, s.agent.URL, s.agent.URL,
		s.agent.URL)
	b, err := json.Marshal(s.agent)
	require.NoError(t, err)
	require.NotContains(t, string(b), secret)
	require.NotContains(t, shown, secret)
	require.Contains(t, shown, "bad credentials")
}
