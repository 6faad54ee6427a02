// Package operate is the client of a Stepkeeper on AWS for its operator. It has the calls of package aws, and
// those about the deployment itself: Checks, Statistics and Unattended. These use the SDKs of Lambda, IAM,
// CloudWatch and STS, which an application that only submits orders does not need. The policy of the output
// OperatorPolicy allows them.
package operate
