// Package operate provides the operator's client of a Stepkeeper on AWS. It extends the client of package aws
// with three calls about the deployment: Checks, Statistics and Unattended. The policy in the output
// OperatorPolicy allows the calls.
//
// The calls use the SDKs of Lambda, IAM, CloudWatch and STS. An application that only submits orders does not
// need these SDKs.
package operate
