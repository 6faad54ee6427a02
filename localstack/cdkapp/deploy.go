package cdkapp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go/encoding/httpbinding"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Account is the account ID that every emulator uses.
const Account = "000000000000"

const pause = time.Second

// Deploy creates or updates the stack and returns its outputs. The error names the resources that failed and
// the reasons. The caller may change a.Stack before, because CloudFormation generates the names of all resources.
func Deploy(ctx context.Context, c aws.Config, a *Assembly) (map[string]string, error) {
	name := a.Stack
	if err := upload(ctx, c, a); err != nil {
		return nil, err
	}
	body, err := json.Marshal(a.Template)
	if err != nil {
		return nil, err
	}
	// The template is too large for a request to CloudFormation, so CloudFormation reads it from a bucket.
	where, err := put(ctx, c, "PutObject", bucket(c)+"/"+name+".template.json", body)
	if err != nil {
		return nil, err
	}
	client := direct.New(c, direct.CloudFormation)
	in := url.Values{
		"StackName": {name}, "TemplateURL": {where},
		"Capabilities.member.1": {"CAPABILITY_NAMED_IAM"},
	}
	_, err = describe(ctx, client, name)
	switch {
	case err == nil:
		err = client.Query(ctx, "UpdateStack", in, nil)
	case errors.Is(err, errNoStack):
		err = client.Query(ctx, "CreateStack", in, nil)
	}
	if err != nil && !strings.Contains(err.Error(), "No updates are to be performed") {
		return nil, fmt.Errorf("stack %s: %w", name, err)
	}
	return settled(ctx, client, name)
}

// Delete deletes the stack. It returns nil if the stack is missing.
func Delete(ctx context.Context, c aws.Config, name string) error {
	client := direct.New(c, direct.CloudFormation)
	if err := client.Query(ctx, "DeleteStack", url.Values{"StackName": {name}}, nil); err != nil {
		return fmt.Errorf("stack %s: %w", name, err)
	}
	_, err := settled(ctx, client, name)
	if errors.Is(err, errNoStack) {
		return nil
	}
	return err
}

var errNoStack = errors.New("no such stack")

// described is a stack in an answer of CloudFormation.
type described struct {
	Status  string                                    `xml:"StackStatus"`
	Reason  string                                    `xml:"StackStatusReason"`
	Outputs []struct{ OutputKey, OutputValue string } `xml:"Outputs>member"`
}

func describe(ctx context.Context, client *direct.Client, name string) (*described, error) {
	var out struct {
		Stacks []described `xml:"DescribeStacksResult>Stacks>member"`
	}
	err := client.Query(ctx, "DescribeStacks", url.Values{"StackName": {name}}, &out)
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, fmt.Errorf("stack %s: %w", name, errNoStack)
	}
	if err != nil {
		return nil, fmt.Errorf("stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 || out.Stacks[0].Status == "DELETE_COMPLETE" {
		return nil, fmt.Errorf("stack %s: %w", name, errNoStack)
	}
	return &out.Stacks[0], nil
}

func settled(ctx context.Context, client *direct.Client, name string) (map[string]string, error) {
	for {
		s, err := describe(ctx, client, name)
		if err != nil {
			return nil, err
		}
		switch status := s.Status; {
		case strings.HasSuffix(status, "IN_PROGRESS"):
		case strings.Contains(status, "ROLLBACK"), strings.Contains(status, "FAILED"):
			return nil, fmt.Errorf("stack %s is %s: %s%s", name, status, s.Reason,
				failures(ctx, client, name))
		default:
			outputs := make(map[string]string, len(s.Outputs))
			for _, o := range s.Outputs {
				outputs[o.OutputKey] = o.OutputValue
			}
			return outputs, nil
		}
		if err := port.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("stack %s is still %s: %w", name, s.Status, err)
		}
	}
}

func failures(ctx context.Context, client *direct.Client, name string) string {
	var out struct {
		Events []struct {
			ID     string `xml:"LogicalResourceId"`
			Status string `xml:"ResourceStatus"`
			Reason string `xml:"ResourceStatusReason"`
		} `xml:"DescribeStackEventsResult>StackEvents>member"`
	}
	if err := client.Query(ctx, "DescribeStackEvents", url.Values{"StackName": {name}}, &out); err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range out.Events {
		if strings.Contains(e.Status, "FAILED") && e.Reason != "" { // LocalStack repeats a failure without its reason
			fmt.Fprintf(&b, "\n  %s %s: %s", e.ID, e.Status, e.Reason)
		}
	}
	return b.String()
}

func bucket(c aws.Config) string {
	return fmt.Sprintf("cdk-hnb659fds-assets-%s-%s", Account, c.Region)
}

func upload(ctx context.Context, c aws.Config, a *Assembly) error {
	var constraint []byte
	if c.Region != "us-east-1" {
		constraint = fmt.Appendf(nil, `<CreateBucketConfiguration xmlns="http://s3.amazonaws.com/doc/2006-03-01/">`+
			`<LocationConstraint>%s</LocationConstraint></CreateBucketConfiguration>`, c.Region)
	}
	_, err := put(ctx, c, "CreateBucket", bucket(c), constraint)
	if err != nil && direct.Code(err) != "BucketAlreadyOwnedByYou" {
		return err
	}
	place := strings.NewReplacer("${AWS::AccountId}", Account, "${AWS::Region}", c.Region,
		"${AWS::Partition}", "aws")
	for _, file := range a.assets.Files {
		body, err := a.read(file)
		if err != nil {
			return err
		}
		for _, to := range file.Destinations {
			if _, err := put(ctx, c, "PutObject", place.Replace(to.BucketName)+"/"+to.ObjectKey, body); err != nil {
				return err
			}
		}
	}
	return nil
}

// put puts a bucket or an object, and returns its address. The path has the name of the bucket, because emulators
// have no separate host name for each bucket.
func put(ctx context.Context, c aws.Config, operation, path string, body []byte) (string, error) {
	escaped := "/" + httpbinding.EscapePath(path, false)
	_, err := direct.New(c, direct.S3).Do(ctx, direct.Request{
		Operation: operation, Method: http.MethodPut, Path: escaped, Body: body,
	})
	if err != nil {
		return "", fmt.Errorf("%s of S3: %w", path, err)
	}
	return strings.TrimRight(aws.ToString(c.BaseEndpoint), "/") + escaped, nil
}
