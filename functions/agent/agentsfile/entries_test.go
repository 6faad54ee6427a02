package agentsfile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
)

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

// The edges of what an agent of the file may say.
func TestEdgesOfAnAgent(t *testing.T) {
	long := strings.Repeat("a", 40)
	for file, want := range map[string]string{ // "" where it is accepted
		"payment: {url: 'https://a.example', concurrency: 1, batch: 1, maxResponse: 1}":          "",
		"payment: {url: 'https://a.example', concurrency: 10000, batch: 10, maxResponse: 16MiB}": "",
		"payment: {url: 'https://a.example', " +
			"concurrency: 10001}": "concurrency is 10001",
		"payment: {url: 'https://a.example', batch: -1}": "batch is -1",
		"payment: {url: 'https://a.example', " +
			"maxResponse: 16777217}": "maxResponse is 16777217",
		"payment: {url: 'https://a.example', maxResponse: -1}":   "no size",
		"payment: {url: 'https://a.example', maxResponse: 1GiB}": "no size",
		"payment: {url: 'https://a.example', maxResponse: KiB}":  "no size",
		"payment: {url: " +
			"'https://a.example', timeout: -1s}": "timeout is -1s",
		long + ": {url: 'https://a.example'}": "",
		long +
			"a: {url: 'https://a.example'}": "the name must be",
		"1a: {url: 'https://a.example'}":                                             "the name must be",
		"payment: {url: 'https://a.example', operations: {" + long + long + ": {}}}": "",
		"payment: {url: 'https://a.example', operations: {" + long + long +
			"a: {}}}": "the name must be letters",
		"payment: {url: 'https://a.example', operations: {a: {output: ignore}, b: {output: json}}}": "",
		"payment: {external: true}":                                             "",
		"payment: {external: true, concurrency: 5}":                             "no other field has a meaning",
		"payment: {external: true, orders: true}":                               "no other field has a meaning",
		"payment: {url: 'https://a.example:65536'}":                             "has the port 65536; 1 to 65535",
		"payment: {url: 'https://a.example', headers: {x-a: b, X-A: c}}":        "header x-a stands twice",
		"payment: {url: 'https://a.example', operations: {a: {path: '/{key'}}}": "{key is not known",
		"payment: {url: 'https://a.example', operations: {a: {path: '/key}'}}}": "} is not known",
		"payment: {url: 'https://a.example', operations: {a: {path: '/5%zz'}}}": "a % that is no escape",
		"payment: {external: true, operations: {a: {}}}":                        "external means",
		"payment: {external: true, headers: {A: b}}":                            "external means",
		"payment: {external: true, auth: {sigv4: {service: lambda}}}":           "external means",
		"payment: {external: true, proxy: 'http://p.example'}":                  "external means",
		`payment: {url: 'https://a.example', headers: {X-A: "a\tb~"}}`:          "",
		`payment: {url: 'https://a.example', headers: {X-A: "a\x7f"}}`:          "characters that a header cannot have",
		`payment: {url: 'https://a.example', headers: {X-A: "a\x1f"}}`:          "characters that a header cannot have",
		`payment: {url: 'https://a.example', headers: {"X A": b}}`:              "characters that a header cannot have",
		"payment: {url: 'https://a.example', headers: " +
			"{x-stepkeeper-task: b}}": "is set by the agent itself",
		"payment: {url: 'https://a.example', " +
			"headers: {traceparent: b}}": "is set by the agent itself",
		"payment: {url: 'https://a.example', " +
			"headers: {host: b}}": "is set by the agent itself",
		"payment: {url: 'https://a.example', headers: " +
			"{content-length: '1'}}": "is set by the agent itself",
		"payment: {url: 'https://a.example', headers: {cookie: b}}":              "is a secret",
		"payment: {url: 'https://a.example', headers: {proxy-authorization: b}}": "is a secret",
		"payment: {url: 'https://a.example', headers: {authorization: " +
			"'Bearer ${env:NO}'}}": "variable NO is not set",
		"payment: {url: 'https://a.example', headers: {authorization: " +
			"'Bearer ${env:EMPTY}'}}": "variable EMPTY is not set",
		"payment: {url: 'https://a.example', headers: " +
			"{authorization: '${TOKEN}'}}": "write ${env:NAME}",
		"payment: {url: '${env:NO}'}":              "url: the environment variable NO is not set",
		"payment: {url: 'https://a.example/?b=c'}": "a query or a fragment",
		"payment: {url: 'https://a.example/#c'}":   "a query or a fragment",
		"payment: {url: 'https://a.example/b?'}":   "a query or a fragment",
		"payment: {url: 'https://a.example/b#'}":   "a query or a fragment",
		"payment: {url: 'a.example'}":              "url is not an address",
		"payment: {url: 'https:///a'}":             "url is not an address",

		"payment: {url: 'https://A.example', allow: {hosts: [b.example, a.EXAMPLE]}}": "",
		"payment: {url: 'http://a.example', insecure: true}":                          "",
		"payment: {url: 'https://10.0.0.1', allow: {privateAddresses: true}}":         "",
	} {
		_, err := agentsfile.Parse([]byte("agents: {"+file+"}"), env("TOKEN", "t0ken", "EMPTY", ""))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s:\n%v\nwant %q", file, err, want)
		}
	}
}

