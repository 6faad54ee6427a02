package infra

import (
	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// addTables: Orders never expires (P26), Definitions is kept whatever the removal policy, because
// tasks pin what is in it.
func (s *Stepkeeper) addTables() {
	s.orders = s.table("Orders", dynamo.OrderKey, nil, false)
	s.tasks = s.table("Tasks", dynamo.OrderKey, &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{{
		IndexName:      str(dynamo.IndexName),
		PartitionKey:   key(dynamo.IndexBucket),
		SortKey:        key(dynamo.IndexSort),
		ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY, // a hint needs no more (rule 11)
	}}, s.props.TaskTTL > 0)
	s.definitions = s.table("Definitions", dynamo.DefinitionKey, nil, false)
	for _, name := range s.agentNames() {
		if s.assets.plain[name] { // P31
			s.ledgers[name] = s.table("Ledger"+pascal(name), dynamo.LedgerKey, nil, false)
		}
	}
}

func key(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: str(name), Type: awsdynamodb.AttributeType_STRING}
}

// table is a global table with one Region, so that replicas can be added later without a new table
// (rule 14). Tables of the strong kind refuse transactions, so the kind stays eventual.
func (s *Stepkeeper) table(id, partition string, indexes *[]*awsdynamodb.GlobalSecondaryIndexPropsV2, ttl bool) awsdynamodb.TableV2 {
	props := &awsdynamodb.TablePropsV2{
		PartitionKey:           key(partition),
		GlobalSecondaryIndexes: indexes,
		Billing:                awsdynamodb.Billing_OnDemand(nil),
		Encryption:             awsdynamodb.TableEncryptionV2_DynamoOwnedKey(), // rule 22
		RemovalPolicy:          s.props.RemovalPolicy,
		DeletionProtection:     jsii.Bool(s.props.RemovalPolicy != awscdk.RemovalPolicy_DESTROY),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
	}
	if s.key != nil {
		keys := map[string]*string{}
		for _, r := range s.props.Replicas {
			keys[r.Region] = str(r.KeyARN)
		}
		props.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(s.key, &keys)
	}
	if ttl {
		props.TimeToLiveAttribute = str(dynamo.TTLAttribute) // days late: never a timer (rule 15)
	}
	if len(s.props.Replicas) > 0 {
		var replicas []*awsdynamodb.ReplicaTableProps
		for _, r := range s.props.Replicas {
			replicas = append(replicas, &awsdynamodb.ReplicaTableProps{Region: str(r.Region)})
		}
		props.Replicas = &replicas
	}
	return awsdynamodb.NewTableV2(s.Construct, str(id), props)
}
