// Command app is the CDK app that deploys the example: orders of goods, done by the ready HTTP
// agent. `make deploy` runs it; docs/how-to/aws-app.md has an app of your own.
//
// Its settings are CDK context, `-c name=value`, with paths from the folder infra; each has a default:
//
//	stack      name of the stack; several may live in one account            Stepkeeper
//	agents     file of HTTP agents, external ones among them                 app/agents.yaml
//	secrets    where secrets are kept, see below, with commas between them   none
//	senders    roles of external agents, agent=ARN with commas between them  none
//	role-ids   IDs of those roles, agent=AROA… with commas between them      none, with a warning
//	workflows  files and folders, with commas between them                   app/order.yaml
//	email      who gets alerts and alarms                                    none, with a warning
//	operators  ARNs that may redrive dead letters, with commas               none
//	reply-to   status queues and event buses, name=ARN with commas between   a queue "shop" of the stack
//	profile    Dev for a cheap stack that nobody depends on                  Production
//	keep       false deletes tables and queues with the stack                true; Dev: false
//	x86        build for x86-64                                              false
//	key        encrypt everything with a key of the stack's own              false
//	finished   list ended orders too                                         false
//	dashboard  a page in CloudWatch of what an operator looks at first       false
//	outcomes   metrics of ended orders, which AWS bills                      false
//	fair       fair queues: an order's tenant stands before the first colon  false
//	           of its ID
//	priorities  functions for orders of high priority alone: intake=2 and    none
//	           AGENT=2, with commas between them
//	sweep      interval of the Supervisor, whole minutes up to 1h            1m; Dev: 5m
//	pages      of the index, at most in one sweep                            50
//	versions   switch functions by an alias, with code and settings at once  false
//	replicas   Regions that get copies of the tables, with commas            none
//	tables     tables that are there already, see below                      new ones
//	paused     start nothing: no mapping, no schedule                        false
//	nag        check with cdk-nag                                            false
//	prebuilt   folder with the function zips of a release                    built here
//
// A secret is agent.VARIABLE=PLACE, as in payment.TOKEN=arn:aws:secretsmanager:…:secret:pay-AbCdEf#token,
// where #token is a field of a secret that is a JSON object, or payment.TOKEN=/pay/token, the name of a
// SecureString of the Parameter Store. Only the place is in the template. A secret that is encrypted with a
// key of its own needs an app of your own.
//
// A table is orders=ARN, tasks=ARN, definitions=ARN, or ledger.AGENT=ARN; docs/how-to/aws-restore.md says
// when.
package main

import (
	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/app/example"
)

func main() { infra.Main(example.Add) }
