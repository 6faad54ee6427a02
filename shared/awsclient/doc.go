// Package awsclient configures the AWS SDK for Stepkeeper's clients. It sets the retry mode and the number of
// attempts (because the SDK's defaults change), a time limit for each call, and a transport that does not
// report a stored write as failed (see wire.Transport).
package awsclient
