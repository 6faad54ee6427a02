// Package operate reaches a Stepkeeper that is deployed on AWS for its operator: its client makes the calls
// of package aws, and those that look at the deployment, Checks, Statistics and Unattended. They call Lambda,
// IAM, CloudWatch and STS, whose SDKs an application that only submits orders does without. The policy of the
// output OperatorPolicy allows them.
package operate
