package infra_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"

	"github.com/stepkeeper/stepkeeper/infra"
)

// `cdk import` adds to the deployed template the resources that are new, as they are in the app. So a table
// that is no longer in Tables has to be the only new one, refer to nothing else that is new, and stay when
// its stack goes.
func TestTablesCanBeImported(t *testing.T) {
	before := template(t, func(_ awscdk.Stack, p *infra.Props) {
		p.CustomerManagedKey = true
		p.Tables = infra.Tables{Orders: tableOf + "Orders-2"}
	})
	after := templateOf(t, "key")
	var added []string
	for id, r := range after.Resources {
		if _, there := before.Resources[id]; there {
			continue
		}
		added = append(added, plainID(id)+" "+r.Type)
		same(t, id+": stays", r.DeletionPolicy, "Retain")
		var refer func(v any)
		refer = func(v any) {
			for _, e := range list(v) {
				m, _ := e.(map[string]any)
				ref, _ := m["Ref"].(string)
				if get := list(m["Fn::GetAtt"]); len(get) > 0 {
					ref = get[0].(string)
				}
				if _, there := before.Resources[ref]; ref != "" && !there &&
					!strings.HasPrefix(ref, "AWS::") {
					t.Errorf("%s refers to %s, which is not deployed", id, ref)
				}
				for _, key := range slices.Sorted(maps.Keys(m)) {
					if !strings.HasPrefix(key, "Fn::") {
						refer(m[key])
					}
				}
			}
		}
		refer(r.Properties)
	}
	same(t, "new resources", added, "[Orders AWS::DynamoDB::GlobalTable]")
}
