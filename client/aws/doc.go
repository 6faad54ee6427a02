// Package aws makes a client.Client for a Stepkeeper that is deployed on AWS. It is separate from package
// client so that programs that use only HTTP do not contain the AWS SDK.
//
//	c, err := aws.Open(ctx, "Shop", aws.Options{Region: "eu-central-1"})
//	receipt, err := c.Submit(ctx, client.Order{ID: "order-1001", Workflow: "order", Content: content})
//	task, err := c.Wait(ctx, "order-1001")
//
// Calls go directly to AWS, with the caller's own permissions (rule 21). Orders, cancels, and answers that
// have a token are sent to the intake queue, and the operator's commands to the control queue
// (sqs:SendMessage). Tasks, orders and definitions are read from their tables (dynamodb:GetItem, strongly
// consistent for tasks), and listings from the index (dynamodb:Query). Open reads the stack's outputs
// (cloudformation:DescribeStacks). The policy in the output OperatorPolicy allows all of these calls. The
// policy in ApplicationPolicy does not allow sending to the control queue or listing.
//
// The client of package operate also has health checks and statistics. They need the SDKs of Lambda, IAM,
// CloudWatch and STS, which this package does not import.
//
// Differences from a server:
//
//   - Submit returns when the intake queue has the order. The receipt has Queued set, and never Known. Submit
//     refuses bad input at once, by the same rules as a server. Wait returns the errors that only the
//     deployment can find: ErrRefused if another order has that ID and, after Patience, ErrRefused if the
//     workflow is unknown.
//   - Wait, Follow and commands read the task repeatedly, with growing pauses.
//   - List returns open orders and orders in Error. It returns ended orders only if the stack was deployed
//     with the index of finished orders.
//   - Workflows returns an error, because a stack's workflows are inside its functions.
package aws
