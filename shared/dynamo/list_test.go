package dynamo_test

import (
	"errors"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Finished orders that are in no index are refused, not passed over.
func TestFinishedOrdersAreNotListed(t *testing.T) {
	s := newStore(t, dynamo.Options{})
	for _, state := range []string{"Processed", "Compensated", "Cancelled"} {
		if _, err := s.List(t.Context(), port.Query{State: state, Limit: 10}); !errors.Is(err,
			dynamo.ErrNotListed) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// Nothing but this machine, or an account by its number (rule 27).
func TestTargets(t *testing.T) {
	for target, good := range map[string]bool{
		"http://127.0.0.1:8000": true, "http://localhost:4566": true, "http://[::1]:8000": true,
		"account:123456789012":                     true,
		"https://dynamodb.us-east-1.amazonaws.com": false, "http://10.0.0.1:8000": false,
		"127.0.0.1:8000": false, "account:": false, "account:1": false,
	} {
		if err := dynamotest.Check(target); (err == nil) != good {
			t.Errorf("%s: %v", target, err)
		}
	}
}
