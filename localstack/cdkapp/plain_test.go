package cdkapp_test

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

const synthesised = `{"Resources":{
 "CDKMetadata":{"Type":"AWS::CDK::Metadata","Condition":"CDKMetadataAvailable"},
 "F":{"Type":"AWS::Lambda::Function","Properties":{"MemorySize":256,"Code":{
  "S3Bucket":{"Fn::Sub":"cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}"},"S3Key":"abc.zip"}}},
 "L":{"Type":"AWS::Logs::LogGroup","Properties":{"RetentionInDays":30}},
 "T":{"Type":"AWS::SNS::Topic"},"Own":{"Type":"AWS::SNS::Topic"}EMAIL},
 "Outputs":{"EngineAlertsTopic":{"Value":{"Ref":"T"}},"OwnUrl":{"Value":{"Ref":"Own"}}},
 "Conditions":{"CDKMetadataAvailable":{"Fn::Equals":["a","a"]}},
 "Parameters":{"BootstrapVersion":{"Type":"AWS::SSM::Parameter::Value<String>"}},
 "Rules":{"CheckBootstrapVersion":{}}}`

// assembly returns the output of an app with more resources.
func assembly(t *testing.T, more string) *cdkapp.Assembly {
	t.Helper()
	app := t.TempDir()
	for name, text := range map[string]string{
		"cdk.json":               `{"app":"cp -R out/. \"$CDK_OUTDIR\""}`,
		"out/Shop.template.json": strings.Replace(synthesised, "EMAIL", more, 1),
		"out/Shop.assets.json": `{"files":{"abc":{"source":{"path":"asset.abc","packaging":"zip"},"destinations":{"d":{"bucketName":"cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}","objectKey":"abc.zip"}}},
			"def":{"source":{"path":"asset.def.jar","packaging":"file"},"destinations":{"d":{"bucketName":"cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}","objectKey":"x/def.jar"}}},
			"t":{"source":{"path":"Shop.template.json","packaging":"file"},"destinations":{"d":{"bucketName":"cdk-hnb659fds-assets-${AWS::AccountId}-${AWS::Region}","objectKey":"t.json"}}}}}`,
		"out/asset.abc/bootstrap": "program",
		"out/asset.def.jar":       "archive",
	} {
		path := filepath.Join(app, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	a, err := cdkapp.Synthesise(t.Context(), app, t.TempDir(), "", nil)
	require.NoError(t, err)
	return a
}

// plain writes the plain template of such an app.
func plain(t *testing.T, more string) (dir string, written map[string]map[string]any) {
	t.Helper()
	a := assembly(t, more)
	dir = filepath.Join(t.TempDir(), "release")
	path, err := a.WritePlain(dir)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(data, &written)
	}
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "Shop.template.json"), path)
	return dir, written
}

// A plain template names no bucket of the CDK's bootstrap, and its parameters keep the app's values.
func TestPlainTemplate(t *testing.T) {
	dir, got := plain(t, "")
	text := func(v any) string {
		data, err := json.Marshal(v)
		require.NoError(t, err)
		return string(data)
	}
	for what, c := range map[string][2]string{
		"code": {text(got["Resources"]["F"]), `{"Properties":{"Code":{"S3Bucket":{"Ref":"AssetsBucket"},"S3Key":{"Fn::Sub":"${AssetsPrefix}abc.zip"}},"MemorySize":{"Ref":"FMemory"}},"Type":"AWS::Lambda::Function"}`},
		"memory": {
			text(got["Parameters"]["FMemory"]),
			`{"Default":256,"Description":"Memory of F in MB","MaxValue":10240,"MinValue":128,"Type":"Number"}`,
		},
		"retention": {
			text(got["Resources"]["L"]),
			`{"Properties":{"RetentionInDays":{"Ref":"LogRetention"}},"Type":"AWS::Logs::LogGroup"}`,
		},
		"e-mail": {text(got["Resources"]["TEmail"]), `{"Condition":"HasEmail","Properties":{"Endpoint":{"Ref":"AlarmEmail"},"Protocol":"email","TopicArn":{"Ref":"T"}},"Type":"AWS::SNS::Subscription"}`},
	} {
		if c[0] != c[1] {
			t.Errorf("%s\n got %s\nwant %s", what, c[0], c[1])
		}
	}
	require.Nil(t, got["Resources"]["OwnEmail"])
	for _, unwanted := range []string{"cdk-hnb659fds", "BootstrapVersion", "CDKMetadata"} {
		require.NotContains(t, text(got), unwanted)
	}
	archive, err := zip.OpenReader(filepath.Join(dir, "abc.zip"))
	require.NoError(t, err)
	require.Len(t, archive.File, 1)
	require.Equal(t, "bootstrap", archive.File[0].Name)
	require.EqualValues(t, 0o755, archive.File[0].Mode().Perm())
}

