// Package wire makes Stepkeeper's calls to AWS. It sets the retry mode and the number of attempts, a time
// limit for each call, and a transport that does not report a stored write as failed (see Transport).
//
// It has no profiles, no single sign-on and no metadata service. Package awsclient adds those for programs
// that people run. Functions, whose credentials are in their environment, do without them, to be smaller and
// to start faster.
package wire
