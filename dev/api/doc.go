// Package api is the HTTP edge of the embedded runtime. It serves three things:
//
//   - Orders and commands, under /v1. The OpenAPI 3.1 document at /openapi.json and /openapi.yaml describes
//     them.
//   - Health checks, at /healthz and /readyz.
//   - The queues, at POST /, in the JSON protocol of SQS (package sqsproto).
//
// The edge makes no decisions about orders. It checks the form and size of requests, refuses requests from
// web pages of other origins, and passes all other requests to a Backend. It acknowledges a submission or a
// command only after the Backend's commit (P27, the embedded runtime survives its queues). It logs IDs, never
// bodies.
package api
