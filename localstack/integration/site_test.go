package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
	"github.com/stepkeeper/stepkeeper/localstack/cdkapp"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

// site is a deployed stack with the world around it.
type site struct {
	backend  string
	config   aws.Config
	assembly *cdkapp.Assembly
	dir      string
	outputs  map[string]string
	settings map[string]string // of the CDK app

	sqs    *sqs.Client
	dynamo *dynamodb.Client
	lambda *lambda.Client
	sns    *sns.Client
	iam    *iam.Client

	resources map[string]string // by their IDs in the template
	secret    string            // its ARN; MiniStack only
	bus       string            // ARN of an event bus that was there before; LocalStack only
	remote    *remote
	proxy     *proxy
	statuses  *inbox
	alerts    *inbox
	ticks     ticker
	stop      context.CancelFunc
}

// How the deployed queues are shortened, so that a message that comes back does so within the
// test's time. Everything else is as synthesised.
//
// On MiniStack messages come back again and again while a permission is missing: soon, and without
// end. A request comes back later than its step is overdue there, so that the Supervisor is needed.
const visibility = 6 // seconds

var maxReceives = map[string]int{localstack: 3, ministack: 100}

// rewrite changes the template where an emulator is unlike AWS.
var rewrite = map[string]func(map[string]any) error{
	localstack: emulate.LocalStack,
	ministack:  emulate.MiniStack,
}

