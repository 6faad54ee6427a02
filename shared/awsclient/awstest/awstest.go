// Package awstest connects tests to an emulator on this machine or to a real AWS account. An environment
// variable holds the target (rule 27 of docs/reference/aws-rules.md):
//
//	http://127.0.0.1:4566     an emulator on this machine
//
//	account:123456789012      a real account; the tests create and remove resources in this account
package awstest

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/loopback"
)

const accountPrefix = "account:"

// Config returns the SDK's configuration for the variable's target. If the variable is not set, Config skips
// the test. The argument how is part of the message about the skipped test. It states how to run the test.
// The caller may change the configuration before it makes clients.
func Config(t testing.TB, variable, how string, o awsclient.Options) aws.Config {
	t.Helper()
	target := os.Getenv(variable)
	if target == "" {
		t.Skipf("NOT RUN: %s, or set %s", how, variable)
	}
	endpoint, account, err := parse(variable, target)
	if err != nil {
		t.Fatal(err)
	}
	o.Endpoint = endpoint
	c, err := awsclient.Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	if account != "" {
		who, err := sts.NewFromConfig(c).GetCallerIdentity(context.Background(),
			&sts.GetCallerIdentityInput{})
		if err != nil {
			t.Fatal(err)
		}
		if got := aws.ToString(who.Account); got != account {
			t.Fatalf("the credentials are of account %s, %s asks for %s; nothing was touched", got, variable,
				account)
		}
	}
	return c
}

// Emulated returns false if the variable's target is a real account, and true otherwise.
func Emulated(variable string) bool { return !strings.HasPrefix(os.Getenv(variable), accountPrefix) }

func parse(variable, target string) (endpoint, account string, err error) {
	if account, ok := strings.CutPrefix(target, accountPrefix); ok {
		if len(account) != 12 || strings.Trim(account, "0123456789") != "" {
			return "", "", fmt.Errorf("%s=%s: an account has twelve digits", variable, target)
		}
		return "", account, nil
	}
	u, err := url.Parse(target)
	if err == nil && (u.Scheme == "http" || u.Scheme == "https") && loopback.Is(u.Hostname()) {
		return target, "", nil
	}
	return "", "",
		fmt.Errorf(
			"%s=%s is not on this machine: give http://127.0.0.1:PORT, or %s<number> for a real account",
			variable, target, accountPrefix)
}
