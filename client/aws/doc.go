// Package aws reaches a Stepkeeper that is deployed on AWS: it makes the client.Client that
// package client makes of a server's address. It is a package of its own so that programs that use
// HTTP only do not carry the AWS SDK.
//
//	c, err := aws.Open(ctx, "Shop", aws.Options{Region: "eu-central-1"})
//	receipt, err := c.Submit(ctx, client.Order{ID: "order-1001", Workflow: "order", Content: content})
//	task, err := c.Wait(ctx, "order-1001")
//
// Nothing stands between the caller and AWS but the caller's own permissions, so what calls do is what those
// allow (rule 21). Orders, cancels, and answers that have a token are messages to the intake queue, the
// operator's commands to the control queue (sqs:SendMessage); tasks, orders and definitions are read from
// their tables (dynamodb:GetItem, strongly consistent for tasks); listings ask the index (dynamodb:Query);
// Open asks for the stack's outputs (cloudformation:DescribeStacks). The policies of the outputs
// ApplicationPolicy and OperatorPolicy allow these; the first one sends to the intake queue only, and does
// not list.
//
// Whether the deployment works, and its statistics, are calls of package operate's client. They need the SDKs
// of Lambda, IAM, CloudWatch and STS, which this package does not import.
//
// What differs from a server:
//
//   - Submit is done when the intake queue has the order: Receipt.Queued, and never Known. Bad input
//     is refused at once all the same, by the same rules. What only the deployment can refuse shows
//     when the order is waited for: another order of that ID as ErrRefused, an unknown workflow as
//     ErrRefused after Patience.
//   - Wait, Follow and commands look at the task again and again, with growing pauses.
//   - List knows open orders and those that wait for the operator; ended ones only if the stack was
//     deployed with the index of finished orders.
//   - Workflows is not answered: a stack's workflows are inside its functions.
package aws
