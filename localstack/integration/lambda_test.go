package integration

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/lambda/types"
)

func (s *site) lambdaNames(ctx context.Context) ([]string, error) {
	var names []string
	pages := lambda.NewListFunctionsPaginator(s.lambda, &lambda.ListFunctionsInput{})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, err
		}
		for _, f := range page.Functions {
			names = append(names, text(f.FunctionName))
		}
	}
	return names, nil
}

// invoke starts a function and does not wait for it.
func (s *site) invoke(ctx context.Context, function string) error {
	_, err := s.lambda.Invoke(ctx, &lambda.InvokeInput{
		FunctionName: &function, InvocationType: types.InvocationTypeEvent, Payload: []byte(`{"from":"test"}`),
	})
	return err
}
