package stack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cftypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	s3types "github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Account is the account ID that every emulator uses.
const Account = "000000000000"

const pause = time.Second

// Deploy creates or updates the stack and returns its outputs. The error names the resources that failed and
// the reasons.
func Deploy(ctx context.Context, c aws.Config, a *Assembly) (map[string]string, error) {
	return DeployAs(ctx, c, a, a.Stack)
}

// DeployAs deploys the stack under another name. Stacks with different names can exist at the same time,
// because CloudFormation generates the names of all resources.
func DeployAs(ctx context.Context, c aws.Config, a *Assembly, name string) (map[string]string, error) {
	if err := upload(ctx, c, a); err != nil {
		return nil, err
	}
	body, err := json.Marshal(a.Template)
	if err != nil {
		return nil, err
	}
	// The template is too large for a request to CloudFormation, so CloudFormation reads it from a bucket.
	where, err := put(ctx, c, bucket(c), name+".template.json", body)
	if err != nil {
		return nil, err
	}
	client := cloudformation.NewFromConfig(c)
	capabilities := []cftypes.Capability{cftypes.CapabilityCapabilityNamedIam}
	_, err = describe(ctx, client, name)
	switch {
	case err == nil:
		_, err = client.UpdateStack(ctx, &cloudformation.UpdateStackInput{StackName: &name,
			TemplateURL: &where, Capabilities: capabilities})
	case errors.Is(err, errNoStack):
		_, err = client.CreateStack(ctx, &cloudformation.CreateStackInput{StackName: &name,
			TemplateURL: &where, Capabilities: capabilities})
	}
	if err != nil && !strings.Contains(err.Error(), "No updates are to be performed") {
		return nil, fmt.Errorf("stack %s: %w", name, err)
	}
	return settled(ctx, client, name)
}

// Delete deletes the stack. It returns nil if the stack is missing.
func Delete(ctx context.Context, c aws.Config, name string) error {
	client := cloudformation.NewFromConfig(c)
	if _, err := client.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: &name}); err != nil {
		return fmt.Errorf("stack %s: %w", name, err)
	}
	_, err := settled(ctx, client, name)
	if errors.Is(err, errNoStack) {
		return nil
	}
	return err
}

var errNoStack = errors.New("no such stack")

func describe(ctx context.Context, client *cloudformation.Client, name string) (*cftypes.Stack, error) {
	out, err := client.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	if err != nil && strings.Contains(err.Error(), "does not exist") {
		return nil, fmt.Errorf("stack %s: %w", name, errNoStack)
	}
	if err != nil {
		return nil, fmt.Errorf("stack %s: %w", name, err)
	}
	if len(out.Stacks) == 0 || out.Stacks[0].StackStatus == cftypes.StackStatusDeleteComplete {
		return nil, fmt.Errorf("stack %s: %w", name, errNoStack)
	}
	return &out.Stacks[0], nil
}

func settled(ctx context.Context, client *cloudformation.Client, name string) (map[string]string, error) {
	for {
		s, err := describe(ctx, client, name)
		if err != nil {
			return nil, err
		}
		switch status := string(s.StackStatus); {
		case strings.HasSuffix(status, "IN_PROGRESS"):
		case strings.Contains(status, "ROLLBACK"), strings.Contains(status, "FAILED"):
			return nil, fmt.Errorf("stack %s is %s: %s%s", name, status, aws.ToString(s.StackStatusReason),
				failures(ctx, client, name))
		default:
			outputs := make(map[string]string, len(s.Outputs))
			for _, o := range s.Outputs {
				outputs[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
			}
			return outputs, nil
		}
		if err := port.Sleep(ctx, pause); err != nil {
			return nil, fmt.Errorf("stack %s is still %s: %w", name, s.StackStatus, err)
		}
	}
}

func failures(ctx context.Context, client *cloudformation.Client, name string) string {
	out, err := client.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &name})
	if err != nil {
		return ""
	}
	var b strings.Builder
	for _, e := range out.StackEvents {
		if strings.Contains(string(e.ResourceStatus), "FAILED") {
			fmt.Fprintf(&b, "\n  %s %s: %s", aws.ToString(e.LogicalResourceId), e.ResourceStatus,
				aws.ToString(e.ResourceStatusReason))
		}
	}
	return b.String()
}

type manifest struct {
	Files map[string]struct {
		Source struct {
			Path      string
			Packaging string
		}
		Destinations map[string]struct {
			BucketName string
			ObjectKey  string
		}
	}
}

func (a *Assembly) manifest() (m manifest, err error) {
	data, err := os.ReadFile(filepath.Join(a.Dir, a.Stack+".assets.json"))
	if err == nil {
		err = json.Unmarshal(data, &m)
	}
	if err != nil {
		err = fmt.Errorf("assets of stack %s: %w", a.Stack, err)
	}
	return m, err
}

func bucket(c aws.Config) string {
	return fmt.Sprintf("cdk-hnb659fds-assets-%s-%s", Account, c.Region)
}

func upload(ctx context.Context, c aws.Config, a *Assembly) error {
	m, err := a.manifest()
	if err != nil {
		return err
	}
	in := &s3.CreateBucketInput{Bucket: aws.String(bucket(c))}
	if c.Region != "us-east-1" {
		in.CreateBucketConfiguration = &s3types.CreateBucketConfiguration{
			LocationConstraint: s3types.BucketLocationConstraint(c.Region)}
	}
	if _, err := storage(c).CreateBucket(ctx, in); err != nil && !owned(err) {
		return fmt.Errorf("bucket of the assets: %w", err)
	}
	place := strings.NewReplacer("${AWS::AccountId}", Account, "${AWS::Region}", c.Region,
		"${AWS::Partition}", "aws")
	for _, file := range m.Files {
		body, err := pack(filepath.Join(a.Dir, file.Source.Path), file.Source.Packaging == "zip")
		if err != nil {
			return fmt.Errorf("asset %s: %w", file.Source.Path, err)
		}
		for _, to := range file.Destinations {
			if _, err := put(ctx, c, place.Replace(to.BucketName), to.ObjectKey, body); err != nil {
				return err
			}
		}
	}
	return nil
}

func storage(c aws.Config) *s3.Client {
	// Emulators have no separate host name for each bucket.
	return s3.NewFromConfig(c, func(o *s3.Options) { o.UsePathStyle = true })
}

func owned(err error) bool {
	var mine *s3types.BucketAlreadyOwnedByYou
	return errors.As(err, &mine)
}

func put(ctx context.Context, c aws.Config, bucket, key string, body []byte) (string, error) {
	if _, err := storage(c).PutObject(ctx,
		&s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(body)}); err != nil {
		return "", fmt.Errorf("object %s of bucket %s: %w", key, bucket, err)
	}
	return strings.TrimRight(aws.ToString(c.BaseEndpoint), "/") + "/" + bucket + "/" + key, nil
}

func pack(path string, zipped bool) ([]byte, error) {
	if !zipped {
		return os.ReadFile(path)
	}
	var buffer bytes.Buffer
	err := build.Zip(&buffer, path)
	return buffer.Bytes(), err
}
