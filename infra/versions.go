package infra

import (
	"slices"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscodedeploy"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/aws-cdk-go/awscdk/v2/awslambda"
	"github.com/aws/aws-cdk-go/awscdk/v2/interfaces/interfacesawscloudwatch"
)

const liveAlias = "live"

func (s *Stepkeeper) publish(name, id string, f awslambda.Function) {
	s.functions[name] = f
	if s.props.Versions {
		s.aliases[name] = awslambda.NewAlias(s.Construct, str(id+"Alias"),
			&awslambda.AliasProps{AliasName: str(liveAlias), Version: f.CurrentVersion()})
	}
}

func (s *Stepkeeper) invoked(name string) awslambda.IFunction {
	if alias := s.aliases[name]; alias != nil {
		return alias
	}
	return s.functions[name]
}

func (s *Stepkeeper) published() []string {
	return slices.DeleteFunc(sorted(s.aliases), func(name string) bool {
		return s.props.Agents[name].Function != nil
	})
}

func behind(f awslambda.IFunction) awslambda.IFunction {
	if alias, is := f.(awslambda.Alias); is {
		return alias.Lambda()
	}
	return f
}

func (s *Stepkeeper) addCanaries() {
	if s.props.Canary == nil {
		return
	}
	alarms := map[string][]interfacesawscloudwatch.IAlarmRef{}
	var functions, watched []*string
	for _, name := range s.published() {
		for _, id := range []string{errorsAlarm(name), returnedAlarm(name)} {
			alarm := s.Construct.Node().FindChild(str(id + "Alarm")).(awscloudwatch.Alarm)
			alarms[name] = append(alarms[name], alarm)
			watched = append(watched, alarm.AlarmArn())
		}
		arn := s.functions[name].FunctionArn()
		// The policy contains the alias's ARN as text. A reference to the alias would make alias, deployment
		// group and role depend on each other.
		functions = append(functions, arn, awscdk.Fn_Join(str(":"), &[]*string{arn, str(liveAlias)}))
	}
	role := s.role("CanaryRole", awsiam.NewServicePrincipal(str("codedeploy.amazonaws.com"), nil),
		"moves the traffic to new versions of the functions",
		allow("Aliases", []string{
			"lambda:GetAlias", "lambda:GetProvisionedConcurrencyConfig", "lambda:UpdateAlias",
		}, functions...),
		allow("Alarms", []string{"cloudwatch:DescribeAlarms"}, watched...))
	application := awscodedeploy.NewLambdaApplication(s.Construct, str("Canary"), nil)
	for _, name := range s.published() {
		group := alarms[name]
		awscodedeploy.NewLambdaDeploymentGroup(s.Construct, str(pascal(name)+"Canary"),
			&awscodedeploy.LambdaDeploymentGroupProps{
				Alias: s.aliases[name], Application: application, DeploymentConfig: s.props.Canary,
				Alarms: &group,
				Role:   role.WithoutPolicyUpdates(nil), // CDK then adds no managed policy of AWS (rule 20)
			})
	}
}
