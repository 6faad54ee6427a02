package httpagent

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/loopback"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// DefaultMaxResponse is the maximum size of a response in bytes if the agent sets none.
const (
	DefaultMaxResponse = rawjson.MaxGrowth * port.MaxMessage // every output fits, however it is escaped
	maxMaxResponse     = 16 << 20
)

type problems []error

func (p *problems) add(format string, args ...any) { *p = append(*p, fmt.Errorf(format, args...)) }

func (p *problems) of(where string, all problems) {
	for _, err := range all {
		p.add("%s: %w", where, err)
	}
}

var operationName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$`)

// IsOperation reports whether a text can be the name of an operation.
func IsOperation(name string) bool { return operationName.MatchString(name) }

// Complete checks the settings of a filled agent, and sets the defaults.
func (a *Agent) Complete() []error {
	var p problems
	a.MaxResponse = cmp.Or(a.MaxResponse, DefaultMaxResponse)
	if a.MaxResponse < 1 || a.MaxResponse > maxMaxResponse {
		p.add("maxResponse is %d bytes; 1 byte to 16MiB are possible", a.MaxResponse)
	}
	return slices.Concat(p, a.completeURL(), a.completeAuth(), a.Classify.problems())
}

var ownHeaders = []string{
	"Idempotency-Key", "Traceparent", "Host", "Content-Length", "Transfer-Encoding",
	"Connection",
}

var secretHeaders = []string{"Authorization", "Proxy-Authorization", "Cookie", "X-Api-Key"}

// field is a text of the settings that may refer to variables.
type field struct {
	name    string
	text    *Secret
	address bool
	secret  bool // it must come from a variable
}

func (a *Agent) fields() []field {
	all := []field{{"url", &a.URL, true, false}, {"proxy", &a.Proxy, true, false}}
	if a.Auth != nil && a.Auth.OAuth2 != nil {
		all = append(all, field{"auth: oauth2: tokenURL", &a.Auth.OAuth2.TokenURL, true, false},
			field{"auth: oauth2: clientID", &a.Auth.OAuth2.ClientID, false, false},
			field{"auth: oauth2: clientSecret", &a.Auth.OAuth2.ClientSecret, false, true})
	}
	if a.Auth != nil && a.Auth.Certificate != nil {
		all = append(all, field{"auth: certificate: chain", &a.Auth.Certificate.Chain, false, false},
			field{"auth: certificate: key", &a.Auth.Certificate.Key, false, true})
	}
	return all
}

// Fill replaces references to variables by their values, and finds the secrets among these.
func (a *Agent) Fill(v Variables) []error {
	var p problems
	var secrets []string
	for _, f := range a.fields() {
		example := ""
		if f.address {
			example = "https://" + append(slices.Clone(a.Allow.Hosts), "example.com")[0]
		}
		values, err := f.text.fill(v, example)
		_, password := f.text.login()
		switch {
		case err != nil:
			p.add("%s: %w", f.name, err)
		case f.text.IsZero() && strings.HasPrefix(f.name, "auth"):
			p.add("%s is missing", f.name)
		case (f.secret || f.text == &a.Proxy && password != "") && len(values) == 0:
			p.add("%s holds a secret; take it from the environment with ${env:NAME}, not from the file",
				f.name)
		}
		switch {
		case f.secret:
			secrets = append(secrets, values...)
		case f.text == &a.URL:
			secrets = append(secrets, secretsOfURL(a.URL, values)...)
		}
	}
	if a.Auth != nil && a.Auth.OAuth2 != nil {
		o := a.Auth.OAuth2
		secrets = append(secrets, basic(url.QueryEscape(o.ClientID.text), url.QueryEscape(o.ClientSecret.text))...)
	}
	secrets = append(secrets, basic(a.Proxy.login())...)
	secrets = append(secrets, a.fillHeaders(v, &p)...)
	redactor := redact.Redactor{}.With(secrets...)
	a.redact = &redactor
	return p
}

func (a *Agent) fillHeaders(v Variables, p *problems) (secrets []string) {
	headers := make(map[string]Secret, len(a.Headers))
	for _, key := range slices.Sorted(maps.Keys(a.Headers)) {
		canonical := http.CanonicalHeaderKey(key)
		value := a.Headers[key]
		values, err := value.fill(v, "")
		_, twice := headers[canonical]
		switch {
		case twice:
			p.add("header %s stands twice, in another case; keep one", key)
		case err != nil:
			p.add("header %s: %w", key, err)
		case !tokenPattern.MatchString(key) || !printable(value.text):
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
	a.Headers = headers
	return secrets
}

var tokenPattern = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")

func printable(text string) bool {
	return strings.IndexFunc(text, func(r rune) bool { return r < ' ' && r != '\t' || r >= 0x7F }) < 0
}

// completeURL names only the host of the URL in error texts, because the rest may hold a secret.
func (a *Agent) completeURL() (p problems) {
	if a.URL.text == "" {
		p.add("url is missing; give the service's base address, aws: with a call, orders: true, or external: true")
		return p
	}
	u, p := a.address("url", a.URL)
	if u == nil {
		return p
	}
	if strings.ContainsAny(a.URL.text, "?#") {
		p.add("url has a query or a fragment; put it into the paths of the operations")
	}
	if loopback.Is(u.Hostname()) {
		// The operator named this machine, so permit calls to it. A host name that only resolves to this
		// machine does not permit them.
		a.Allow.Loopback = true
	}
	return p
}

func (a *Agent) address(field string, text Secret) (u *url.URL, p problems) {
	u, err := url.Parse(text.text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.add("%s is not an address; write one that begins with https:// or http://", field)
		return nil, p
	}
	if _, err := strconv.ParseUint(cmp.Or(u.Port(), "0"), 10, 16); err != nil {
		p.add("%s has the port %.20s; 1 to 65535 are possible", field, u.Port())
	}
	host := u.Hostname()
	if u.User != nil {
		p.add("%s holds a name or password; use a header, as in Authorization: \"Basic ${env:…}\"", field)
	}
	if len(a.Allow.Hosts) > 0 &&
		!slices.ContainsFunc(a.Allow.Hosts, func(h string) bool { return strings.EqualFold(h, host) }) {
		p.add("the %s's host %s is not among allow.hosts; add it there, or correct the address", field, host)
	}
	if u.Scheme == "http" && !a.Insecure && !loopback.Is(host) {
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
	a.Loopback = a.Loopback || loopback.Is(host)
	return a
}

var methods = []string{http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodGet}

// Complete checks the settings of an operation, and sets the defaults. The classes of the agent apply to all
// operations.
func (o *Operation) Complete(agent Classify) []error {
	var p problems
	o.Method = cmp.Or(o.Method, http.MethodPost)
	o.Path = cmp.Or(o.Path, "/{operation}")
	if o.Output != "" && o.Output != "json" && o.Output != "ignore" {
		p.add("output is %.40q; it must be json or ignore", o.Output)
	}
	p = slices.Concat(p, checkCall(o.Method, o.Path), o.Classify.problems())
	o.Classify = o.Classify.Over(agent)
	if o.Check == nil {
		return p
	}
	check := *o.Check
	check.Method = cmp.Or(check.Method, http.MethodGet)
	if check.Path == "" {
		p.add("its check has no path; write one")
	} else {
		p.of("check", checkCall(check.Method, check.Path))
	}
	o.Check = &check
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
	if _, err := url.Parse(path); err != nil {
		p.add("path %.80q has a %% that is no escape; write %%25 for the character", path)
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
