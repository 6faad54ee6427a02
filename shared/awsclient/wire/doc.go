// Package wire is how our clients talk to AWS: a stated retry mode and number of attempts, a time
// limit for each call, a transport that cannot make a write that landed look failed (see Transport).
//
// It knows no profiles, no single sign-on and no metadata service, which package awsclient adds for
// programs that people run; functions, whose credentials stand in their environment, are spared
// those, in size and in time to start.
package wire
