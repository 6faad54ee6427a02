// Command app is the CDK app that deploys the order example, which uses the ready-made HTTP agent. `make
// deploy` runs the app. docs/how-to/aws-app.md describes how to write your own app.
//
// The settings of the app are values of the CDK context, `-c name=value`. Paths are relative to the folder
// infra. The last column contains the default.
//
//	stack       name of the stack; an account can have several stacks      Stepkeeper
//	agents      agents file, which also declares external agents           app/agents.yaml
//	secrets     references to secrets, see below, separated by commas      none
//	senders     roles of external agents: agent=ARN, separated by commas   none
//	role-ids    IDs of external agents' roles: agent=AROA…, with commas    none, with a warning
//	workflows   files and folders, separated by commas                     app/order.yaml
//	email       address for alerts and alarms                              none, with a warning
//	operators   ARNs of roles that may redrive dead letters, with commas   none
//	reply-to    queues and buses for statuses: name=ARN, with commas       a queue "shop" of the stack
//	profile     Production, or Dev for a trial stack with low costs        Production
//	keep        false: delete tables and queues with the stack             true; false with Dev
//	x86         true: build the functions for x86-64                       false
//	key         true: encrypt all data with a key of the stack             false
//	finished    true: list ended orders too                                false
//	dashboard   true: add a CloudWatch dashboard for operators             false
//	outcomes    true: add metrics of ended orders, which AWS bills         false
//	fair        true: use fair queues; the tenant is the part of an        false
//	            order's ID before the first colon
//	priorities  functions for orders of high priority: intake=2 and        none
//	            AGENT=2, separated by commas
//	sweep       interval of the Supervisor, whole minutes up to 1h         1m; 5m with Dev
//	pages       maximum number of index pages in one sweep                 50
//	versions    true: publish a version of a function for each change      false
//	replicas    Regions with replicas of the tables, with commas           none
//	tables      existing tables, see below                                 new tables
//	paused      true: disable all mappings and the schedule                false
//	nag         true: check with cdk-nag                                   false
//	prebuilt    folder with the function archives of a release             functions built here
//
// An entry of secrets has the form agent.VARIABLE=PLACE. PLACE is one of the following:
//
//   - The complete ARN of a secret in Secrets Manager, such as arn:aws:secretsmanager:…:secret:pay-AbCdEf.
//   - Such an ARN with a field, as in …:secret:pay-AbCdEf#token, if the secret is a JSON object.
//   - The name of a SecureString in Parameter Store, such as /pay/token.
//
// The template contains only PLACE, and not the secret. If a secret has its own encryption key, write your
// own app.
//
// An entry of tables has the form orders=ARN, definitions=ARN or ledger.AGENT=ARN. docs/how-to/aws-restore.md
// describes when to use this setting.
package main

import (
	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/app/example"
)

func main() { infra.Main(example.Add) }
