// Package stack deploys the template of a CDK app to an emulator. It runs the app to get the template. It
// uploads the code of the functions, and creates and deletes the stack.
//
// The package calls CloudFormation itself instead of using the CDK's command line, for three reasons:
//   - a test can change the template
//   - the emulator needs no bootstrap
//   - no Node process has to wait for CloudFormation's events
//
// The package deploys only to emulators. `make deploy` and the CDK deploy to an AWS account. WritePlain
// writes a template for users who deploy without the CDK.
package stack
