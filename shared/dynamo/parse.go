package dynamo

import (
	"errors"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// jsonText lists the members that contain data of applications and services. An item stores each of these
// members as a string of JSON text, so that a read returns the same bytes. A number attribute would lose
// digits after the 38th.
var jsonText = []string{"Order", "input", "output", "value"}

// byStep lists the members of a document whose own members have the names of steps. A step may have one of the
// names in jsonText.
var byStep = []string{"Steps", "removed"}

// maxDepth is the maximum depth of the attributes. DynamoDB's limit is 32 levels, including the item.
const maxDepth = 24

// maxDigits is DynamoDB's maximum number of digits of a number.
const maxDigits = 38

var errForm = errors.New("not to be shown as attributes")

// attributesOf converts the members of a JSON object to attributes: objects to maps, arrays to lists, whole
// numbers to numbers. It returns an error if DynamoDB may refuse or change a value.
func attributesOf(document []byte) (map[string]types.AttributeValue, error) {
	if !jsontext.Value(document).IsValid() {
		return nil, errForm
	}
	return object(document, 0, false)
}

// object converts an object. If ofSteps is true, its members have the names of steps.
func object(text []byte, depth int, ofSteps bool) (map[string]types.AttributeValue, error) {
	values, err := rawjson.Members(text)
	if err != nil {
		return nil, errForm
	}
	members := make(map[string]types.AttributeValue, len(values))
	// The loop may run in any order, because the result is a map.
	for name, raw := range values {
		if name == "" || len(name) > 255 {
			return nil, errForm
		}
		step := ofSteps && raw[0] != '"' // a string would be read as JSON text
		switch {
		case slices.Contains(jsonText, name) && !step:
			members[name] = str(string(raw))
		case depth == 0 && raw[0] == '{' && slices.Contains(byStep, name):
			var steps map[string]types.AttributeValue
			steps, err = object(raw, 1, true)
			members[name] = &types.AttributeValueMemberM{Value: steps}
		default:
			members[name], err = value(raw, depth+1)
		}
		if err != nil {
			return nil, err
		}
	}
	return members, nil
}

func value(raw []byte, depth int) (types.AttributeValue, error) {
	if depth > maxDepth {
		return nil, errForm
	}
	switch raw[0] {
	case '{':
		m, err := object(raw, depth, false)
		return &types.AttributeValueMemberM{Value: m}, err
	case '[':
		l, err := list(raw, depth)
		return &types.AttributeValueMemberL{Value: l}, err
	case '"':
		s, err := jsontext.AppendUnquote(nil, raw)
		return str(string(s)), err
	case 'n':
		return &types.AttributeValueMemberNULL{Value: true}, nil
	case 't', 'f':
		return &types.AttributeValueMemberBOOL{Value: raw[0] == 't'}, nil
	}
	if number := string(raw); len(number) <= maxDigits && number != "-0" &&
		!strings.ContainsAny(number, ".eE") {
		return &types.AttributeValueMemberN{Value: number}, nil
	}
	return nil, errForm
}

func list(text []byte, depth int) ([]types.AttributeValue, error) {
	values := []types.AttributeValue{}
	for raw, err := range rawjson.Elements(text) {
		if err != nil {
			return nil, errForm
		}
		v, err := value(raw, depth+1)
		if err != nil {
			return nil, err
		}
		values = append(values, v)
	}
	return values, nil
}