// The address that the app names is the parameter's default.
func TestPlainTemplateWithAnAddress(t *testing.T) {
	_, got := plain(
		t,
		`,"S":{"Type":"AWS::SNS::Subscription","Properties":{"Protocol":"email","Endpoint":"ops@example.com","TopicArn":{"Ref":"T"}}}`,
	)
	parameter, _ := got["Parameters"]["AlarmEmail"].(map[string]any)
	require.EqualValues(t, "ops@example.com", parameter["Default"])
	require.Nil(t, got["Resources"]["TEmail"])
	require.Nil(t, got["Conditions"]["HasEmail"])
}

// What has different values is the app's own business, and an asset that is no code needs the bootstrap.
func TestPlainTemplateOfAnApp(t *testing.T) {
	_, got := plain(t, `,"S":{"Type":"AWS::SNS::Subscription","Properties":{"Protocol":"email","Endpoint":"a@example.com","TopicArn":{"Ref":"T"}}},
		"S2":{"Type":"AWS::SNS::Subscription","Properties":{"Protocol":"email","Endpoint":"b@example.com","TopicArn":{"Ref":"T"}}},
		"L2":{"Type":"AWS::Logs::LogGroup","Properties":{"RetentionInDays":7}},
		"G":{"Type":"AWS::Lambda::Function","Properties":{"Code":{"S3Bucket":"mine","S3Key":"own.zip"}}}`)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	require.Nil(t, got["Parameters"]["LogRetention"])
	require.Nil(t, got["Parameters"]["AlarmEmail"])
	require.Contains(t, string(text), `"RetentionInDays":7`)
	require.Contains(t, string(text), `{"S3Bucket":"mine","S3Key":"own.zip"}`)
	a := assembly(t, `,"Y":{"Type":"AWS::Lambda::LayerVersion","Properties":{"Content":{"S3Bucket":"cdk-abc-assets-1"}}}`)
	_, err = a.WritePlain(t.TempDir())
	require.ErrorContains(t, err, "deploy it with the CDK")
}

// Subscriptions that are no mail of Stepkeeper's topics stay, code may be an archive, and memory may be an
// expression.
func TestPlainTemplateOfOtherResources(t *testing.T) {
	dir, got := plain(t, `,"S":{"Type":"AWS::SNS::Subscription","Properties":{"Protocol":"https","Endpoint":"https://example.com","TopicArn":{"Ref":"T"}}},
		"S2":{"Type":"AWS::SNS::Subscription","Properties":{"Protocol":"email","Endpoint":"a@example.com","TopicArn":{"Ref":"Own"}}},
		"G":{"Type":"AWS::Lambda::Function","Properties":{"MemorySize":{"Ref":"Size"},"Code":{"S3Bucket":"files","S3Key":"x/def.jar"}}}`)
	text, err := json.Marshal(got)
	require.NoError(t, err)
	for _, want := range []string{
		`"Endpoint":"https://example.com"`, `"Endpoint":"a@example.com"`,
		`"TEmail":{"Condition":"HasEmail"`, `"S3Key":{"Fn::Sub":"${AssetsPrefix}def.zip"}`,
		`"MemorySize":{"Ref":"Size"}`,
	} {
		require.Contains(t, string(text), want)
	}
	data, err := os.ReadFile(filepath.Join(dir, "def.zip"))
	require.NoError(t, err)
	require.Equal(t, "archive", string(data))
}

// A parameter of the app is not replaced.
func TestPlainTemplateKeepsParameters(t *testing.T) {
	a := assembly(t, "")
	a.Template["Parameters"].(map[string]any)["LogRetention"] = map[string]any{"Type": "String"}
	_, err := a.WritePlain(t.TempDir())
	require.ErrorContains(t, err, "parameter LogRetention, and the app has one")
}
