// Package api is the HTTP interface of the embedded runtime, called the edge. It serves:
//
//   - Orders and commands, under /v1. The OpenAPI 3.1 document at /openapi.json and /openapi.yaml describes
//     them.
//   - Health checks, at /healthz and /readyz.
//   - The queues, at POST /, in the JSON protocol of SQS (package sqsproto).
//   - The answer pages (package answerpage), and the metrics and pages of Config.
//
// The edge makes no decisions about orders. It checks the form and size of requests. It refuses requests from
// web pages of other origins, except to the answer pages. It passes the rest to a Backend. It acknowledges a
// submission or a command only after the Backend's commit (P27, the embedded runtime survives its queues). It
// logs IDs, never bodies.
package api
