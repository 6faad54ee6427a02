// Package stack deploys the CDK app's template to an emulator: it synthesises the template, uploads the code
// of the functions, and creates and deletes the stack.
//
// It speaks to CloudFormation itself, in place of the CDK's command line: a test can change the template on
// its way, nothing has to be bootstrapped before, and no Node process waits for events. It deploys to
// emulators only; `make deploy` and the CDK deploy to an account. WritePlain writes a template for accounts
// and teams without the CDK.
package stack
