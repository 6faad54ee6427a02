// Package dynamotest connects tests to DynamoDB. An environment variable selects an emulator, such as
// DynamoDB Local or LocalStack, or an AWS account.
//
//	STEPKEEPER_DYNAMODB=http://127.0.0.1:8000     an emulator on this machine
//	STEPKEEPER_DYNAMODB=account:123456789012      an AWS account; tests create and remove tables
//
// If the variable is not set, Config skips the test. `make test-dynamo` sets the variable.
package dynamotest

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/awstest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// Variable is the name of the environment variable that selects the target of the tests.
const Variable = "STEPKEEPER_DYNAMODB"

// Config returns the SDK's configuration for the target in Variable. It skips the test if Variable is not
// set. The caller may change the configuration.
func Config(t testing.TB, o awsclient.Options) aws.Config {
	t.Helper()
	return awstest.Config(t, Variable,
		"this test needs a DynamoDB; `make test-dynamo` starts one on this machine", o)
}

// Emulated reports whether the tests run against an emulator. The index of an emulator is never stale,
// unlike the index on AWS.
func Emulated() bool { return awstest.Emulated(Variable) }

// Names holds the names of the tables and of the ledger that Tables creates.
type Names struct {
	dynamo.Tables
	Ledger string
}

var made atomic.Int64

// Tables creates the tables and a ledger, with new names. At the end of the test, it deletes them.
func Tables(t testing.TB, client *dynamodb.Client) Names {
	t.Helper()
	prefix := fmt.Sprintf("stepkeeper-test-%d-%d-%d-", os.Getpid(), time.Now().UnixNano(), made.Add(1))
	n := Names{
		dynamo.Tables{Orders: prefix + "orders", Definitions: prefix + "definitions"},
		prefix + "ledger",
	}
	ctx := wire.WithCallTimeout(context.Background(), time.Minute)
	t.Cleanup(func() {
		for _, name := range []string{n.Orders, n.Definitions, n.Ledger} {
			if _, err := client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &name}); err != nil {
				t.Logf("table %s is left behind: %v", name, err)
			}
		}
	})
	if err := dynamo.CreateTables(ctx, client, n.Tables, n.Ledger); err != nil {
		t.Fatal(err)
	}
	return n
}
