// Package sqsproto serves queues in SQS's own JSON protocol (AWS JSON 1.0), so that an application
// or an agent in any language attaches with its ordinary AWS SDK and an endpoint URL.
//
// It keeps to what SQS does, as far as our queues have it: GetQueueUrl, ListQueues, SendMessage,
// ReceiveMessage with long polling, DeleteMessage, ChangeMessageVisibility, their batches, and
// GetQueueAttributes. Credentials are not checked. Messages for a Sink are handled at once and
// acknowledged when that is done; they can be sent and not received.
//
// Message attributes, the trace header and the ID that SendMessage answered travel with a message
// as long as its queue keeps values (one in memory does); a durable queue keeps the body only.
package sqsproto
