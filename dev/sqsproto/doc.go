// Package sqsproto serves queues in SQS's own JSON protocol (AWS JSON 1.0), so that an application or an
// agent in any language connects with its ordinary AWS SDK and an endpoint URL.
//
// It implements SQS as far as the queues allow: GetQueueUrl, ListQueues, SendMessage, ReceiveMessage with
// long polling, DeleteMessage, ChangeMessageVisibility, their batches, and GetQueueAttributes. It does not
// check credentials. Messages for a Sink are handled and acknowledged at once. They can be sent and not
// received.
//
// A queue that keeps values, such as one in memory, also keeps message attributes, the trace header and the
// ID that SendMessage returned. A durable queue keeps the body only.
package sqsproto
