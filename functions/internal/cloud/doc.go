// Package cloud assembles the parts that the Scheduler and the Supervisor have in common on AWS: the state
// store on DynamoDB, queues on SQS, alerts on SNS, and compiled workflows.
package cloud
