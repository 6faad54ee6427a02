// Package api is the HTTP edge of the embedded runtime. It serves orders under /v1 (described by the OpenAPI
// 3.1 document at /openapi.json and /openapi.yaml), health, and the queues in SQS's own JSON protocol
// (package sqsproto) at POST /.
//
// It makes no decisions. It checks form and size, refuses web pages of other origins, and passes requests to
// a Backend. It acknowledges a submission or a command only after the Backend's commit (P27, the embedded
// runtime survives its queues). It logs IDs, never bodies.
package api
