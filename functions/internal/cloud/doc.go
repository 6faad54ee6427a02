// Package cloud puts together what Scheduler and Supervisor have in common on AWS: the state store
// on DynamoDB, queues on SQS, alerts on SNS, and the workflows that were compiled at deploy.
package cloud
