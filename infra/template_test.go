package infra_test

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/infra"
)

// Hashes of functions and workflows.
var assetHash = regexp.MustCompile(`[0-9a-f]{64}|\b[0-9a-f]{32}\b`)

// The whole template of the example, so that no change to it goes unseen: `go test ./infra -update`.
func TestGolden(t *testing.T) {
	needNode(t)
	_, stack := newStack("Shop")
	infra.NewStepkeeper(stack, "Engine", shop(stack))
	var got bytes.Buffer
	e := json.NewEncoder(&got)
	e.SetIndent("", " ")
	e.SetEscapeHTML(false)
	require.NoError(t, e.Encode(assertions.Template_FromStack(stack, nil).ToJSON()))
	text := assetHash.ReplaceAll(got.Bytes(), []byte("HASH"))
	golden.Assert(t, string(text), "shop.template.json")
}

// Nothing has a physical name, so that two stacks live in one account, and two engines in one stack.
func TestSideBySide(t *testing.T) {
	needNode(t)
	app, first := newStack("First")
	p := shop(first)
	infra.NewStepkeeper(first, "Engine", p)
	infra.NewStepkeeper(first, "Another", p)
	second := awscdk.NewStack(app, str("Second"),
		&awscdk.StackProps{Env: &awscdk.Environment{Account: str(account), Region: str(region)}})
	infra.NewStepkeeper(second, "Engine", small(second))
	for _, stack := range []awscdk.Stack{first, second} {
		x := read(t, stack)
		for id, o := range x.Outputs {
			same(t, id+": exported under a name of its own", o.Export, nil)
		}
		for id, r := range x.Resources {
			for property, value := range r.Properties {
				name := strings.TrimPrefix(r.Type[strings.LastIndex(r.Type, ":")+1:], "Global") + "Name"
				if (property == name || property == "Name") && r.Type != "AWS::Lambda::Permission" {
					t.Errorf("%s has the name %v of its own", id, value)
				}
			}
		}
	}
}

func str(s string) *string { return &s }
