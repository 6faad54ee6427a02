// Package stack deploys the CDK app's template to an emulator: it synthesises the template, uploads the code
// of the functions, and creates and deletes the stack.
//
// It calls CloudFormation itself instead of the CDK's command line, so that a test can change the template,
// no bootstrap is needed, and no Node process waits for events. It deploys to emulators only; `make deploy`
// and the CDK deploy to an account. WritePlain writes a template for accounts and teams without the CDK.
package stack
