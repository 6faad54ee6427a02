package awsstub

import (
	"cmp"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// Item is an item in the JSON form of DynamoDB's protocol: {"Key": {"S": "…"}}.
type Item map[string]map[string]any

func (i Item) text(name string) string {
	for _, kind := range []string{"S", "N"} {
		if s, ok := i[name][kind].(string); ok {
			return s
		}
	}
	return ""
}

func (i Item) number(name string) int64 {
	n, _ := strconv.ParseInt(i.text(name), 10, 64)
	return n
}

const conditionFailed = "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"

type table struct {
	key   string
	items map[string]Item
}

func (t *table) get(in *call) (int, string) {
	out := map[string]any{}
	if there := t.items[in.Key.text(t.key)]; there != nil {
		out["Item"] = there
	}
	return encoded(http.StatusOK, out)
}

func (t *table) put(in *call) (int, string) {
	there := t.items[in.Item.text(t.key)]
	if !met(there, in) {
		return failed(conditionFailed, map[string]any{"message": "The conditional request failed", "Item": there})
	}
	t.items[in.Item.text(t.key)] = in.Item
	return http.StatusOK, `{}`
}

func met(there Item, in *call) bool {
	switch {
	case in.ConditionExpression == "":
		return true
	case there == nil:
		return strings.HasPrefix(in.ConditionExpression, "attribute_not_exists")
	case strings.Contains(in.ConditionExpression, "#owner = :owner"):
		return there.text("Owner") == in.ExpressionAttributeValues.text(":owner") ||
			there.text("Until") <= in.ExpressionAttributeValues.text(":now")
	case strings.HasPrefix(in.ConditionExpression, "attribute_not_exists"):
		return false
	}
	return there.text("Version") == in.ExpressionAttributeValues.text(":expected")
}

func (t *table) query(in *call) (int, string) {
	v := in.ExpressionAttributeValues
	items := []Item{}
	for _, i := range t.items {
		at := i.number("dueAt")
		if i.text("bucket") == v.text(":bucket") && at >= v.number(":start") && at <= v.number(":end") {
			items = append(items, Item{t.key: i[t.key], "bucket": i["bucket"], "dueAt": i["dueAt"]})
		}
	}
	slices.SortFunc(items, func(a, b Item) int { return cmp.Compare(a.number("dueAt"), b.number("dueAt")) })
	return encoded(http.StatusOK, map[string]any{"Count": len(items), "Items": items})
}
