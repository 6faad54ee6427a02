// Package languages finds out which grades agents in Python and TypeScript earn as Lambda functions. The
// functions run on LocalStack, from the bundles that the construct makes, with a ledger in its DynamoDB.
//
// It is run by `make integration`; plain `go test` skips it and says so.
package languages

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
)

// function is the function of an agent on LocalStack.
type function struct {
	name     string
	endpoint string // LocalStack's
	lambda   *lambda.Client
	dynamo   *dynamodb.Client
}

func TestGradesOnLambda(t *testing.T) {
	endpoint := os.Getenv("STEPKEEPER_INTEGRATION")
	if endpoint == "" || os.Getenv("STEPKEEPER_BACKEND") == "ministack" {
		t.Skip("SKIPPED: it needs LocalStack; run `make integration`")
	}
	require.NoError(t, cdkapp.Loopback(endpoint))
	c, err := config.LoadDefaultConfig(t.Context(), config.WithBaseEndpoint(endpoint))
	require.NoError(t, err)
	for _, l := range []struct {
		name, program, place, handler string
		runtime                       lambdatypes.Runtime
		files                         map[string]string
	}{
		{
			"python", "python/tests/trial.py", "agent.py", "agent.handler", lambdatypes.RuntimePython313,
			map[string]string{"requirements.txt": "SDK/python\n"},
		},
		{
			"typescript", "typescript/tests/trial.ts", "src/agent.ts", "index.handler",
			lambdatypes.RuntimeNodejs22x,
			map[string]string{
				".npmrc": "install-links=true\n",
				"package.json": `{"type": "module", "dependencies": {"stepkeeper": "file:SDK/typescript"},
					"devDependencies": {"esbuild": "0.28.2"}}`,
			},
		},
	} {
		t.Run(l.name, func(t *testing.T) {
			f := function{"sdk-" + l.name, endpoint, lambda.NewFromConfig(c), dynamodb.NewFromConfig(c)}
			program := filepath.Join("..", "..", "sdk", filepath.FromSlash(l.program))
			code := bundle(t, program, l.place, l.files)
			o, err := agenttest.Attach(t.Context(), "coats")
			require.NoError(t, err)
			defer o.Close()
			o.Patience = 90 * time.Second // a first start is slow on a busy machine
			effects := t.TempDir()
			f.create(t, l.runtime, l.handler, code, o.URL(), effects)
			f.consume(t, o.URL())
			o.Earns(t, probe(effects, "hang", "give-back"), agenttest.Idempotent)
			o.Earns(t, probe(effects, "tally", "untally"), agenttest.Plain)
		})
	}
}

// probe counts the effects of a key, which the service of the trial keeps as files.
func probe(folder, do, undo string) agenttest.Probe {
	return agenttest.Probe{
		Do: do, Undo: undo, Input: []byte("{}"), Between: 3,
		Timeout: time.Minute, // a busy machine makes no request late
		Effects: func(key string) int {
			files, _ := filepath.Glob(filepath.Join(folder, strings.ReplaceAll(key, "/", "_")+".*"))
			return len(files)
		},
	}
}

