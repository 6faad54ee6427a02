package infra

import (
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsiam"
	"github.com/aws/constructs-go/constructs/v10"
)

// Names contains names and paths for accounts whose rules prescribe them. By default, CloudFormation
// generates all names. If a stack with fixed names is deleted, its retained resources keep their names.
// Before a new stack can use these names, the resources must be deleted or imported.
type Names struct {
	// Prefix is the beginning of the names of all resources. A hyphen and the resource's ID follow, as in
	// shop-SchedulerRole. All deployments of an account need different prefixes, even in different Regions. A
	// prefix has at most 40 letters, digits and hyphens. A deployment with another Prefix replaces all resources:
	// it begins with empty tables and queues, and the former ones stay.
	Prefix string
	// Policies replaces Prefix in the names of managed policies, such as shop-Application, shop-Operator and
	// shop-Operator2. IAM Identity Center refers to policies by name, so the names must be the same in all
	// accounts.
	Policies string
	// Path is the path of roles and managed policies, such as /stepkeeper/. The default is /.
	Path string
	// LogGroups is the beginning of the names of log groups, such as /aws/lambda/. The construct appends
	// Prefix or, if Prefix is empty, the names of the stack and of the construct.
	LogGroups string
	// PermissionsBoundary is the permissions boundary of all roles that the construct creates. nil means no
	// boundary.
	PermissionsBoundary awsiam.IManagedPolicy
}

var (
	namePrefix = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]{0,39}$`)
	rolePath   = regexp.MustCompile(`^/([A-Za-z0-9_.+=@-]{1,60}/){0,8}$`)
	logGroups  = regexp.MustCompile(`^[A-Za-z0-9_./#-]{1,200}$`)
)

func (c *checker) names(n Names) {
	for _, of := range []struct {
		what, value, must string
		pattern           *regexp.Regexp
	}{
		{"Prefix", n.Prefix, "a letter, then at most 39 letters, digits and hyphens", namePrefix},
		{"Policies", n.Policies, "a letter, then at most 39 letters, digits and hyphens", namePrefix},
		{"Path", n.Path, "a path such as /stepkeeper/", rolePath},
		{"LogGroups", n.LogGroups, "a beginning such as /aws/lambda/", logGroups},
	} {
		if of.value != "" && !of.pattern.MatchString(of.value) {
			c.wrong("Names.%s is %.100q; it must be %s", of.what, of.value, of.must)
		}
	}
}

const (
	managedPolicy = "AWS::IAM::ManagedPolicy"
	logGroup      = "AWS::Logs::LogGroup"
)

var nameLimits = map[string]struct {
	property string
	longest  int
}{
	"AWS::CloudWatch::Alarm":           {"AlarmName", 255},
	"AWS::CloudWatch::Dashboard":       {"DashboardName", 255},
	"AWS::CodeDeploy::Application":     {"ApplicationName", 100},
	"AWS::CodeDeploy::DeploymentGroup": {"DeploymentGroupName", 100},
	"AWS::DynamoDB::GlobalTable":       {"TableName", 255},
	"AWS::EC2::SecurityGroup":          {"GroupName", 255},
	"AWS::Events::Rule":                {"Name", 64},
	managedPolicy:                      {"ManagedPolicyName", 128},
	"AWS::IAM::Role":                   {"RoleName", 64},
	"AWS::Lambda::Function":            {"FunctionName", 64},
	logGroup:                           {"LogGroupName", 512},
	"AWS::SNS::Topic":                  {"TopicName", 256},
	"AWS::SQS::Queue":                  {"QueueName", 80},
	"AWS::Scheduler::Schedule":         {"Name", 64},
	"AWS::SecretsManager::Secret":      {"Name", 512},
}

func (s *Stepkeeper) setNames() error {
	n := s.props.Names
	c := &checker{}
	for _, key := range sorted(s.props.Tags) {
		awscdk.Tags_Of(s.Construct).Add(&key, str(s.props.Tags[key]), nil)
	}
	if n.PermissionsBoundary != nil {
		awsiam.PermissionsBoundary_Of(s.Construct).Apply(n.PermissionsBoundary)
	}
	if n.Prefix == "" && n.Policies == "" && n.Path == "" && n.LogGroups == "" {
		return nil
	}
	for _, child := range *s.Construct.Node().FindAll(constructs.ConstructOrder_PREORDER) {
		r, is := child.(awscdk.CfnResource)
		if !is {
			continue
		}
		kind := *r.CfnResourceType()
		if n.Path != "" && slices.Contains([]string{"AWS::IAM::Role", managedPolicy}, kind) {
			r.AddPropertyOverride(str("Path"), n.Path)
		}
		limit, named := nameLimits[kind]
		name := s.nameOf(kind, child)
		if !named || name == "" {
			continue
		}
		if !unresolved(name) && len(name) > limit.longest {
			c.wrong("%s: its name %s would have %d characters, and AWS takes %d; shorten Names or the "+
				"agent's name", *child.Node().Path(), name, len(name), limit.longest)
		}
		r.AddPropertyOverride(str(limit.property), name)
	}
	return errors.Join(c.problems...)
}

func (s *Stepkeeper) nameOf(kind string, resource constructs.IConstruct) string {
	n := s.props.Names
	path := strings.TrimPrefix(*resource.Node().Path(), *s.Construct.Node().Path()+"/")
	id := strings.ReplaceAll(strings.TrimSuffix(path, "/Resource"), "/", "")
	switch {
	case kind == managedPolicy && n.Policies != "":
		return n.Policies + "-" + id
	case kind == logGroup && n.LogGroups != "":
		start := n.Prefix
		if start == "" {
			start = *awscdk.Stack_Of(s.Construct).StackName() + "-" + *s.Construct.Node().Id()
		}
		return n.LogGroups + start + "-" + strings.TrimSuffix(id, "Logs")
	case n.Prefix != "":
		return n.Prefix + "-" + id
	}
	return ""
}

// maxTags is the maximum number of entries in Props.Tags. A resource can have 50 tags, and the stack and
// CloudFormation need some of them.
const maxTags = 40

func (c *checker) tags(tags map[string]string) {
	if len(tags) > maxTags {
		c.wrong("Tags has %d entries; %d are possible", len(tags), maxTags)
	}
	for _, key := range sorted(tags) {
		if n := len([]rune(key)); n < 1 || n > 128 || strings.HasPrefix(strings.ToLower(key), "aws:") ||
			len([]rune(tags[key])) > 256 {
			c.wrong("Tags has %.140q: %.300q; a key must have 1 to 128 characters and not begin with "+
				"aws:, and a value at most 256", key, tags[key])
		}
	}
}
