package awsstub

import (
	"encoding/json"
	"net/http"
	"strings"
)

// item is one as the protocol carries it: {"Key": {"S": "…"}}.
type item map[string]map[string]any

// table keeps items, as much of DynamoDB as a ledger needs: get by key, and put on the condition that
// the item is new or its version is the one expected.
type table struct {
	key   string
	items map[string]item
}

func (t *table) get(w http.ResponseWriter, in *call) {
	key, _ := in.Key[t.key]["S"].(string)
	out := map[string]any{}
	if there := t.items[key]; there != nil {
		out["Item"] = there
	}
	_ = json.NewEncoder(w).Encode(out)
}

func (t *table) put(w http.ResponseWriter, in *call) {
	key, _ := in.Item[t.key]["S"].(string)
	there := t.items[key]
	if !met(there, in) {
		fail(w, "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException", map[string]any{"message": "The conditional request failed", "Item": there})
		return
	}
	t.items[key] = in.Item
	_ = json.NewEncoder(w).Encode(map[string]any{})
}

// met says whether the put's condition holds.
func met(there item, in *call) bool {
	if strings.HasPrefix(in.ConditionExpression, "attribute_not_exists") {
		return there == nil
	}
	return there != nil && there["Version"]["N"] == in.ExpressionAttributeValues[":expected"]["N"]
}
