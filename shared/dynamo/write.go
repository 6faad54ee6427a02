package dynamo

import (
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// inOrder are the names of members in the order in which they are written where none is given.
func inOrder(members map[string]types.AttributeValue) []string {
	return slices.Sorted(maps.Keys(members))
}

var errAttribute = errors.New("an attribute of a kind that is never written here")

// appendValue writes a value as JSON.
func appendValue(b []byte, v types.AttributeValue) ([]byte, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return append(b, "null"...), nil
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value), nil
	case *types.AttributeValueMemberN:
		return append(b, v.Value...), nil
	case *types.AttributeValueMemberS:
		return rawjson.AppendString(b, v.Value), nil
	case *types.AttributeValueMemberB:
		return rawjson.AppendString(b, hex.EncodeToString(v.Value)), nil
	case *types.AttributeValueMemberM:
		return appendObject(b, v.Value)
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for i, e := range v.Value {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, e); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return nil, fmt.Errorf("%T: %w", v, errAttribute)
}

func appendObject(b []byte, members map[string]types.AttributeValue) ([]byte, error) {
	if raw, ok := members[textMember].(*types.AttributeValueMemberS); ok && len(members) == 1 {
		return append(b, raw.Value...), nil
	}
	var names []string
	if order, ok := members[orderMember].(*types.AttributeValueMemberS); ok {
		names = strings.Split(order.Value, "\n")
	} else {
		names = inOrder(members)
	}
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(rawjson.AppendString(b, name), ':')
		var err error
		if b, err = appendValue(b, members[name]); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(b, '}'), nil
}