// A zero is not taken for the default: each whole number, size and duration refuses it.
func TestZeros(t *testing.T) {
	for _, field := range []string{
		"concurrency: 0", "batch: '0'", "timeout: 0s", "timeout: '0'", "timeout: 0", "maxResponse: 0",
		"maxResponse: 0KiB", "retry: {tries: 0}", "retry: {initial: 0ms}", "retry: {max: 0s}",
		"breaker: {failures: 0}", "breaker: {window: 0}", "breaker: {delay: 0s}", "breaker: {probes: 0}", "breaker: {probes: &none 0}",
	} {
		_, err := agentsfile.Parse([]byte("agents: {a: {url: 'https://a.example', "+field+"}}"), env())
		require.ErrorContains(t, err, "is not possible here; fix: write another value, or leave the field out", field)
	}
}

// A jitter of 0 means no jitter, also in the compiled form. Without a number, a jitter is the default.
func TestNoJitter(t *testing.T) {
	for text, want := range map[string]*float64{
		"0": new(0.0), "0.0": new(0.0), "'0'": new(0.0), "&none 0": new(0.0), "0.5": new(0.5), "null": nil, "": nil,
	} {
		read, err := agentsfile.Read([]byte("agents: {a: {url: 'https://a.example', retry: {jitter: " + text + "}}}"))
		require.NoError(t, err, text)
		compiled, err := settings.Encode(read)
		require.NoError(t, err)
		decoded, err := settings.Decode(compiled)
		require.NoError(t, err)
		require.Equal(t, want, decoded.Agents["a"].Retry.Jitter, text)
	}
	for _, text := range []string{"-1", "0.91"} {
		_, err := agentsfile.Parse([]byte("agents: {a: {url: 'https://a.example', retry: {jitter: "+text+"}}}"), env())
		require.ErrorContains(t, err, "0 to 0.9 are possible, and 0 means no jitter", text)
	}
	_, err := agentsfile.Read([]byte("agents: {a: {url: 'https://a.example', retry: {jitter: little}}}"))
	require.ErrorContains(t, err, `line 1, column 56: "little" is not what is expected here; fix: write a number`)
}

func TestDefaultsAndSizes(t *testing.T) {
	c, err := agentsfile.Parse([]byte(`agents: {
  a: {url: "https://a.example"},
  b: {url: "https://a.example", maxResponse: 4096},
  c: {url: "https://a.example", maxResponse: "2 KiB"},
  d: {url: "https://a.example", maxResponse: '3MiB'}}`), env())
	require.NoError(t, err)
	a := c.Agents["a"]
	require.Equal(t, 10, a.Concurrency)
	require.Equal(t, 5, a.Batch)
	require.Equal(t, httpagent.Size(384<<10), a.MaxResponse)
	require.Equal(t, time.Duration(0), a.Timeout)
	require.False(t, a.Allow.Loopback)
	require.Equal(t, settings.Operation{
		Operation: httpagent.Operation{Method: "POST", Path: "/{operation}"},
	}, a.Operations["*"])
	for name, want := range map[string]httpagent.Size{"b": 4096, "c": 2048, "d": 3 << 20} {
		require.Equal(t, want, c.Agents[name].MaxResponse, "%v", name)
	}
}

