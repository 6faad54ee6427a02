// Package operate is the operator's client of a Stepkeeper on AWS. Besides the calls of package aws it has
// calls about the deployment: Checks, Statistics and Unattended. These use the SDKs of Lambda, IAM,
// CloudWatch and STS, which an application that only submits orders does not need. The policy in the output
// OperatorPolicy allows the calls.
package operate
