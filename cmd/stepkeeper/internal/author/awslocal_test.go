package author

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/internal/reference"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// The lines to type after a deployment name its endpoint, its Region and its stack.
func TestDeployedIsPrinted(t *testing.T) {
	var out bytes.Buffer
	const queues = "http://127.0.0.1:4566/000000000000/"
	o := &deployOptions{app: app.New(&streams.Streams{Out: &out, Err: &out}, os.Getenv)}
	o.print(localStack{"shop-local", "http://127.0.0.1:4566", "us-east-1", map[string]string{
		"EngineIntakeUrl": queues + "shop-local-EngineIntake", "EngineRepliesUrl": queues + "shop-local-EngineReplies",
		"StatusUrl": queues + "shop-local-Status",
	}, cdkapp.Template{"Outputs": map[string]any{
		"StatusUrl": map[string]any{"Description": "reply-to app"},
	}}})
	for _, want := range []string{
		"the stack shop-local is deployed", "shop-local-EngineIntake\n", "shop-local-Status  reply-to app\n",
		"export AWS_ENDPOINT_URL=http://127.0.0.1:4566 AWS_REGION=us-east-1 AWS_DEFAULT_REGION=us-east-1 \\\n",
		"stepkeeper --stack shop-local list",
	} {
		require.Contains(t, out.String(), want)
	}
	require.NotContains(t, out.String(), "EngineReplies", "an output that no application needs is printed")
	reference.Printed(t, "../../../../docs/how-to/localstack.md", "stepkeeper aws local deploy", out.String())
}

// The lines to type after a template was written name its files, also with a space in their path.
func TestTemplateIsPrinted(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("CDK apps need node")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"cdk.json":           `{"app":"cp Shop.*.json \"$CDK_OUTDIR\""}`,
		"Shop.template.json": `{"Resources":{"T":{"Type":"AWS::SNS::Topic"}}}`,
		"Shop.assets.json":   `{}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	var out bytes.Buffer
	cmd := NewAWS(app.New(&streams.Streams{Out: &out, Err: &out}, os.Getenv))
	to := filepath.Join(dir, "my release")
	cmd.SetArgs([]string{"template", dir, "--out", to})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	for _, want := range []string{"aws s3 cp '" + to + "' s3://BUCKET/Shop/ ", "--template-file '" + to +
		"/Shop.template.json' ", "--s3-bucket BUCKET", " AssetsBucket=BUCKET AssetsPrefix=Shop/\n"} {
		require.Contains(t, out.String(), want)
	}
	s, b := streams.Test(false)
	inJSON := app.New(s, os.Getenv)
	args := []string{"aws", "template", dir, "--out", to, "--output", "json"}
	require.Zero(t, inJSON.Execute(t.Context(), inJSON.Root(NewAWS(inJSON)), args))
	require.Equal(t, `{"progress":"building the functions and the template …"}`+"\n", b.Err.String())
	page, err := filepath.Abs("../../../../docs/how-to/aws-app.md")
	require.NoError(t, err)
	t.Chdir(dir)
	out.Reset()
	cmd.SetArgs([]string{"template", "--context", "stage=prod", "--out", "template"})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	reference.Printed(t, page, "stepkeeper aws template --context stage=prod", out.String())
}