func deploy(ctx context.Context, endpoint, backend string) (*site, error) {
	c, err := awsclient.Load(ctx, awsclient.Options{Endpoint: endpoint, CallTimeout: time.Minute})
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "stepkeeper-integration-")
	if err != nil {
		return nil, err
	}
	s := &site{
		backend: backend, config: c, dir: dir, remote: newRemote(),
		sqs: sqs.NewFromConfig(c), dynamo: dynamodb.NewFromConfig(c), lambda: lambda.NewFromConfig(c),
		sns: sns.NewFromConfig(c), iam: iam.NewFromConfig(c),
	}
	began := time.Now()
	if err := s.synthesise(ctx); err != nil {
		return nil, errors.Join(err, s.close())
	}
	fmt.Fprintf(os.Stderr, "integration: synthesised in %.1f s\n", time.Since(began).Seconds())
	s.proxy, err = newProxy(endpoint)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	if backend == ministack {
		if err := s.keepSecret(ctx); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	if err := s.prepare(s.assembly); err != nil {
		return nil, errors.Join(err, s.close())
	}
	began = time.Now()
	s.outputs, err = cdkapp.Deploy(ctx, c, s.assembly)
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	fmt.Fprintf(os.Stderr, "integration: stack %s deployed to %s in %.1f s\n", s.assembly.Stack, backend,
		time.Since(began).Seconds())
	if err := errors.Join(s.readResources(ctx), s.listen(ctx)); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// synthesise runs the CDK app with the example's workflow and the test's own.
func (s *site) synthesise(ctx context.Context) error {
	name := "it-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	agents := filepath.Join(s.dir, "agents.yaml")
	text := s.remote.agentsFile()
	if s.backend == localstack {
		text += stockAgent(s.config.Region, name+"-existing")
		if err := s.makeExisting(ctx, name+"-existing"); err != nil {
			return err
		}
	}
	if err := os.WriteFile(agents, []byte(text), 0o600); err != nil {
		return err
	}
	patient, err := patientOrder()
	if err != nil {
		return err
	}
	var workflows []string
	for name, text := range map[string]string{
		"order.yaml":    patient,
		"stopping.yaml": stopping, "ticking.yaml": ticking, "linking.yaml": linking, "writing.yaml": writing,
		"family.yaml": family, "leaf.yaml": leaf, "calm.yaml": chain("calm", 2), "outcome.yaml": chain("outcome", 1),
	} {
		path := filepath.Join(s.dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return err
		}
		workflows = append(workflows, path)
	}
	if s.backend == localstack {
		path := filepath.Join(s.dir, "stocking.yaml")
		if err := os.WriteFile(path, []byte(stocking), 0o600); err != nil {
			return err
		}
		publishing := filepath.Join(s.dir, "publishing.yaml")
		if err := os.WriteFile(publishing, []byte("events: true\n"+chain("publishing", 1)),
			0o600); err != nil {
			return err
		}
		workflows = append(workflows, path, publishing)
	}
	s.settings = map[string]string{
		"agents": agents, "workflows": strings.Join(workflows, ","), "keep": "false",
		"priorities": "intake=2,notification=2", "outcomes": "true", "stack": name,
	}
	if s.backend == localstack {
		if err := s.makeBus(ctx, name); err != nil {
			return err
		}
		s.settings["reply-to"] = "events=" + s.bus
	}
	s.assembly, err = cdkapp.Synthesise(ctx, filepath.Join("..", "..", "infra"),
		filepath.Join(s.dir, "cdk.out"), s.backend, s.settings)
	return err
}

// prepare changes a template for the tests and the emulator.
func (s *site) prepare(a *cdkapp.Assembly) error {
	s.shorten(a)
	s.proxy.putBetween(a.Template)
	return rewrite[s.backend](a.Template)
}

func (s *site) shorten(a *cdkapp.Assembly) {
	a.Template.Each("AWS::SQS::Queue", func(id string, p map[string]any) {
		if redrive, is := p["RedrivePolicy"].(map[string]any); is {
			redrive["maxReceiveCount"] = maxReceives[s.backend]
			p["VisibilityTimeout"] = visibility
			if s.backend == ministack && !strings.HasPrefix(id, "EngineRequests") {
				p["VisibilityTimeout"] = visibility / 3
			}
		}
	})
}

// listen reads the application's status queue, and a queue that is subscribed to the alerts.
func (s *site) listen(ctx context.Context) error {
	made, err := s.sqs.CreateQueue(ctx,
		&sqs.CreateQueueInput{QueueName: aws.String(s.assembly.Stack + "-alerts")})
	if err != nil {
		return err
	}
	arn, err := s.arn(ctx, *made.QueueUrl)
	if err != nil {
		return err
	}
	policy := fmt.Sprintf(
		`{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Principal":{"Service":"sns.amazonaws.com"},"Action":"sqs:SendMessage","Resource":%q}]}`,
		arn)
	if _, err := s.sqs.SetQueueAttributes(ctx, &sqs.SetQueueAttributesInput{
		QueueUrl: made.QueueUrl, Attributes: map[string]string{"Policy": policy},
	}); err != nil {
		return err
	}
	_, err = s.sns.Subscribe(ctx, &sns.SubscribeInput{
		TopicArn: aws.String(s.outputs["EngineAlertsTopic"]), Protocol: aws.String("sqs"), Endpoint: &arn,
		Attributes: map[string]string{"RawMessageDelivery": "true"},
	})
	if err != nil {
		return err
	}
	work, stop := context.WithCancel(context.Background())
	s.stop = stop
	s.statuses = newInbox(work, s.sqs, s.outputs["ShopStatusUrl"])
	s.alerts = newInbox(work, s.sqs, *made.QueueUrl)
	go s.ticks.run(work, s, s.outputs["EngineSupervisorFunction"])
	return nil
}

func (s *site) arn(ctx context.Context, url string) (string, error) {
	out, err := s.sqs.GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: attributeNames("QueueArn")})
	if err != nil {
		return "", err
	}
	return out.Attributes["QueueArn"], nil
}

func (s *site) close() error {
	if s.stop != nil {
		s.stop()
	}
	var err error
	if s.assembly != nil {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		err = cdkapp.Delete(ctx, s.config, s.assembly.Stack)
		// it is only there if it was made
		_, _ = s.lambda.DeleteFunction(ctx, &lambda.DeleteFunctionInput{FunctionName: aws.String(
			s.assembly.Stack + "-existing")})
		cancel()
	}
	s.remote.close()
	if s.proxy != nil {
		s.proxy.close()
	}
	return errors.Join(err, os.RemoveAll(s.dir))
}
