package author

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

// The lines to type after a deployment name its endpoint, its Region and its stack.
func TestDeployedIsPrinted(t *testing.T) {
	var out bytes.Buffer
	o := &deployOptions{app: app.New(&streams.Streams{Out: &out, Err: &out}, os.Getenv)}
	if err := o.print(localStack{"shop-local", "http://127.0.0.1:4566", "us-east-1", map[string]string{
		"EngineIntakeUrl": "http://intake", "EngineRepliesUrl": "http://replies",
		"StatusUrl": "http://status"}}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"the stack shop-local is deployed", "http://intake", "http://status",
		"export AWS_ENDPOINT_URL=http://127.0.0.1:4566 AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \\\n",
		"stepkeeper --stack shop-local list"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is not printed in\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "http://replies") {
		t.Errorf("an output that no application needs is printed:\n%s", out.String())
	}
}
