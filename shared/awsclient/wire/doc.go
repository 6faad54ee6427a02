// Package wire configures the AWS SDK for Lambda functions. It sets the retry mode, the number of attempts
// and a time limit for each call. Its transport keeps the SDK from repeating a write that has succeeded (see
// Transport).
//
// The package does not support profiles, single sign-on or the metadata service. Package awsclient adds these
// three for programs that people run. Lambda functions get their credentials from the environment, and import
// only this package. So the functions are smaller and start faster.
package wire
