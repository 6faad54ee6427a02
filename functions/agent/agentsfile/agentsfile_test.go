package agentsfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
)

const file = `
agents:
  payment:
    url: https://payment.example/v1
    headers: {authorization: "Bearer ${env:TOKEN}", X-Team: shop}
    concurrency: 16
    batch: 4
    timeout: 10s
    maxResponse: 128KiB
    allow: {hosts: [payment.example], privateAddresses: true}
    retry: {tries: 2, initial: 100ms, max: 1s, jitter: 0.5}
    breaker: {failures: 3, window: 9, delay: 2s, probes: 2}
    classify: {402: permanent}
    operations:
      charge: {path: /charges, check: {path: "/charges/{key}"}}
      "*": {method: PUT, output: ignore, classify: {409: done}}
  shop:
    url: https://shop.example
    proxy: "http://shop:${env:TOKEN}@proxy.example"
    auth:
      oauth2: {tokenURL: https://login.example, clientID: shop, clientSecret: "${env:TOKEN}", scopes: [a]}
  warehouse: {external: true}
`

func environment(name string) (string, bool) {
	return map[string]string{"TOKEN": "s3cr3t-value"}[name], name == "TOKEN"
}

// What is deployed compiled is what the file says, and holds no secret.
func TestCompiledFormIsTheFile(t *testing.T) {
	raw, err := agentsfile.Read([]byte(file))
	require.NoError(t, err)
	names, err := settings.References(raw)
	require.NoError(t, err)
	require.Equal(t, []string{"TOKEN"}, names)
	data, err := settings.Encode(raw)
	require.NoError(t, err)
	require.NotContains(t, string(data), "s3cr3t")
	require.Contains(t, string(data), "${env:TOKEN}")
	want, err := agentsfile.Parse([]byte(file), environment)
	require.NoError(t, err)
	got, err := decoded(data)
	require.NoError(t, err)
	for name := range want.Agents { // functions are not comparable; what they hide is
		g, w := exported(got.Agents[name]), exported(want.Agents[name])
		require.Equal(t, w, g, name)
	}
	_, err = settings.Encode(got)
	require.Error(t, err, "a config with secrets filled in was stored")
}

func decoded(data []byte) (settings.File, error) {
	f, err := settings.Decode(data)
	if err != nil {
		return f, err
	}
	return settings.Complete(f, settings.Variables{Lookup: environment})
}

func exported(a settings.Agent) []any {
	v := reflect.ValueOf(a)
	var fields []any
	for _, field := range reflect.VisibleFields(v.Type()) {
		if field.IsExported() && !field.Anonymous {
			fields = append(fields, v.FieldByIndex(field.Index).Interface())
		}
	}
	return fields
}

func TestDecodeRefuses(t *testing.T) {
	for _, c := range []struct{ data, want string }{
		{`{`, "deploy again"},
		{`{"agents":{"a":{"url":"https://a.example","colour":"red"}}}`, "colour"},
		{`{"agents":{}}`, "no agents"},
		{`{"agents":{"a":{"url":"ftp://a"}}}`, "begins with https"},
		{`{"agents":{"a":{"url":"https://a.example","headers":{"A":"${env:NONE}"}}}}`, "NONE is not set"},
	} {
		_, err := decoded([]byte(c.data))
		require.ErrorContains(t, err, c.want, c.data)
	}
}

func TestLoadNamesTheFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "agents.yaml")
	_, err := agentsfile.Load(name)
	require.ErrorContains(t, err, name)
	require.NoError(t, os.WriteFile(name, []byte("agents: {a: {url: nonsense}}"), 0o600))
	_, err = agentsfile.Load(name)
	require.ErrorContains(t, err, name)
}

// A file of agents is one document of YAML 1.2, with or without a byte order mark.
func TestOneUnambiguousDocument(t *testing.T) {
	const agents = "agents: {payment: {url: https://payment.example}}\n"
	c, err := agentsfile.Read([]byte("\ufeff" + agents))
	require.NoError(t, err)
	require.Len(t, c.Agents, 1)
	for text, want := range map[string]string{
		agents + "---\n" + agents: "the file holds a second document",
		"agents: {payment: {url: https://payment.example, " +
			"headers: {zip: 02134}}}": "02134 is a number with zeros before it",
		"agents: {payment: {url: " +
			"https://payment.example, external: yes}}": "yes is true or false to some readers",
		"agents: {payment: {url: https://payment.example, " +
			"concurrency: 1e9999999}}": "an exponent beyond ±999",
		"agents: {payment: {url: https://payment.example, " +
			`headers: {x: "\ude00"}}}`: "line 1, column 63: the text has the escape",
		"agents: {payment: {url: https://payment.example, " +
			`headers: {x: "\ud83d"}}}`: "line 1, column 64: ",
		"agents: " + strings.Repeat("[", 20_000): "line 1, column 109: lists and mappings are nested deeper than 100 levels",
		expanding("*%s"):                         "line 6, column 15: the file stands for more than 50000 values; fix: use fewer",
		expanding("{<<: *%s}"):                   "line 6, column 15: the file stands for more than 50000 values; fix: use fewer",
	} {
		_, err := agentsfile.Read([]byte(text))
		require.ErrorContains(t, err, want, "%v", text)
	}
}

