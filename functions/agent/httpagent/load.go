package httpagent

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// Defaults of an agent.
const (
	DefaultConcurrency = 10
	DefaultBatch       = 5
	DefaultMaxResponse = rawjson.MaxGrowth * port.MaxMessage // every output fits, however it is escaped
	maxMaxResponse     = 16 << 20
)

// Complete checks a config that was read from a file, and fills in the defaults. It replaces references to
// variables by values from lookup. The error lists every problem.
func Complete(c Config, lookup func(name string) (string, bool)) (Config, error) {
	c.Agents = maps.Clone(c.Agents)
	var p problems
	if len(c.Agents) == 0 {
		p.add(`it has no agents; write "agents:" and below it a name with a url`)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Agents)) {
		a := c.Agents[name]
		p.of(fmt.Sprintf("agent %q", name), a.complete(name, lookup))
		c.Agents[name] = a
	}
	if err := errors.Join(p...); err != nil {
		return Config{}, err
	}
	return c, nil
}

type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) of(where string, all problems) {
	for _, err := range all {
		p.add("%s: %w", where, err)
	}
}

var (
	agentName     = regexp.MustCompile(`^[a-z][a-z0-9-]{0,39}$`)
	operationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)
)

func (a *Agent) complete(name string, lookup func(string) (string, bool)) (p problems) {
	if !agentName.MatchString(name) {
		p.add("the name must be small letters, digits and -, at most 40, a letter first")
	}
	calls := a.URL != "" || a.AWS != nil || a.Auth != nil || a.Proxy.Secret != "" || len(a.Operations) > 0 ||
		len(a.Headers) > 0 || len(a.Classify) > 0
	const meaningless = "; url, aws, auth, proxy, headers, operations and classify have no meaning then"
	switch {
	case a.External && a.Orders:
		p.add("external and orders exclude each other; leave one of them out")
	case a.External && calls:
		p.add("external means that another process serves %s"+meaningless, port.Requests(name))
	case a.Orders && calls:
		p.add("orders means that the agent submits orders" + meaningless)
	}
	if a.External {
		return p
	}
	p = append(p, a.fill(lookup)...)
	a.Concurrency = cmp.Or(a.Concurrency, DefaultConcurrency)
	a.Batch = cmp.Or(a.Batch, DefaultBatch)
	if a.Concurrency < 1 || a.Concurrency > 10_000 {
		p.add("concurrency is %d; 1 to 10000 are possible", a.Concurrency)
	}
	if a.Batch < 1 || a.Batch > port.MaxBatch {
		p.add("batch is %d; 1 to %d are possible", a.Batch, port.MaxBatch)
	}
	if a.Timeout < 0 {
		p.add("timeout is %s; it must be positive", a.Timeout)
	}
	if err := worker.Validate(a.Retry, a.Breaker); err != nil {
		p = append(p, err)
	}
	switch {
	case a.Orders:
		return p
	case a.OnAWS():
		return append(p, a.completeAWS()...)
	}
	a.MaxResponse = cmp.Or(a.MaxResponse, DefaultMaxResponse)
	if a.MaxResponse < 1 || a.MaxResponse > maxMaxResponse {
		p.add("maxResponse is %d bytes; 1 byte to 16MiB are possible", a.MaxResponse)
	}
	return slices.Concat(p, a.completeURL(), a.completeAuth(), a.Classify.problems(), a.completeOperations())
}

var ownHeaders = []string{
	"Idempotency-Key", "Traceparent", "Host", "Content-Length", "Transfer-Encoding",
	"Connection",
}

var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"}

func (a *Agent) fill(lookup func(string) (string, bool)) (p problems) {
	filled, values, err := a.URL.fill(lookup)
	if err != nil {
		p.add("url: %w", err)
	}
	a.URL = filled
	secrets := secretsOfURL(filled, values)
	headers := make(map[string]Secret, len(a.Headers))
	for _, key := range slices.Sorted(maps.Keys(a.Headers)) {
		canonical := http.CanonicalHeaderKey(key)
		value, values, err := a.Headers[key].fill(lookup)
		switch {
		case err != nil:
			p.add("header %s: %w", key, err)
		case !tokenPattern.MatchString(key) || !printable(string(value)):
			p.add("header %.60q: its name or its value has characters that a header cannot have; "+
				"remove them", key)
		case slices.Contains(ownHeaders, canonical) || strings.HasPrefix(canonical, "X-Stepkeeper-"):
			p.add("header %s is set by the agent itself; leave it out", key)
		case slices.Contains(secretHeaders, canonical) && len(values) == 0:
			p.add("header %s is a secret; take it from the environment with ${env:NAME}, not from the file",
				key)
		}
		headers[canonical] = value
		secrets = append(secrets, values...)
	}
	p = append(p, a.fillAWS(lookup)...)
	more, problems := a.fillAuth(lookup)
	p = append(p, problems...)
	secrets = append(secrets, more...)
	redactor := redact.Redactor{}.With(secrets...)
	a.Headers = headers
	a.redact = &redactor
	return p
}

var tokenPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7F }) < 0
}

// completeURL names only the host of the URL in error texts, because the rest may hold a secret.
func (a *Agent) completeURL() (p problems) {
	if a.URL == "" {
		p.add("url is missing; give the service's base address, aws: with a call, orders: true, or external: true")
		return p
	}
	u, p := a.address("url", a.URL)
	if u == nil {
		return p
	}
	if u.RawQuery != "" || u.Fragment != "" {
		p.add("url has a query or a fragment; put it into the paths of the operations")
	}
	if IsLoopback(u.Hostname()) {
		// The operator named this machine, so permit calls to it. A host name that only resolves to this
		// machine does not permit them.
		a.Allow.Loopback = true
	}
	return p
}

func (a *Agent) address(field string, text Secret) (u *url.URL, p problems) {
	u, err := url.Parse(string(text))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.add("%s is not an address; write one that begins with https:// or http://", field)
		return nil, p
	}
	host := u.Hostname()
	if u.User != nil {
		p.add("%s holds a name or password; use a header, as in Authorization: \"Basic ${env:…}\"", field)
	}
	if len(a.Allow.Hosts) > 0 &&
		!slices.ContainsFunc(a.Allow.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		p.add("the %s's host %s is not among allow.hosts; add it there, or correct the address", field, host)
	}
	if u.Scheme == "http" && !a.Insecure && !IsLoopback(host) {
		p.add("%s is plain http to %s; use https, or write insecure: true", field, host)
	}
	return u, append(p, a.Allow.literal(field, host)...)
}

func (a Allow) literal(field, host string) (p problems) {
	if ip, err := netip.ParseAddr(host); err == nil {
		if err := a.forHost(host).check(ip); err != nil {
			p.add("%s: %w", field, err)
		}
	}
	return p
}

// forHost returns the rules for a host that the operator wrote. If this host is the agent's machine,
// the rules permit it.
func (a Allow) forHost(host string) Allow {
	a.Loopback = a.Loopback || IsLoopback(host)
	return a
}

// IsLoopback reports whether a host of a URL is the agent's machine.
func IsLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return err == nil && ip.Unmap().IsLoopback() || strings.EqualFold(host, "localhost")
}

var methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet}

func (a *Agent) completeOperations() (p problems) {
	if len(a.Operations) == 0 {
		a.Operations = map[string]Operation{worker.AnyOperation: {}}
	}
	operations := make(map[string]Operation, len(a.Operations))
	for _, name := range slices.Sorted(maps.Keys(a.Operations)) {
		o := a.Operations[name]
		if name != worker.AnyOperation && !operationName.MatchString(name) {
			p.add("operation %.90q: the name must be letters, digits, -, _ and ., at most 80", name)
		}
		o.Method = cmp.Or(o.Method, http.MethodPost)
		o.Path = cmp.Or(o.Path, "/{operation}")
		if o.Output != "" && o.Output != "json" && o.Output != "ignore" {
			p.add("operation %q: output is %.40q; it must be json or ignore", name, o.Output)
		}
		p.of(fmt.Sprintf("operation %q", name), append(checkCall(o.Method, o.Path), o.Classify.problems()...))
		o.Classify = o.Classify.over(a.Classify)
		if o.Check != nil {
			check := *o.Check
			check.Method = cmp.Or(check.Method, http.MethodGet)
			if check.Path == "" {
				p.add("operation %q: its check has no path; write one", name)
			} else {
				p.of(fmt.Sprintf("operation %q: check", name), checkCall(check.Method, check.Path))
			}
			o.Check = &check
		}
		operations[name] = o
	}
	a.Operations = operations
	return p
}

func checkCall(method, path string) (p problems) {
	if !slices.Contains(methods, method) {
		p.add("method %.20q must be one of %s", method, strings.Join(methods, ", "))
	}
	if !strings.HasPrefix(path, "/") || strings.HasPrefix(path, "//") || !printable(path) ||
		strings.ContainsAny(path, " #\\") {
		p.add("path %.80q must begin with one / and hold no space, # or backslash", path)
	}
	if leavesFolder(path) {
		p.add("path %.80q has a part that is . or .., which leads elsewhere; write the path out", path)
	}
	for _, place := range placeholder.FindAllString(path, -1) {
		if !slices.Contains(placeholders, place) {
			p.add("path %.80q: %s is not known; there are %s", path, place, strings.Join(placeholders, ", "))
		}
	}
	return p
}
