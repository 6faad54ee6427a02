// Package aws provides a client.Client for a Stepkeeper that is deployed on AWS. It needs the SDKs of
// DynamoDB and CloudFormation. It is separate from package client, because a program that uses only HTTP does
// not need these SDKs.
//
//	c, err := aws.Open(ctx, "Shop", aws.Options{Region: "eu-central-1"})
//	receipt, err := c.Submit(ctx, client.Order{ID: "order-1001", Workflow: "order", Content: content})
//	task, err := c.Wait(ctx, "order-1001")
//
// The client calls AWS directly, with the caller's own permissions. Each policy names its actions and
// resources (rule 21 of docs/reference/aws-rules.md). The client makes these calls:
//
//   - Open reads the stack's outputs (cloudformation:DescribeStacks).
//   - Orders, cancels, and answers that have a token go to the intake queue (sqs:SendMessage).
//   - Other commands go to the control queue (sqs:SendMessage).
//   - Tasks, orders and definitions come from the tables (dynamodb:GetItem). Reads of tasks are strongly
//     consistent.
//   - Listings come from the index (dynamodb:Query).
//
// The policy in the output OperatorPolicy allows all of these calls. The policy in the output
// ApplicationPolicy does not allow listings, or messages to the control queue.
//
// The client of package operate also provides health checks and statistics. These two features need the SDKs
// of Lambda, IAM, CloudWatch and STS, which this package does not import.
//
// This client differs from a client of a server in the following points:
//
//   - Submit returns when the order is in the intake queue. The receipt has Queued set, and never Known.
//     Submit refuses malformed orders immediately, by the same rules as a server.
//   - Wait returns the errors that only the deployment can detect. If a different order has the same ID, Wait
//     returns ErrRefused. If the workflow is unknown, Wait returns ErrRefused after the duration Patience.
//   - Wait, Follow and the commands read the task repeatedly, with pauses of increasing length.
//   - List returns open orders and orders in Error. It also returns ended orders if the stack was deployed
//     with the index of finished orders.
//   - Workflows returns an error, because the workflows of a stack are part of its Lambda functions' code.
package aws
