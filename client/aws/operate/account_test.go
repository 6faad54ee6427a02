package operate_test

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
)

// account holds the replies of AWS about one account: its limits, permissions, and metrics.
type account struct {
	limit, unreserved int
	code              int64  // MB
	denied            string // the end of the ARN of a queue that may not be sent to
	caller            string
	roles             map[string]string // ARNs by name, of roles that IAM may be asked for
	noIAM, noLimits   bool
	tableLimit        int64
	metrics           *watch
	subscribers       map[string]map[string]string // attributes of topics that may be asked
}

func (a *account) answer(c awsstub.Call) (int, string) {
	switch c.Action {
	case "sts:GetCallerIdentity":
		return http.StatusOK, `<R><GetCallerIdentityResult><Arn>` + a.caller + `</Arn></GetCallerIdentityResult></R>`
	case "iam:GetRole":
		arn, there := a.roles[c.Form.Get("RoleName")]
		if !there {
			return awsstub.Denied("ann may not call GetRole")
		}
		return http.StatusOK, `<R><GetRoleResult><Role><Arn>` + arn + `</Arn></Role></GetRoleResult></R>`
	case "iam:SimulatePrincipalPolicy":
		return a.may(c)
	case "sns:GetTopicAttributes":
		return a.topic(c.Form.Get("TopicArn"))
	case "monitoring:GetMetricData":
		return a.metrics.answer(c)
	case "dynamodb:DescribeLimits":
		if a.noLimits {
			return http.StatusBadRequest, `{"__type":"AccessDeniedException"}`
		}
		return http.StatusOK, fmt.Sprintf(`{"TableMaxWriteCapacityUnits":%d}`, a.tableLimit)
	case "lambda:GET":
		if !strings.HasSuffix(c.Path, "/account-settings") {
			return off(c)
		}
		if a.limit == 0 {
			return http.StatusForbidden, `{"code":"AccessDeniedException","message":"ann may not"}`
		}
		return http.StatusOK, fmt.Sprintf(`{"AccountLimit":{"ConcurrentExecutions":%d,`+
			`"UnreservedConcurrentExecutions":%d,"TotalCodeSize":%d},"AccountUsage":{"TotalCodeSize":%d}}`,
			a.limit, a.unreserved, 100<<20, a.code<<20)
	}
	return http.StatusBadRequest, `{"__type":"InvalidAction"}`
}

func (a *account) topic(arn string) (int, string) {
	if a.subscribers[arn] == nil {
		return awsstub.Denied("ann may not call GetTopicAttributes")
	}
	text := `<R><GetTopicAttributesResult><Attributes>`
	for name, value := range a.subscribers[arn] {
		text += `<entry><key>` + name + `</key><value>` + value + `</value></entry>`
	}
	return http.StatusOK, text + `</Attributes></GetTopicAttributesResult></R>`
}

func (a *account) may(c awsstub.Call) (int, string) {
	if a.noIAM {
		return awsstub.Denied("no simulation of " + c.Form.Get("PolicySourceArn"))
	}
	text := `<R><SimulatePrincipalPolicyResult><EvaluationResults>`
	for i := 1; c.Form.Has(fmt.Sprintf("ResourceArns.member.%d", i)); i++ {
		queue := c.Form.Get(fmt.Sprintf("ResourceArns.member.%d", i))
		if a.denied == "none" && i == 1 {
			continue
		}
		decision := "allowed"
		if a.denied != "" && strings.HasSuffix(queue, a.denied) ||
			c.Form.Get("ActionNames.member.1") != "sqs:SendMessage" {
			decision = "implicitDeny"
		}
		text += `<member><EvalResourceName>` + queue + `</EvalResourceName><EvalDecision>` + decision +
			`</EvalDecision></member>`
	}
	return http.StatusOK, text + `</EvaluationResults></SimulatePrincipalPolicyResult></R>`
}

// written returns metrics of a table's index with a busiest minute: so many units a second.
func written(units float64) *watch {
	return &watch{values: map[string]map[int]float64{
		"AWS/DynamoDB ConsumedWriteCapacityUnits Sum TableName=orders GlobalSecondaryIndexName=complete-by": {
			1: 60, 7: units * 60, 8: 30,
		},
	}}
}