// bundle returns the zip of an agent, with the package from its folder.
func bundle(t *testing.T, program, place string, files map[string]string) []byte {
	t.Helper()
	sdk, err := filepath.Abs("../../sdk")
	text, errRead := os.ReadFile(program)
	require.NoError(t, err)
	require.NoError(t, errRead)
	folder := t.TempDir()
	out := t.TempDir()
	put := func(name, text string) {
		path := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	put(place, strings.ReplaceAll(string(text), "../src/index.js", "stepkeeper"))
	for name, text := range files {
		put(name, strings.ReplaceAll(text, "SDK", filepath.ToSlash(sdk)))
	}
	t.Setenv("PIP_RETRIES", "8") // a registry may be away for minutes
	require.NoError(t, build.Bundle(folder, out, true))
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	require.NoError(t, w.AddFS(os.DirFS(out)))
	require.NoError(t, w.Close())
	return b.Bytes()
}

// create makes the function and the table of its ledger, and removes them at the end of the test.
func (f function) create(t *testing.T, runtime lambdatypes.Runtime, handler string, code []byte,
	queues, effects string,
) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	_, err := f.dynamo.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName:   &f.name,
		BillingMode: dynamotypes.BillingModePayPerRequest,
		AttributeDefinitions: []dynamotypes.AttributeDefinition{{
			AttributeName: aws.String("Key"),
			AttributeType: dynamotypes.ScalarAttributeTypeS,
		}},
		KeySchema: []dynamotypes.KeySchemaElement{{
			AttributeName: aws.String("Key"),
			KeyType:       dynamotypes.KeyTypeHash,
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = f.dynamo.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &f.name}) })
	address := func(queue string) string { return queues + "/000000000000/" + queue }
	urls, err := json.Marshal(map[string]string{
		"requests-coats": address("requests-coats"),
		"replies":        address("replies"), "quarantine": address("quarantine"),
	})
	require.NoError(t, err)
	_, err = f.lambda.CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: &f.name,
		Runtime:      runtime, Handler: &handler, Code: &lambdatypes.FunctionCode{ZipFile: code},
		Role: aws.String("arn:aws:iam::000000000000:role/sdk"), Timeout: aws.Int32(30),
		Environment: &lambdatypes.Environment{Variables: map[string]string{
			"TRIAL":            effects,
			"AWS_ENDPOINT_URL": f.endpoint, "AWS_ENDPOINT_URL_SQS": queues, "STEPKEEPER_AGENT": "coats",
			"STEPKEEPER_LEDGER": f.name, "STEPKEEPER_QUEUES": string(urls),
		}},
	})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = f.lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: &f.name})
	})
	active := lambda.NewFunctionActiveV2Waiter(f.lambda)
	err = active.Wait(ctx, &lambda.GetFunctionInput{FunctionName: &f.name}, 2*time.Minute)
	require.NoError(t, err)
}

// consume does what the mapping of a queue does, because the queue is the test's: it invokes the function
// with batches, and deletes the messages that it does not report as failed.
func (f function) consume(t *testing.T, queues string) {
	client := sqs.New(sqs.Options{
		Region: "eu-central-1", BaseEndpoint: &queues,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "thing"}, nil
		}),
	})
	url := aws.String(queues + "/000000000000/requests-coats")
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	ended := make(chan struct{})
	t.Cleanup(func() { stop(); <-ended })
	go func() {
		defer close(ended)
		for ctx.Err() == nil {
			got, err := client.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{
				QueueUrl:            url,
				MaxNumberOfMessages: 10, WaitTimeSeconds: 5, VisibilityTimeout: 60,
			})
			if err != nil || len(got.Messages) == 0 {
				continue
			}
			failed, err := f.invoke(ctx, got.Messages)
			if err != nil {
				t.Log(err) // all of them come again
				continue
			}
			for _, m := range got.Messages {
				if !failed[*m.MessageId] {
					_, _ = client.DeleteMessage(ctx, &sqs.DeleteMessageInput{
						QueueUrl:      url,
						ReceiptHandle: m.ReceiptHandle,
					}) // it comes again
				}
			}
		}
	}()
}

// invoke returns the messages that must come again.
func (f function) invoke(ctx context.Context, messages []sqstypes.Message) (map[string]bool, error) {
	var event events.SQSEvent
	for _, m := range messages {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId:     *m.MessageId,
			ReceiptHandle: *m.ReceiptHandle, Body: *m.Body,
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	got, err := f.lambda.Invoke(ctx, &lambda.InvokeInput{FunctionName: &f.name, Payload: payload})
	if err != nil {
		return nil, err
	}
	var answer events.SQSEventResponse
	if err := json.Unmarshal(got.Payload, &answer); err != nil || got.FunctionError != nil {
		return nil, &functionError{string(got.Payload)}
	}
	failed := map[string]bool{}
	for _, item := range answer.BatchItemFailures {
		failed[item.ItemIdentifier] = true
	}
	return failed, nil
}

type functionError struct{ payload string }

func (e *functionError) Error() string { return "the function failed: " + e.payload }
