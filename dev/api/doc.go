// Package api is the HTTP edge of the embedded runtime: orders under /v1 (described by the OpenAPI
// 3.1 document at /openapi.json and /openapi.yaml), health, and the queues in SQS's own JSON
// protocol (package sqsproto) at POST /.
//
// It decides nothing: it checks form and size, refuses web pages of other origins, and hands on to
// a Backend. A submission or a command is acknowledged only after the Backend committed it (P27).
// IDs are logged, bodies never.
package api
