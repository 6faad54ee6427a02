package dynamo

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json/jsontext"
)

var errAttribute = errors.New("an attribute of a kind that is never written here")

func appendValue(b []byte, v types.AttributeValue) ([]byte, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return append(b, "null"...), nil
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value), nil
	case *types.AttributeValueMemberN:
		return append(b, v.Value...), nil
	case *types.AttributeValueMemberS:
		return jsontext.AppendQuote(b, v.Value)
	case *types.AttributeValueMemberM:
		return appendObject(b, v.Value)
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for i, e := range v.Value {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			b, err = appendValue(b, e)
			if err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return nil, fmt.Errorf("%T: %w", v, errAttribute)
}

// appendObject appends the members as a JSON object. It sorts them, so that equal members give equal bytes.
func appendObject(b []byte, members map[string]types.AttributeValue) ([]byte, error) {
	b = append(b, '{')
	for i, name := range slices.Sorted(maps.Keys(members)) {
		if i > 0 {
			b = append(b, ',')
		}
		var err error
		b, err = jsontext.AppendQuote(b, name)
		if err != nil {
			return nil, err
		}
		b = append(b, ':')
		if text, ok := members[name].(*types.AttributeValueMemberS); ok && slices.Contains(jsonText, name) {
			if !jsontext.Value(text.Value).IsValid() {
				err = fmt.Errorf("text that is no JSON: %w", errAttribute)
			}
			b = append(b, text.Value...)
		} else {
			b, err = appendValue(b, members[name])
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(b, '}'), nil
}
