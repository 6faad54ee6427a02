// Package operate provides the operator's client of a Stepkeeper on AWS. It extends the client of package aws
// with three calls about the deployment: Checks, Statistics and Unattended. The three calls use the SDKs of
// Lambda, IAM, CloudWatch and STS, which an application that only submits orders does not need. The policy in
// the output OperatorPolicy allows the calls.
package operate
