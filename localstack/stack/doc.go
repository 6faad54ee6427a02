// Package stack puts the CDK app's template into an emulator: synthesises, uploads what the
// functions are made of, creates, and deletes.
//
// It speaks to CloudFormation itself, in place of the CDK's command line: a test can change the
// template on its way, nothing has to be bootstrapped before, and no Node process waits for events.
// It deploys to emulators only; `make deploy` and the CDK deploy to an account. WritePlain writes a template
// for accounts and teams without the CDK.
package stack
