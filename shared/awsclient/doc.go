// Package awsclient configures the AWS SDK for Stepkeeper's clients. It sets the retry mode and the number of
// attempts, because the SDK's defaults change between versions. It sets a time limit for each call. Its
// transport keeps the SDK from repeating a write that has succeeded (see wire.Transport).
package awsclient
