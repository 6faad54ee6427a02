// Package cdkapp runs a CDK app to get its template, and deploys the template to an emulator. It uploads the
// code of the functions, and creates or deletes the stack.
//
// The package calls CloudFormation itself instead of using the CDK's command line, for three reasons:
//   - A test can change the template.
//   - The emulator needs no bootstrap.
//   - No Node process has to wait for CloudFormation's events.
//
// The package deploys only to emulators. `make deploy` and the CDK deploy to an AWS account. For users
// without the CDK, WritePlain writes a template.
package cdkapp
