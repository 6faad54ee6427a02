// Package sqsproto serves queues in the JSON protocol of SQS (AWS JSON 1.0). An application or an agent in
// any language can connect with its AWS SDK and an endpoint URL.
//
// The package implements GetQueueUrl, ListQueues, SendMessage, ReceiveMessage with long polling,
// DeleteMessage, ChangeMessageVisibility, the batch forms, and GetQueueAttributes. It does not check
// credentials.
//
// A queue with a Sink stores no messages: the Sink handles each message before the sender gets the response.
// A receive from such a queue returns no messages.
//
// A queue in memory also keeps the attributes, the trace header and the ID of a message. A queue in SQLite
// keeps only the body.
package sqsproto
