// Package httpagent is the ready-made agent for HTTP services. An agents file configures the agent, and
// package worker runs the agent's operations.
//
// The agents file is YAML or JSON:
//
//	agents:
//	  payment:
//	    url: https://payment.example          # operations are below it
//	    headers: {Authorization: "Bearer ${env:PAYMENT_TOKEN}"}
//	    concurrency: 16                        # calls at the same time; default 10
//	    batch: 5                               # requests taken at once, 1 to 10; default 5
//	    timeout: 10s                           # limit of a call; default: the time that the step has left
//	    maxResponse: 384KiB                    # default 384KiB
//	    insecure: false                        # true allows plain http to other machines
//	    allow: {hosts: [payment.example], loopback: false, privateAddresses: false}
//	    auth: {sigv4: {service: execute-api}}  # or oauth2, see below
//	    proxy: http://proxy.example:3128       # default: none, not the environment's
//	    retry: {tries: 3, initial: 200ms, max: 5s, jitter: 0.25}
//	    breaker: {failures: 5, window: 10, delay: 5s, probes: 1, off: false}
//	    classify: {402: permanent, 404: transient}  # what a status means here, for all operations
//	    operations:                            # default: POST <url>/<operation> for each name
//	      charge: {method: POST, path: /charges, check: {method: GET, path: "/charges/{key}"}}
//	      refund: {classify: {404: done, 409: done}}  # takes precedence over the agent's
//	      notify: {path: /mail, output: ignore}
//	      "*": {path: "/{operation}"}          # for all other names
//
// Package settings has the other kinds of agents.
//
// The field auth configures authentication in addition to headers. Secrets come from the environment:
//
//	auth:
//	  # the default Region is the host's, or else the agent's
//	  sigv4: {service: execute-api, region: eu-central-1}
//	  oauth2: {tokenURL: "https://login.example/token", clientID: shop,
//	    clientSecret: "${env:SECRET}", scopes: [pay]}
//	  certificate: {chain: "${env:CERTIFICATE}", key: "${env:KEY}"}  # PEM
//
// The agent replaces a token 30 s before the token expires, and once after a status 401. The step waits and
// the attempt does not count as a failure in these cases:
//
//   - The token endpoint refuses the client, or responds with something else than a token.
//   - The agent has no AWS credentials.
//   - The service responds with the status 401.
//   - A service of AWS does not accept the signature, because the credentials have expired, for instance.
//
// The agent uses HTTP/2 if the service offers it over TLS, and HTTP/1.1 otherwise.
//
// A call has the step's input as its body, and these headers: Idempotency-Key, traceparent,
// X-Stepkeeper-Operation (do, undo), X-Stepkeeper-Task, -Run, -Step, -Attempt and -Deadline. The JSON
// response is the step's output. The response to an undo is not used.
//
// A check asks the service whether a call with this key has happened. A status 2xx means yes, and the
// JSON response is the output. The statuses 404 and 410 mean no.
//
// The field classify sets the meaning of a status from 300 to 599:
//
//   - done: the operation has happened, and the body is the output, as with 2xx. Add output: ignore if the
//     body is text for people.
//   - permanent: the step fails for good.
//   - transient: the failure counts, and the step is tried again.
//   - not-yet: the failure does not count, and the step is tried again.
//
// The field classify does not change whether a status proves that the call had no effect. A status 401 with a
// class has the code http-401 and counts as a failure. Checks do not use classify.
//
// A call or a check by POST, PUT or PATCH without input has the body {}. Calls by DELETE and GET
// without input have no body. HTTP gives no meaning to the body of a DELETE or GET, and some servers
// and proxies refuse such a body. Every body has a Content-Length.
//
// If bytes come after a response or before a request of HTTP/1.1, the agent closes the connection. If the
// service closes a kept connection before any byte of a call is written, the agent sends the call over a new
// connection.
//
// In a path, {key}, {operation}, {task}, {run} and {step} stand for the escaped values of the request. If a
// path with these values has a segment . or .., the agent refuses the call.
//
// Secrets come only from the environment, as ${env:NAME}. The agent never logs a secret. It writes [hidden]
// in place of secrets in the data of a service:
//
//   - in error texts, for secrets of 4 or more characters;
//   - in the strings, keys and numbers of outputs, for secrets of 6 or more characters.
//
// These are the values of variables in headers, in the url and of secrets in auth and proxy, and everything
// that a call has carried for its authentication: tokens, the session token, key ID and signature of AWS, and
// names and passwords. The agent finds them in base64, and escaped for a URL, JSON, HTML or Go. It does not
// find shorter secrets or parts of a secret. The scheme and host of the url are not secret. Agents in Go must
// hide secrets themselves.
//
// If bytes come without a request, net/http writes them to the standard logger (package log). The
// agent removes these bytes from the log.
//
// The table answers in response.go lists the meaning of each status. The agent reads a response up to
// maxResponse and until the time limit of the call. It reads the text of a refusal for at most 5 s.
// After an incomplete response with a status 2xx, it is unknown whether the call had its effect. The
// agent never follows redirects, and does not use proxies that the environment names.
//
// The agent resolves the name of a host, and then checks the addresses. It always refuses multicast
// addresses and link-local addresses, where clouds keep their metadata. It refuses private addresses,
// addresses of carriers and addresses of this machine unless the field allow permits them. An IPv6
// address can contain an IPv4 address (mapped, 6to4, NAT64). The agent then checks the IPv4 address.
//
// These rules apply to tokenURL and proxy too. A proxy resolves the names of services itself, so the
// rules do not apply to connections from the proxy.
package httpagent