func TestProblemsOfTheFile(t *testing.T) {
	tests := map[string]struct {
		file string
		want []string // all of them, in one error
	}{
		"not YAML":         {"agents: [", nil},
		"an unknown field": {"agents: {payment: {url: 'https://a.example', uri: x}}", []string{"uri"}},
		"no agents":        {"", []string{"no agents"}},
		"everything at once": {`
agents:
  Payment: {url: "ftp://x"}
  b:
    url: "http://shop.example"
    concurrency: -1
    batch: 11
    maxResponse: 1MiB
    headers: {Authorization: "Bearer ${env:NONE}", Idempotency-Key: x, X-Api-Key: literal}
    retry: {tries: 99}
    breaker: {failures: 3, window: 2}
    allow: {hosts: [other.example]}
    operations:
      "a b": {}
      charge: {method: FETCH, path: charges, output: xml, check: {}}
      refund: {path: "/{secret}"}
  c: {url: "http://169.254.169.254"}
  d: {external: true, url: "https://x.example"}
  e: {breaker: {window: 2000000000000}}
  f: {url: "https://user:pw@x.example/?a=b"}
  g: {url: "https://10.0.0.1"}
`, []string{
			`agent "Payment": the name`, `agent "Payment": url is not an address`, `agent "b": concurrency is -1`,
			`agent "b": batch is 11`,
			`agent "b": header Authorization: the environment variable NONE is not set`,
			`agent "b": header Idempotency-Key is set by the agent itself`,
			`agent "b": header X-Api-Key is a secret`, `99 tries`, `3 failures of 2 calls`,
			`a window of 2000000000000 calls`,
			`host shop.example is not among allow.hosts`, `plain http to shop.example`,
			`operation "a b"`, `method "FETCH"`, `path "charges"`, `output is "xml"`, `its check has no path`,
			`{secret} is not known`,
			`agent "c": url: 169.254.169.254 is link-local`, `agent "d": external means`,
			`agent "e": url is missing`,
			`agent "f": url holds a name or password`, `agent "f": url has a query`,
			`agent "g": url: 10.0.0.1 is private`,
		}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := agentsfile.Parse([]byte(tt.file), env())
			require.Error(t, err, "it was accepted")
			for _, want := range tt.want {
				require.ErrorContains(t, err, want)
			}
			require.NotContains(t, err.Error(), "pw@", "the password is shown")
		})
	}
}

func TestTheFileOfThePackageComment(t *testing.T) {
	c, err := agentsfile.Parse([]byte(`
agents:
  payment:
    url: https://payment.example
    headers: {Authorization: "Bearer ${env:PAYMENT_TOKEN}"}
    concurrency: 16
    batch: 5
    timeout: 10s
    maxResponse: 64KiB
    insecure: false
    allow: {hosts: [payment.example], loopback: false, privateAddresses: false}
    retry: {tries: 3, initial: 200ms, max: 5s, jitter: 0.25}
    breaker: {failures: 5, window: 10, delay: 5s, probes: 1, off: false}
    classify: {402: permanent, 404: transient}
    operations:
      charge: {method: POST, path: /charges, check: {method: GET, path: "/charges/{key}"}}
      refund: {classify: {404: done, 409: done}}
      notify: {path: /mail, output: ignore}
      "*": {path: "/{operation}"}
  warehouse:
    external: true
`), env("PAYMENT_TOKEN", "t0ken"))
	require.NoError(t, err)
	p := c.Agents["payment"]
	require.Equal(t, 16, p.Concurrency)
	require.Equal(t, 10*time.Second, p.Timeout)
	require.EqualValues(t, 64<<10, p.MaxResponse)
	require.Equal(t, 200*time.Millisecond, p.Retry.Initial)
	require.Equal(t, 10, p.Breaker.Window)
	warehouse := c.Agents["warehouse"]
	_, err = httpagent.New("warehouse", warehouse.Agent, nil, httpagent.Options{})
	require.Error(t, err, "an external agent has an HTTP client")
}

// P45. What cannot be is named, with what can.
func TestProblemsOfClassify(t *testing.T) {
	_, err := agentsfile.Parse([]byte(`
agents:
  payment:
    url: https://payment.example
    classify: {302: not-yet, 404: don, 408: not-yet, 503: not-yet, 4xx: done, 999: done, 200: permanent, 100: done}
    operations:
      charge: {classify: {409: never}}
  other: {external: true, classify: {404: done}}
`), env())
	require.Error(t, err, "it was accepted")
	for _, want := range []string{
		`agent "payment": classify: status 404 has the unknown class "don"; write one of done, permanent, transient, not-yet`,
		`classify: status 302 does not prove that nothing was done, and cannot mean not-yet; let the service answer a 4xx`,
		`classify: status 408 does not prove`, `classify: status 503 does not prove`,
		`classify: "4xx" is no status; write one from 300 to 599, as 409: done`,
		`classify: "999" is no status`,
		`classify: status 200 says that the operation was done, and cannot mean "permanent"`,
		`classify: status 100 is no final answer`,
		`operation "charge": classify: status 409 has the unknown class "never"; write one of`,
		`agent "other": external means`,
	} {
		require.ErrorContains(t, err, want)
	}
}
