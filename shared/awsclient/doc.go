// Package awsclient configures the AWS SDK the way all our clients need it: a stated retry mode and
// number of attempts (the SDK's defaults change), a time limit for each call, and a transport that
// cannot make a write that landed look failed (see wire.Transport).
package awsclient
