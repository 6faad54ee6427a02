package integration

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/stretchr/testify/require"

	functions "github.com/stepkeeper/stepkeeper/infra/build"
)

// stocking invokes a Lambda function, and undoes that if the second step is refused.
const stocking = `workflow: stocking
grace: 2s
tellAfter: 2s
agents:
  stock: {queueAllowance: 20s, clockSkew: 100ms}
  payment: {queueAllowance: 20s, clockSkew: 100ms}
steps:
  reserve:
    agent: stock
    operation: reserve
    input: {sku: "${ order.items[0].sku }"}
    timeout: 10s
    onFailure: undo
    undo: release
    grade: fenced
  settle:
    agent: payment
    operation: settle
    after: [reserve]
    input: {reservation: "${ steps.reserve.output }"}
    timeout: 2s
    onFailure: undo
    undo: none
    grade: fenced
`

// stockAgent is the entry of an agent that invokes a function of that name.
func stockAgent(region, function string) string {
	return fmt.Sprintf("  stock:\n    aws: {invoke: \"arn:aws:lambda:%s:000000000000:function:%s\"}\n"+
		"    classify: {OutOfStock: permanent}\n    retry: {tries: 1}\n    breaker: {off: true}\n"+
		"    operations: {reserve: {}, release: {classify: {OutOfStock: done}}}\n", region, function)
}

// makeExisting makes the function, before anything of Stepkeeper is deployed.
func (s *site) makeExisting(ctx context.Context, name string) error {
	folder, err := filepath.Abs(filepath.Join("testdata", "existing"))
	if err != nil {
		return err
	}
	x86 := runtime.GOARCH == "amd64"
	program := filepath.Join(s.dir, "existing")
	if err := functions.Go(functions.Binary{Package: folder, X86: x86, Out: program}); err != nil {
		return err
	}
	data, err := os.ReadFile(program)
	if err != nil {
		return err
	}
	var packed bytes.Buffer
	w := zip.NewWriter(&packed)
	header := &zip.FileHeader{Name: "bootstrap", Method: zip.Deflate}
	header.SetMode(0o755)
	file, err := w.CreateHeader(header)
	if err != nil {
		return err
	}
	if _, err := file.Write(data); err != nil {
		return err
	}
	if err := w.Close(); err != nil {
		return err
	}
	architecture := lambdatypes.ArchitectureArm64
	if x86 {
		architecture = lambdatypes.ArchitectureX8664
	}
	_, err = s.lambda.CreateFunction(ctx, &lambda.CreateFunctionInput{
		FunctionName: &name, Role: aws.String("arn:aws:iam::000000000000:role/existing"),
		Runtime: lambdatypes.RuntimeProvidedal2023, Handler: aws.String("bootstrap"),
		Architectures: []lambdatypes.Architecture{architecture},
		Code:          &lambdatypes.FunctionCode{ZipFile: packed.Bytes()},
	})
	if err != nil {
		return fmt.Errorf("the function that was there before: %w", err)
	}
	return lambda.NewFunctionActiveV2Waiter(s.lambda).Wait(ctx,
		&lambda.GetFunctionInput{FunctionName: &name}, time.Minute)
}

// An agent without code invokes a function that was there before: for the do, and for the undo of an order
// that is refused afterwards. The function gets the key, and refuses with an error of its own. The emulator
// hands no client context to functions.
func TestAFunctionThatWasThereBefore(t *testing.T) {
	s := on(t, localstack)
	t.Run("done", func(t *testing.T) {
		o := s.newOrder(t, "stocking").submit()
		o.notified("completed", soon)
		calls := s.remote.of(o.id, "settle")
		want := fmt.Sprintf(`"key":"%s/0/reserve"`, o.id)
		require.Len(t, calls, 1)
		require.Contains(t, calls[0].input, `"reserved":"MUG-01"`)
		require.Contains(t, calls[0].input, want)
	})
	t.Run("undone", func(t *testing.T) {
		o := s.newOrder(t, "stocking")
		s.remote.on(o.id, "settle", "do", func(int, call) (int, string) { return refused() })
		o.submit()
		o.notified("undone", soon)
	})
	t.Run("refused", func(t *testing.T) {
		o := s.newOrder(t, "stocking")
		o.body = strings.ReplaceAll(o.body, "MUG-01", "NONE")
		o.submit()
		require.Equal(t, 2, o.notified("undone", soon).attempts("reserve"))
	})
}
