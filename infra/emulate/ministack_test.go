package emulate_test

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
)

// rewritten is a template as an emulator gets it.
func rewritten(rewrite func(map[string]any) error, template []byte) ([]byte, error) {
	var t map[string]any
	if err := json.Unmarshal(template, &t); err != nil {
		return nil, err
	}
	if err := rewrite(t); err != nil {
		return nil, err
	}
	return json.Marshal(t)
}

func TestMiniStack(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{
			"allowed", `{"P":{"Effect":"Allow","Action":"sqs:SendMessage","Resource":"q"}}`,
			`{"P":{"Action":["sqs:SendMessage","sqs:SendMessageBatch"],"Effect":"Allow","Resource":"q"}}`,
		},
		{
			"an alarm on a calculation", `{"Resources":{"A":{"Properties":{"Metrics":[]},"Type":"AWS::CloudWatch::Alarm"},"B":{"Properties":{"MetricName":"m"},"Type":"AWS::CloudWatch::Alarm"}}}`,
			`{"Resources":{"B":{"Properties":{"MetricName":"m"},"Type":"AWS::CloudWatch::Alarm"}}}`,
		},
		{
			"a secret's ARN",
			`{"Resources":{"F":{"A":{"Ref":"S"},"B":[{"Ref":"F"}]},"S":{"Type":"AWS::SecretsManager::Secret"}}}`,
			`{"Resources":{"F":{"A":{"Fn::GetAtt":["S","Id"]},"B":[{"Ref":"F"}]},"S":{"Type":"AWS::SecretsManager::Secret"}}}`,
		},
		{
			"not allowed", `{"P":{"Effect":"Allow","Action":["sqs:ReceiveMessage"],"Resource":"q"}}`,
			`{"P":{"Action":["sqs:ReceiveMessage"],"Effect":"Allow","Resource":"q"}}`,
		},
		{
			"refused unless known", `{"P":[{"Effect":"Deny","Action":"sqs:SendMessage","Condition":{"ArnNotEquals":{"aws:PrincipalArn":[{"Fn::GetAtt":["ARole1","Arn"]},"arn:x"]}}}]}`,
			`{"P":[{"Action":["sqs:SendMessage","sqs:SendMessageBatch"],"Condition":{"ArnNotLike":{"aws:PrincipalArn":[{"Fn::GetAtt":["ARole1","Arn"]},"arn:x",{"Fn::Sub":"arn:${AWS::Partition}:sts::${AWS::AccountId}:assumed-role/${ARole1}/*"}]}},"Effect":"Deny"}]}`,
		},
	} {
		got, err := rewritten(emulate.MiniStack, []byte(c.in))
		require.NoError(t, err, c.name)
		require.Equal(t, c.want, string(got), c.name)
	}
	shop, err := os.ReadFile("../testdata/shop.template.json")
	require.NoError(t, err)
	got, err := rewritten(emulate.MiniStack, shop)
	require.NoError(t, err)
	require.False(t, bytes.Contains(got, []byte("ArnNotEquals")))
	require.Equal(t, 4+4+5+2, bytes.Count(got, []byte("assumed-role")))
}

// P32: a mapping polls one batch at a time, so that this is what a queue's reader takes.
func TestLocalStack(t *testing.T) {
	in := `{"Resources":{"F":{"Properties":{"Environment":{"Variables":{"A":"b","STEPKEEPER_CAPACITY":"{\"payment\":50,\"scheduler\":100}"}}}},"Q":{"Type":"AWS::SQS::Queue"}}}`
	want := `{"Resources":{"F":{"Properties":{"Environment":{"Variables":{"A":"b","STEPKEEPER_CAPACITY":"{\"payment\":5,\"scheduler\":5}"}}}},"Q":{"Type":"AWS::SQS::Queue"}}}`
	got, err := rewritten(emulate.LocalStack, []byte(in))
	require.NoError(t, err)
	require.Equal(t, want, string(got))
}