// expanding returns a short file of agents whose aliases stand for 10^9 values.
func expanding(alias string) string {
	text := "x0: &x0 {a: 1}\n"
	for level := range 9 {
		one := fmt.Sprintf(alias, fmt.Sprint("x", level))
		text += fmt.Sprintf("x%d: &x%d [%s]\n", level+1, level+1, strings.Join(slices.Repeat([]string{one}, 10), ", "))
	}
	return text + "agents: *x9\n"
}

// A problem of a file says where it stands, in words of the file, and what to do.
func TestProblemsOfAFile(t *testing.T) {
	const begin = "agents:\n  payment:\n    url: https://payment.example\n"
	for text, want := range map[string]string{
		begin +
			"    timout: 3s\n": "line 4, column 5: unknown field timout; fix: did you mean timeout? known " +
			"here: allow, auth, aws, batch, breaker,",
		begin +
			"    retry: {trys: 3}\n": "unknown field trys; fix: did you mean tries? known here: initial, " +
			"jitter, max, tries",
		begin +
			"    operations: {a: {methd: PUT}}\n": "unknown field methd; fix: did you mean method? known " +
			"here: aws, check, classify, method, output, path",
		begin +
			"    operations: {a: {check: {pth: /x}}}\n": "unknown field pth; fix: did you mean path? known here: ",
		begin +
			"    colour: red\n": "unknown field colour; fix: known here: allow, auth, aws, batch,",
		"agent:\n  payment: {url: x}\n": "line 1, column 1: unknown field agent; fix: did " +
			"you mean agents? known here: agents",
		begin +
			"    concurrency: many\n": `line 4, column 18: "many" is not what is expected here; fix: write a whole number`,
		begin +
			"    concurrency: 1.5\n": `line 4, column 18: "1.5" is not what is expected here; fix: write a whole number`,
		begin +
			"    proxy: [a]\n": `line 4, column 12: "[" is not what is expected here; fix: write a text`,
		begin +
			"    maxResponse: [a]\n": `line 4, column 18: "[" is not what is expected here; fix: write a text`,
		begin +
			"    timeout: 1d\n": `line 4, column 14: "1d" is not what is expected here; fix: write a duration in ms, s, m`,
		begin + "    insecure: 3\n":                     "write true or false",
		begin + "    allow: {hosts: payment.example}\n": "write a list, like [a, b]",
		begin + "    retry: 3\n":                        "write fields below it, each as NAME: VALUE",
		"agents:\n\tpayment:\n    url: x\n": "line 2, column 1: the line is indented with a " +
			"tab, and YAML takes only spaces; fix: replace the tab by spaces",
		"agents: {payment: [\n": "line 1, column",
	} {
		_, err := agentsfile.Read([]byte(text))
		require.ErrorContains(t, err, want, "%v", text)
	}
}

// A file is checked without the secrets of where it runs.
func TestCheckWithoutSecrets(t *testing.T) {
	t.Setenv("SET", "s3cr3t-value")
	t.Setenv("UNSET", "")
	name := filepath.Join(t.TempDir(), "agents.yaml")
	for text, want := range map[string]string{
		`{payment: {url: "${env:UNSET}", headers: {authorization: "Bearer ${env:SET}", cookie: "${env:UNSET}"}}}`: "",
		`{payment: {url: "https://${env:UNSET}/x", allow: {hosts: [payment.example]}}}`:                           "",
		`{payment: {url: "${env:UNSET}", concurrency: -1}}`:                                                       "concurrency is -1",
		`{payment: {url: "ftp://x", headers: {a: "${env:UNSET}"}}}`:                                               "begins with https",
	} {
		require.NoError(t, os.WriteFile(name, []byte("agents: "+text), 0o600))
		c, unset, err := agentsfile.Check(name)
		switch {
		case !slices.Equal(unset, []string{"UNSET"}):
			t.Errorf("%s: %v are not set", text, unset)
		case want == "" && (err != nil || len(c.Agents) != 1), want != "" &&
			(err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name)):
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
}

// An agent without a name is shown by its place, because there is no name to call it by.
func TestAgentWithoutAName(t *testing.T) {
	for _, key := range []string{"null", "~", `""`} {
		_, err := agentsfile.Read([]byte("agents:\n  payment: {external: true}\n  " + key + ": {external: true}\n"))
		require.ErrorContains(t, err, "line 3, column 3: an entry has no name", key)
	}
	_, err := agentsfile.Read([]byte("agents:\n  \"null\": {external: true}\n"))
	require.NoError(t, err)
}
