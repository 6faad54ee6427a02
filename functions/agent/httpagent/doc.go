// Package httpagent is the ready agent: it calls any HTTP service, and is configured, not
// programmed. It gives package worker its operations.
//
// The file, YAML or JSON:
//
//	agents:
//	  payment:
//	    url: https://payment.example          # operations are below it
//	    headers: {Authorization: "Bearer ${env:PAYMENT_TOKEN}"}
//	    concurrency: 16                        # calls at the same time; default 10
//	    batch: 5                               # requests taken at once, 1 to 10; default 5
//	    timeout: 10s                           # of one call; default: what the step has left
//	    maxResponse: 64KiB                     # default 64KiB
//	    insecure: false                        # plain http to others than this machine
//	    allow: {hosts: [payment.example], loopback: false, privateAddresses: false}
//	    retry: {tries: 3, initial: 200ms, max: 5s, jitter: 0.25}
//	    breaker: {failures: 5, window: 10, delay: 5s, probes: 1, off: false}
//	    operations:                            # default: POST <url>/<operation> for each name
//	      charge: {method: POST, path: /charges, check: {method: GET, path: "/charges/{key}"}}
//	      notify: {path: /mail, output: ignore}
//	      "*": {path: "/{operation}"}          # for all other names
//	  warehouse:
//	    external: true                         # no HTTP: a process of its own serves requests-warehouse
//
// An operation is called with its input as the body and these headers: Idempotency-Key,
// traceparent, X-Stepkeeper-Operation (do, undo), X-Stepkeeper-Task, -Run, -Step, -Attempt and
// -Deadline. Its JSON answer is the step's output. A check is asked whether a call with that key
// has happened: 2xx means yes, and its JSON is the output; 404 and 410 mean no.
//
// In a path {key}, {operation}, {task}, {run} and {step} stand for the request's, escaped. Secrets
// come from the environment only, ${env:NAME} in url and headers; they are never logged, and cut
// out of what services answer.
//
// Which answer means what stands in one table, see answers in response.go. Redirects are never
// followed. Addresses of link-local networks (where clouds keep their metadata) and multicast are
// refused at dial time, after the name was resolved; private ones and this machine only on demand.
package httpagent
