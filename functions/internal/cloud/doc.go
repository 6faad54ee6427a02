// Package cloud assembles the common parts of Scheduler and Supervisor on AWS: the state store on DynamoDB,
// queues on SQS, alerts on SNS, and the workflows that were compiled at deploy.
package cloud
