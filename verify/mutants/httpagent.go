package mutants

const (
	httpAddress  = "functions/agent/httpagent/address.go"
	httpClassify = "functions/agent/httpagent/classify.go"
	httpCall     = "functions/agent/httpagent/call.go"
	httpConn     = "functions/agent/httpagent/conn.go"
	httpLoad     = "functions/agent/httpagent/load.go"
	httpNetwork  = "functions/agent/httpagent/network.go"
	httpResponse = "functions/agent/httpagent/response.go"
	httpSecret   = "functions/agent/httpagent/secret.go"
	httpService  = "functions/agent/httpagent/service.go"
)

// ofHTTPAgent are mutants of the ready agent for HTTP services.
var ofHTTPAgent = []Mutant{

	{Name: "P45-refused-credentials-count", File: httpResponse, Func: "answer.failure", Old: "a.status == http.StatusUnauthorized", New: "false"},

	{Name: "P45-refused-credentials-have-no-class", File: httpResponse, Func: "answer.failure", Old: " && !named", New: " && (named || true)"},
	{Name: "P45-class-done-is-a-failure", File: httpClassify, Func: "Classify.done", Old: " || c[strconv.Itoa(status)] == classDone", New: ""},
	{Name: "P45-every-class-is-permanent", File: httpClassify, Func: "Classify.of", Old: "name == classPermanent", New: `name != ""`},
	{Name: "P45-class-of-the-agent-comes-first", File: httpClassify, Func: "Classify.over", Old: "maps.Copy(all, c)", New: "all = maps.Clone(c); maps.Copy(all, agent)"},
	{Name: "P45-class-of-the-agent-is-lost", File: httpLoad, Func: "Agent.completeOperations", Old: "o.Classify.over(a.Classify)", New: "o.Classify"},
	{Name: "P45-done-can-be-classified", File: httpClassify, Func: "Classify.problems", Old: "case n/100 == 2:", New: "case false:"},
	{Name: "P45-class-not-yet-is-a-failure", File: httpResponse, Func: "answer.failure", Old: "== classNotYet", New: "== classNotYet+\"-\""},
	{Name: "P45-class-not-yet-without-a-proof", File: httpClassify, Func: "Classify.problems", Old: "!classOf(n).noEffect", New: "false"},
	{Name: "P45-unknown-class-is-accepted", File: httpClassify, Func: "Classify.problems", Old: "!slices.Contains(classes, name)", New: "false"},
	{Name: "P45-check-goes-by-classify", File: httpCall, Func: "Service.check", Old: "nil, call, nil)", New: "nil, call, s.agent.Classify)"},
	{Name: "P45-done-by-class-is-read-as-a-refusal", File: httpCall, Func: "Service.exchange", Old: "if err != nil && classify.done(res.StatusCode) {", New: "if err != nil && res.StatusCode/100 == 2 {"},

	// Answers that break off.
	{Name: "P22a-kept-connection-for-a-point-of-no-return", File: httpCall, Func: "Service.exchange", Old: " || call.PointOfNoReturn", New: ""},
	{Name: "P31-truncated-answer-is-done", File: httpCall, Func: "Service.exchange", Old: "if err != nil && classify.done(res.StatusCode) {", New: "if false {"},
	{Name: "P31-truncated-answer-proves-no-effect", File: httpCall, Func: "Service.exchange", Old: "return nil, s.networkFailure(what, err, true)", New: "return nil, s.networkFailure(what, err, false)"},
	{Name: "P31-lost-answer-proves-no-effect", File: httpCall, Func: "Service.exchange", Old: "s.networkFailure(what, err, reached == written)", New: "s.networkFailure(what, err, reached < 0)"},
	{Name: "P31-unsent-call-leaves-doubt", File: httpCall, Func: "Service.exchange", Old: "s.networkFailure(what, err, reached == written)", New: "s.networkFailure(what, err, reached >= 0)"},
	{Name: "P31-net-http-repeats-a-call", File: httpCall, Func: "Service.request", Old: "req.Body, req.GetBody, req.ContentLength = io.NopCloser(bytes.NewReader(body)), nil, int64(len(body))", New: "req.Body, req.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body)); req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }"},
	{Name: "P31-unreadable-answer-leaves-doubt", File: httpResponse, Func: "done", Old: "f.Happened = true", New: "_ = 0"},

	// Kept connections.
	{Name: "P31-early-bytes-are-a-response", File: httpConn, Func: "conn.Read", Old: "n > 0 && c.unwritten", New: "n > 0 && c.unwritten && n < 0"},
	{Name: "P31-request-begins-before-old-bytes-are-used", File: httpConn, Func: "conn.begin", Old: "!c.reading && !c.closed", New: "!c.reading && !c.closed && sent == nil"},
	{Name: "P31-closed-connection-is-written-to", File: httpConn, Func: "conn.Write", Old: "if closed {", New: "if closed && p == nil {"},
	{Name: "P31-written-bytes-are-not-noted", File: httpConn, Func: "conn.Write", Old: "c.sent.Store(true)", New: "c.sent.Store(false)"},
	{Name: "P31-call-is-sent-again-after-bytes-were-written", File: httpCall, Func: "Service.exchange", Old: "reached == connected", New: "err != nil && reached >= connected"},
	{Name: "P31-call-gives-up-with-a-kept-connection", File: httpCall, Func: "Service.exchange", Old: "reached == connected", New: "reached < unconnected"},
	{Name: "P31-net-http-repeats-a-call-without-a-body", File: httpCall, Func: "Service.request", Old: "if len(body) > 0 {", New: "if len(body) == 0 {\nreq.Body = http.NoBody\n} else {"},
	{Name: "httpagent-no-input-is-sent-in-chunks", File: httpCall, Func: "Service.request", Old: "body = noInput", New: "body = noInput[:0]"},

	// Answers without an end.
	{Name: "P6-refusal-is-read-without-end", File: httpCall, Func: "Service.read", Old: "ctx, cancel = context.WithTimeout(ctx, wordsTime)", New: "ctx, cancel = context.WithCancel(ctx)"},
	{Name: "P6-body-outlives-its-time", File: httpCall, Func: "Service.read", Old: "stop := context.AfterFunc(ctx, func() { _ = res.Body.Close() })", New: "stop := context.AfterFunc(ctx, func() {})"},
	{Name: "P6-switched-protocol-is-read", File: httpCall, Func: "Service.read", Old: "return nil, nil // it switched protocols: what comes now is no answer", New: ""},
	{Name: "httpagent-body-of-any-length", File: httpCall, Func: "Service.read", Old: "io.LimitReader(res.Body, int64(s.agent.MaxResponse)+1)", New: "res.Body"},
	{Name: "httpagent-timeout-of-one-call-is-ignored", File: httpCall, Func: "Service.exchange", Old: "if s.agent.Timeout > 0 {", New: "if false {"},

	// Which address is called.
	{Name: "httpagent-localhost-by-prefix", File: httpLoad, Func: "isLoopbackHost", Old: `strings.EqualFold(host, "localhost")`, New: `strings.HasPrefix(strings.ToLower(host), "localhost")`},
	{Name: "httpagent-localhost-by-suffix", File: httpLoad, Func: "isLoopbackHost", Old: `strings.EqualFold(host, "localhost")`, New: `strings.HasSuffix(strings.ToLower(host), "localhost")`},
	{Name: "httpagent-proxy-of-the-environment", File: httpService, Func: "Service.client", Old: "IdleConnTimeout:        time.Minute,", New: "Proxy: http.ProxyFromEnvironment, IdleConnTimeout: time.Minute,"},
	{Name: "httpagent-redirects-are-followed", File: "shared/redirect/redirect.go", Func: "Refused", Old: "return http.ErrUseLastResponse", New: "return nil"},
	{Name: "httpagent-redirect-address-breaks-the-answer", File: "shared/redirect/redirect.go", Func: "Transport.RoundTrip", Old: "wrong != nil", New: "wrong != nil && false"},
	{Name: "httpagent-redirects-keep-idle-connections", File: "shared/redirect/redirect.go", Func: "Transport.CloseIdleConnections", Old: "below.CloseIdleConnections()", New: "_ = below"},
	{Name: "httpagent-6to4-hides-an-address", File: httpAddress, Func: "embedded", Old: "if e.network.Contains(ip) {", New: "if e.at != 2 && e.network.Contains(ip) {"},
	{Name: "httpagent-nat64-hides-an-address", File: httpAddress, Func: "embedded", Old: "if e.network.Contains(ip) {", New: "if e.at != 12 && e.network.Contains(ip) {"},
	{Name: "httpagent-mapped-address-hides-another", File: httpAddress, Func: "embedded", Old: `ip = ip.Unmap().WithZone("")`, New: `ip = ip.WithZone("")`},
	{Name: "httpagent-zone-hides-an-address", File: httpAddress, Func: "embedded", Old: `ip = ip.Unmap().WithZone("")`, New: `ip = ip.Unmap()`},
	{Name: "httpagent-carrier-nat-is-public", File: httpAddress, Func: "Allow.check", Old: "ip.IsPrivate() || morePrivate.contain(ip)", New: "ip.IsPrivate()"},
	{Name: "httpagent-private-is-public", File: httpAddress, Func: "Allow.check", Old: "ip.IsPrivate() || morePrivate.contain(ip)", New: "morePrivate.contain(ip)"},
	{Name: "httpagent-metadata-is-called", File: httpAddress, Func: "Allow.check", Old: "ip.IsLinkLocalUnicast() || metadata.contain(ip)", New: "ip.IsLinkLocalUnicast()"},
	{Name: "httpagent-link-local-is-called", File: httpAddress, Func: "Allow.check", Old: "ip.IsLinkLocalUnicast() || metadata.contain(ip)", New: "metadata.contain(ip)"},
	{Name: "httpagent-translated-address-is-called", File: httpAddress, Func: "Allow.check", Old: "case opaque.contain(ip):", New: "case false:"},
	{Name: "httpagent-only-the-first-address-is-checked", File: httpAddress, Func: "guardedDial", Old: "if err := allow.check(ip); err != nil {", New: "if err := allow.check(ips[0]); ip.IsValid() && err != nil {"},
	{Name: "httpagent-name-is-resolved-again", File: httpAddress, Func: "guardedDial", Old: "net.JoinHostPort(ip.String(), service)", New: "net.JoinHostPort(map[bool]string{true: host}[ip.IsValid()], service)"},
	{Name: "httpagent-only-the-first-address-is-tried", File: httpAddress, Func: "guardedDial", Old: "failed = append(failed, err)", New: "return nil, err"},

	// Where below the address.
	{Name: "httpagent-configured-path-leaves-its-folder", File: httpLoad, Func: "checkCall", Old: "if leavesFolder(path) {", New: "if false {"},
	{Name: "httpagent-expanded-path-leaves-its-folder", File: httpCall, Func: "Service.exchange", Old: "if leavesFolder(path) {", New: "if false {"},
	{Name: "httpagent-encoded-dots-are-not-seen", File: httpCall, Func: "leavesFolder", Old: "if err != nil || decoded == path {", New: "if decoded == decoded || err != nil {"},
	{Name: "httpagent-dots-encoded-twice-are-not-seen", File: httpCall, Func: "leavesFolder", Old: "path = decoded", New: "path = decoded; break"},
	{Name: "httpagent-backslash-is-no-separator", File: httpCall, Func: "leavesFolder", Old: ` || r == '\\'`, New: ""},
	{Name: "httpagent-single-dot-is-not-seen", File: httpCall, Func: "leavesFolder", Old: `part == "." || part == ".."`, New: `part == ".."`},
	{Name: "httpagent-path-is-not-escaped", File: httpCall, Func: "expand", Old: "fill(way, url.PathEscape)", New: "fill(way, func(s string) string { return s })"},
	{Name: "httpagent-query-is-not-escaped", File: httpCall, Func: "expand", Old: "fill(query, url.QueryEscape)", New: "fill(query, url.PathEscape)"},

	// Secrets.
	{Name: "httpagent-secret-stands-in-an-output", File: httpResponse, Func: "answer.output", Old: "return a.service.agent.redact.output(body), nil", New: "return body, nil"},
	{Name: "httpagent-secret-stands-in-a-refusal", File: httpResponse, Func: "answer.said", Old: `a.service.agent.redact.text(strings.Join(words, ": "))`, New: `strings.Join(words, ": ")`},
	{Name: "httpagent-secret-stands-in-a-network-error", File: httpNetwork, Func: "Service.networkFailure", Old: "s.agent.redact.text(err.Error())", New: "err.Error()"},
	{Name: "httpagent-escaped-secret-is-not-seen", File: httpSecret, Func: "cutFromJSON", Old: "!written(`\\`) && ", New: ""},
	{Name: "httpagent-secret-is-compared-as-written", File: httpSecret, Func: "cutFromJSON", Old: "json.Unmarshal(token, &text) != nil", New: "false"},
	{Name: "httpagent-number-that-holds-a-secret-is-cut", File: httpSecret, Func: "cutFromJSON", Old: " || token[0] != '\"' && clean != hidden", New: ""},
	{Name: "httpagent-short-secret-spoils-outputs", File: httpSecret, Func: "newRedactor", Old: "len(v) < minOutputSecret", New: "false"},
	{Name: "httpagent-part-of-a-secret-is-cut-first", File: httpSecret, Func: "newRedactor", Old: "return len(b) - len(a)", New: "return len(a) - len(b)"},
	{Name: "httpagent-host-is-taken-for-a-secret", File: httpSecret, Func: "secretsOfURL", Old: "if !strings.Contains(host, string(v)) {", New: "if len(host) >= 0 {"},
	{Name: "httpagent-path-of-an-address-is-no-secret", File: httpSecret, Func: "secretsOfURL", Old: `v = Secret(strings.Trim(path, "/"))`, New: `_ = path`},
	{Name: "httpagent-unsolicited-bytes-are-logged", File: httpCall, Func: "Service.exchange", Old: "guardStandardLog()", New: "_ = 0"},

	// How deep.
	{Name: "httpagent-answer-of-any-depth", File: "functions/agent/httpagent/response.go", Func: "answer.output",
		Old: "rawjson.CheckLoose(body, rawjson.MaxLevels)", New: "rawjson.CheckLoose(body, 10_000)"},
}
