package infra

import (
	"strings"
	"time"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsdynamodb"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// addTables adds the tables. Definitions has the same removal policy as Orders, because each task refers to
// its definition by hash. Orders keeps a tombstone of each expired order (P26, an ID never runs twice).
func (s *Stepkeeper) addTables() {
	there := s.props.Tables
	warm := s.props.Tuning.Warm
	index := &awsdynamodb.GlobalSecondaryIndexPropsV2{
		IndexName:    str(dynamo.IndexName),
		PartitionKey: key(dynamo.IndexBucket),
		SortKey: &awsdynamodb.Attribute{
			Name: str(dynamo.IndexSort),
			Type: awsdynamodb.AttributeType_NUMBER,
		},
		// The index is only a hint, so it contains only keys (rule 11).
		ProjectionType: awsdynamodb.ProjectionType_KEYS_ONLY,
		WarmThroughput: warm.Index.units(),
	}
	orders := table{
		id: "Orders", key: dynamo.OrderKey, there: there.Orders, warm: warm.Orders,
		indexes: &[]*awsdynamodb.GlobalSecondaryIndexPropsV2{index}, ttl: s.props.TaskTTL > 0,
	}
	if b := s.props.Billing; b != nil {
		orders.capacity = b.Orders
		index.ReadCapacity = b.capacity(b.Index.Min.Reads, b.Index.Seed.Reads, b.Index.Max.Reads)
		index.WriteCapacity = b.capacity(b.Index.Min.Writes, b.Index.Seed.Writes, b.Index.Max.Writes)
	}
	s.orders = s.table(orders)
	s.definitions = s.table(table{id: "Definitions", key: dynamo.DefinitionKey, there: there.Definitions})
	for _, name := range s.agentNames() {
		// An agent needs a ledger for a plain service (P31, a plain service needs a ledger), and for a point
		// of no return (P22a, a proven refusal permits undo).
		if s.content.Ledgers[name] {
			s.ledgers[name] = s.table(table{
				id: "Ledger" + pascal(name), key: dynamo.LedgerKey,
				there: there.Ledgers[name],
			})
		}
	}
	s.warnOfEmptyTables()
}

// warnOfEmptyTables warns if Props.Tables contains Orders but not all other tables. A new stack creates the
// missing tables empty, although running orders need the former contents. The warning does not matter in the
// stack that created the tables.
func (s *Stepkeeper) warnOfEmptyTables() {
	if s.props.Tables.Orders == "" {
		return
	}
	var made []string
	for _, t := range s.stores() {
		if t.given == "" {
			made = append(made, t.what)
		}
	}
	if len(made) > 0 {
		s.warn("tables",
			"Tables does not name %s: right in the stack that has them; in a new stack they begin empty, "+
				"and running orders need them", strings.Join(made, ", "))
	}
}

func (t Throughput) units() *awsdynamodb.WarmThroughput {
	if t == (Throughput{}) {
		return nil
	}
	return &awsdynamodb.WarmThroughput{
		WriteUnitsPerSecond: num(max(t.Writes, leastWarmWrites)),
		ReadUnitsPerSecond:  num(max(t.Reads, leastWarmReads)),
	}
}

func key(name string) *awsdynamodb.Attribute {
	return &awsdynamodb.Attribute{Name: str(name), Type: awsdynamodb.AttributeType_STRING}
}

// table describes a table. The field there is the ARN of an existing table, or "" for a new table.
type table struct {
	id, key, there string
	indexes        *[]*awsdynamodb.GlobalSecondaryIndexPropsV2
	ttl            bool
	warm           Throughput
	capacity       Range // the zero value means on-demand capacity
}

// table imports an existing table or adds a new one. A new table is a global table even in a single Region,
// so that a later deployment can add replicas (rule 14). The consistency between Regions is eventual, because
// strong consistency requires three Regions.
func (s *Stepkeeper) table(t table) awsdynamodb.ITableV2 {
	if t.there != "" {
		return awsdynamodb.TableV2_FromTableArn(s.Construct, str(t.id), str(t.there))
	}
	props := &awsdynamodb.TablePropsV2{
		PartitionKey:           key(t.key),
		GlobalSecondaryIndexes: t.indexes,
		WarmThroughput:         t.warm.units(),
		Billing:                s.props.Billing.mode(t.capacity),
		TableClass:             s.props.TableClass,
		Encryption:             awsdynamodb.TableEncryptionV2_DynamoOwnedKey(), // the default key (rule 22)
		RemovalPolicy:          s.props.RemovalPolicy,
		DeletionProtection:     jsii.Bool(s.props.RemovalPolicy != awscdk.RemovalPolicy_DESTROY),
		PointInTimeRecoverySpecification: &awsdynamodb.PointInTimeRecoverySpecification{
			PointInTimeRecoveryEnabled: jsii.Bool(true),
		},
	}
	anywhere := unresolved(*awscdk.Stack_Of(s.Construct).Region())
	if s.key != nil && !anywhere {
		keys := map[string]*string{}
		for _, r := range s.props.Replicas {
			keys[r.Region] = str(r.KeyARN)
		}
		props.Encryption = awsdynamodb.TableEncryptionV2_CustomerManagedKey(s.key, &keys)
	}
	if t.ttl {
		// DynamoDB removes expired items up to days late, so the time to live is not a timer (rule 15).
		props.TimeToLiveAttribute = str(dynamo.TTLAttribute)
	}
	if len(s.props.Replicas) > 0 {
		var replicas []*awsdynamodb.ReplicaTableProps
		for _, r := range s.props.Replicas {
			replicas = append(replicas, &awsdynamodb.ReplicaTableProps{Region: str(r.Region)})
		}
		props.Replicas = &replicas
	}
	if s.key == nil || !anywhere {
		return awsdynamodb.NewTableV2(s.Construct, str(t.id), props)
	}
	// The CDK writes a customer-managed key to the template only if it knows the stack's Region.
	props.Encryption = awsdynamodb.TableEncryptionV2_AwsManagedKey()
	made := awsdynamodb.NewTableV2(s.Construct, str(t.id), props)
	made.Node().DefaultChild().(awsdynamodb.CfnGlobalTable).AddPropertyOverride(
		str("Replicas.0.SSESpecification.KMSMasterKeyId"), s.key.KeyArn())
	return made
}

// stored is a table or an index, as alarms and the dashboard name it.
type stored struct {
	id, what string
	table    awsdynamodb.ITableV2
	index    string // "" means the table
	given    string // ARN in Props.Tables, or ""
}

func (s *Stepkeeper) stores() []stored {
	there := s.props.Tables
	all := []stored{
		{"Orders", "table Orders", s.orders, "", there.Orders},
		{"Definitions", "table Definitions", s.definitions, "", there.Definitions},
		{"Index", "the index of table Orders", s.orders, dynamo.IndexName, there.Orders},
	}
	for _, name := range sorted(s.ledgers) {
		all = append(all, stored{
			"Ledger" + pascal(name), "the ledger of agent " + name, s.ledgers[name], "", there.Ledgers[name],
		})
	}
	return all
}

// throttles returns the metric of throttled requests of a kind, Read or Write.
func (t stored) throttles(kind string, label *string) awscloudwatch.IMetric {
	dimensions := map[string]*string{"TableName": t.table.TableName()}
	if t.index != "" {
		dimensions["GlobalSecondaryIndexName"] = &t.index
	}
	return awscloudwatch.NewMetric(&awscloudwatch.MetricProps{
		Namespace: str("AWS/DynamoDB"), MetricName: str(kind + "ThrottleEvents"), Statistic: str("Sum"),
		Period: seconds(time.Minute), DimensionsMap: &dimensions, Label: label,
	})
}
