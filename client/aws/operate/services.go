package operate

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/encoding/httpbinding"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// services holds the clients of AWS that only operators need.
type services struct {
	functions, metrics, rights, topics *direct.Client
	tables                             *dynamodb.Client
	caller                             *sts.Client
}

func newServices(c sdk.Config) *services {
	return &services{
		functions: direct.New(c, direct.Lambda), metrics: direct.New(c, direct.CloudWatch),
		rights: direct.New(c, direct.IAM), topics: direct.New(c, direct.SNS),
		tables: dynamo.NewClient(c), caller: sts.NewFromConfig(c),
	}
}

// mapping is the answer of Lambda about an event source mapping.
type mapping struct {
	State, LastProcessingResult, FunctionArn string
	LastModified                             float64 // seconds since 1970; 0 means unknown
}

func pathOf(uuid string) string {
	return "/2015-03-31/event-source-mappings/" + httpbinding.EscapePath(uuid, true)
}

// failed returns an error of AWS with the action that failed. The operator's policy allows the action.
func (t *transport) failed(ctx context.Context, action, on string, err error) error {
	return aws.Failed(ctx, aws.Use{Action: action, On: on, Policy: t.Outputs.Operator}, err)
}

// lambda calls an operation of Lambda. The metadata of the answer has the time of AWS.
func lambda[T any](ctx context.Context, functions *direct.Client, r direct.Request) (answer T,
	metadata middleware.Metadata, err error,
) {
	response, err := functions.Do(ctx, r)
	if err != nil {
		return answer, metadata, err
	}
	return answer, response.Metadata, functions.Decode(r.Operation, response, &answer)
}

func readMapping(ctx context.Context, functions *direct.Client, uuid string) (mapping, middleware.Metadata, error) {
	return lambda[mapping](ctx, functions, direct.Request{
		Operation: "GetEventSourceMapping", Method: http.MethodGet, Path: pathOf(uuid),
	})
}

// enableMapping enables or disables an event source mapping, and returns its state.
func enableMapping(ctx context.Context, functions *direct.Client, uuid string, enabled bool) (mapping, error) {
	m, _, err := lambda[mapping](ctx, functions, direct.Request{
		Operation: "UpdateEventSourceMapping", Method: http.MethodPut, Path: pathOf(uuid),
		Body:   fmt.Appendf(nil, `{"Enabled":%t}`, enabled),
		Header: http.Header{"Content-Type": {"application/json"}},
	})
	return m, err
}

// lambdaAccount holds the quotas of an account in Lambda, and their use.
type lambdaAccount struct {
	AccountLimit *struct {
		TotalCodeSize                  int64 // bytes
		ConcurrentExecutions           int
		UnreservedConcurrentExecutions *int
	}
	AccountUsage struct{ TotalCodeSize int64 }
}

func readAccount(ctx context.Context, functions *direct.Client) (lambdaAccount, middleware.Metadata, error) {
	return lambda[lambdaAccount](ctx, functions, direct.Request{
		Operation: "GetAccountSettings", Method: http.MethodGet, Path: "/2016-08-19/account-settings",
	})
}

// metricResult holds values of one metric. The same metric can have several results.
type metricResult struct {
	ID         string `xml:"Id"`
	Label      string
	Timestamps []time.Time `xml:"Timestamps>member"`
	Values     []float64   `xml:"Values>member"` // one for each timestamp
}

// readMetrics calls GetMetricData until CloudWatch has no more results.
func (t *transport) readMetrics(ctx context.Context, in url.Values) (all []metricResult, err error) {
	for {
		var page struct {
			Results []metricResult `xml:"GetMetricDataResult>MetricDataResults>member"`
			Next    string         `xml:"GetMetricDataResult>NextToken"`
		}
		if err := t.aws.metrics.Query(ctx, "GetMetricData", in, &page); err != nil {
			return nil, t.failed(ctx, "cloudwatch:GetMetricData", "metrics", err)
		}
		all = append(all, page.Results...)
		if page.Next == "" {
			return all, nil
		}
		in.Set("NextToken", page.Next)
	}
}

// metricTimes returns the part of a GetMetricData request with the times.
func metricTimes(from, to time.Time) url.Values {
	return url.Values{
		"StartTime": {from.UTC().Format(time.RFC3339)}, "EndTime": {to.UTC().Format(time.RFC3339)},
		"ScanBy": {"TimestampAscending"},
	}
}
