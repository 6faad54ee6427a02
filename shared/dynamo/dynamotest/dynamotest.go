// Package dynamotest gives tests a DynamoDB to run against: DynamoDB Local, LocalStack or, only if the
// variable gives the number of the account, a real one.
//
//	STEPKEEPER_DYNAMODB=http://127.0.0.1:8000     an emulator on this machine
//	STEPKEEPER_DYNAMODB=account:123456789012      the tables are made, used and removed there
//
// Without the variable the tests are skipped with a message; `make test-dynamo` sets it.
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

// Variable is the name of the variable with the target of the tests.
const Variable = "STEPKEEPER_DYNAMODB"

// Config returns the SDK's configuration, or skips the test. It may be changed before clients are made.
func Config(t testing.TB, o awsclient.Options) aws.Config {
	t.Helper()
	return awstest.Config(t, Variable,
		"this test needs a DynamoDB; `make test-dynamo` starts one on this machine", o)
}

// Emulated reports whether the tests run against an emulator, whose index is never stale.
func Emulated() bool { return awstest.Emulated(Variable) }

// Check returns an error if a value of the variable cannot be used.
func Check(target string) error { return awstest.Check(Variable, target) }

// Names holds the names of fresh tables and a fresh ledger.
type Names struct {
	dynamo.Tables
	Ledger string
}

var made atomic.Int64

// Tables creates fresh tables and removes them at the end of the test.
func Tables(t testing.TB, client *dynamodb.Client) Names {
	t.Helper()
	prefix := fmt.Sprintf("stepkeeper-test-%d-%d-%d-", os.Getpid(), time.Now().UnixNano(), made.Add(1))
	n := Names{dynamo.Tables{Orders: prefix + "orders", Definitions: prefix + "definitions"},
		prefix + "ledger"}
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
