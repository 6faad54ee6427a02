// Package httpagent is the ready-made agent. It calls any HTTP service. An agents file configures it, and
// package worker runs its operations.
//
// The file, YAML or JSON:
//
//	agents:
//	  payment:
//	    url: https://payment.example          # operations are below it
//	    headers: {Authorization: "Bearer ${env:PAYMENT_TOKEN}"}
//	    concurrency: 16                        # calls at the same time; default 10
//	    batch: 5                               # requests taken at once, 1 to 10; default 5
//	    timeout: 10s                           # limit of a call; default: the time that the step has left
//	    maxResponse: 64KiB                     # default 64KiB
//	    insecure: false                        # true allows plain http to other machines
//	    allow: {hosts: [payment.example], loopback: false, privateAddresses: false}
//	    auth: {sigv4: {service: execute-api}}  # or oauth2, below; certificate beside either
//	    proxy: http://proxy.example:3128       # default: none, not the environment's
//	    retry: {tries: 3, initial: 200ms, max: 5s, jitter: 0.25}
//	    breaker: {failures: 5, window: 10, delay: 5s, probes: 1, off: false}
//	    classify: {402: permanent, 404: transient}  # what a status means here, for all operations
//	    operations:                            # default: POST <url>/<operation> for each name
//	      charge: {method: POST, path: /charges, check: {method: GET, path: "/charges/{key}"}}
//	      refund: {classify: {404: done, 409: done}}  # takes precedence over the agent's
//	      notify: {path: /mail, output: ignore}
//	      "*": {path: "/{operation}"}          # for all other names
//	  stock:
//	    aws: {invoke: "arn:aws:lambda:…"}      # no HTTP: calls of services of AWS, see package awsagent
//	  warehouse:
//	    external: true                         # no HTTP: a process of its own serves requests-warehouse
//
// Authentication beside headers. Secrets come from the environment:
//
//	auth:
//	  # the default Region is the host's, or else the agent's
//	  sigv4: {service: execute-api, region: eu-central-1}
//	  oauth2: {tokenURL: "https://login.example/token", clientID: shop,
//	    clientSecret: "${env:SECRET}", scopes: [pay]}
//	  certificate: {chain: "${env:CERTIFICATE}", key: "${env:KEY}"}  # PEM
//
// A token is replaced 30 s before it ends, and once after a 401. If the token endpoint refuses the client, or
// there are no credentials of AWS, the step waits as after a 401. Tokens are hidden like other secrets.
//
// An operation is called with its input as the body and these headers: Idempotency-Key, traceparent,
// X-Stepkeeper-Operation (do, undo), X-Stepkeeper-Task, -Run, -Step, -Attempt and -Deadline. Its JSON answer
// is the step's output; the output of an undo is not used. A check asks the service whether a call with that
// key has happened: 2xx means yes, and its JSON is the output; 404 and 410 mean no.
//
// The file sets the meaning of a status from 300 to 599 with classify. done means that the operation has
// happened, and that the body is its output, as with 2xx; add output: ignore if it is text for people.
// permanent means that the step fails for good. transient means that the failure counts, and that the step is
// tried again. classify does not change whether the call is proven to have had no effect. A status 401 with a
// class has the code http-401 and counts as a failure. Checks do not use classify.
//
// A call or a check by POST, PUT or PATCH without input has the body {}. DELETE and GET without input have no
// body, because HTTP gives such a body no meaning and some servers and proxies refuse it. Every body has a
// Content-Length. A connection that carried bytes beyond a response, or before a request, is closed and not
// used again. A call that found a kept connection closed is sent over a new one if none of its bytes was
// written.
//
// In a path {key}, {operation}, {task}, {run} and {step} stand for the escaped values of the request. A call
// whose path would have a part . or .. after that is refused.
//
// Secrets come from the environment only, as ${env:NAME}. They are never logged. In everything that comes
// from a service [hidden] replaces them: values of 4 or more characters in the texts of errors and of 6 or
// more in outputs, in strings and keys with any JSON escapes, and as numbers. The scheme and host of the url
// are not secret. The package does not hide values that a service encodes (base64, percent signs), parts of a
// value, shorter values, or secrets that the service did not get in this form. It does not apply to agents in
// Go. It also removes the content of the lines that net/http writes to the standard logger (package log)
// about bytes that no request asked for.
//
// The variable answers in response.go holds the meaning of each status. A response is read up to its time
// limit and up to maxResponse, and the text of a refusal for at most 5 s. After an incomplete response with a
// status 2xx it is unknown whether the call had its effect. Redirects are never followed, and the
// environment's proxies are not used. The address rules apply to tokenURL and proxy too. A proxy resolves the
// names of services itself, so the rules cannot apply to its connections. Addresses of link-local networks
// (where clouds keep their metadata) and multicast are refused at dial time, after the name was resolved.
// Private and carrier addresses, and this machine, are refused unless allow permits them. An IPv6 address
// that holds an IPv4 address (mapped, 6to4, NAT64) is treated as the latter.
package httpagent
