// Package awsclient configures the AWS SDK for Stepkeeper's clients. It sets the retry mode and the number of
// attempts, because the SDK's defaults change between versions. It sets a time limit for each call. It also
// sets a transport that does not report a stored write as failed (see wire.Transport).
package awsclient
