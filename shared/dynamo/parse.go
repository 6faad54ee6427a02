package dynamo

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// A value that DynamoDB would not return byte for byte is kept as its JSON text, in a map with
// this one member: a number with more digits than DynamoDB has, or written in another way than
// DynamoDB writes it; text with unusual escapes; white space between the members.
const textMember = "#json"

// An object whose members do not stand in the order of their names remembers theirs in this member, one
// name after the other, parted by newlines.
const orderMember = "#order"

// maxDepth is how deep maps and lists are shown; DynamoDB's limit is 32, the item included.
const maxDepth = 24

var errForm = errors.New("not to be shown as attributes")

// attributesOf gives a JSON object as an item. JSON writes it again, byte for byte. It fails only
// for what is no JSON object.
func attributesOf(document []byte) (map[string]types.AttributeValue, error) {
	if len(document) == 0 || document[0] != '{' || !utf8.Valid(document) || !rawjson.Valid(document) {
		return nil, errForm
	}
	r := rawjson.ReadChecked(document)
	if m := object(&r, 0); m != nil && r.Pos() == len(document) {
		return m, nil
	}
	return nil, errForm
}

// value gives the value that r stands before: that of the member with this name, at the depth of so many levels.
// What cannot be shown as it is becomes its text.
func value(r *rawjson.Reader, name string, depth int) types.AttributeValue {
	before := *r
	switch r.Kind() {
	case '{':
		if m := object(r, depth); m != nil {
			return &types.AttributeValueMemberM{Value: m}
		}
	case '[':
		if l := list(r, depth); l != nil {
			return &types.AttributeValueMemberL{Value: l}
		}
	default:
		raw := r.Value()
		if v := scalar(raw, name, depth); v != nil {
			return v
		}
	}
	*r = before
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{textMember: str(string(r.Value()))}}
}

// scalar gives nil where the value cannot be shown as it is.
func scalar(raw []byte, name string, depth int) types.AttributeValue {
	switch raw[0] {
	case '"':
		s, ok := plainText(raw)
		if !ok {
			return nil
		}
		if b := hashOf(s); b != nil && depth == 1 && !slices.Contains(recorded, name) {
			return blob(b)
		}
		return str(s)
	case 'n':
		return &types.AttributeValueMemberNULL{Value: true}
	case 't', 'f':
		return &types.AttributeValueMemberBOOL{Value: raw[0] == 't'}
	}
	if !survives(string(raw)) {
		return nil
	}
	return &types.AttributeValueMemberN{Value: string(raw)}
}

// object gives the members of an object, nil where they cannot be shown as they are.
func object(r *rawjson.Reader, depth int) map[string]types.AttributeValue {
	if depth > maxDepth {
		return nil
	}
	members := map[string]types.AttributeValue{}
	var names []string
	compact := r.Pos() + 1 // where the next key begins, if there is no white space
	empty := compact + 1
	for r.Enter(); r.Next(); compact = r.Pos() + 1 {
		name, ok := plainText(r.Key)
		if !ok || name == "" || len(name) > 255 || strings.HasPrefix(name, "#") || strings.Contains(name, "\n") || members[name] != nil ||
			r.Pos() != compact+len(r.Key)+1 {
			return nil
		}
		members[name] = value(r, name, depth+1)
		names = append(names, name)
	}
	if r.Pos() != max(compact, empty) {
		return nil
	}
	if !slices.IsSorted(names) {
		members[orderMember] = str(strings.Join(names, "\n"))
	}
	return members
}

// list is object for the elements of an array.
func list(r *rawjson.Reader, depth int) []types.AttributeValue {
	if depth > maxDepth {
		return nil
	}
	values := []types.AttributeValue{}
	compact := r.Pos() + 1
	empty := compact + 1
	for r.Enter(); r.Element(); compact = r.Pos() + 1 {
		if r.Pos() != compact {
			return nil
		}
		values = append(values, value(r, "", depth+1))
	}
	if r.Pos() != max(compact, empty) {
		return nil
	}
	return values
}

// hashOf gives the bytes of a hash of 16 bytes, which take half the room of its text; nil for any other text.
func hashOf(s string) []byte {
	if len(s) != 32 {
		return nil
	}
	b, err := hex.DecodeString(s)
	if err != nil || hex.EncodeToString(b) != s {
		return nil
	}
	return b
}

// plainText decodes a JSON string, if we would write it in the same way.
func plainText(raw []byte) (string, bool) {
	if !bytes.ContainsRune(raw, '\\') {
		return string(raw[1 : len(raw)-1]), true
	}
	var s string
	ok := json.Unmarshal(raw, &s) == nil && bytes.Equal(rawjson.AppendString(nil, s), raw)
	return s, ok
}

// survives reports whether DynamoDB returns a number as it is written here. It has 38 digits and
// writes numbers in a normal form; we trust it with fewer digits and short fractions, where every
// implementation agrees on that form.
func survives(number string) bool {
	digits := strings.TrimPrefix(number, "-")
	if len(digits) > 17 || strings.ContainsAny(digits, "eE+") || number == "-0" {
		return false
	}
	whole, fraction, hasFraction := strings.Cut(digits, ".")
	if !hasFraction {
		return true
	}
	return !strings.HasSuffix(fraction, "0") && (whole != "0" || !strings.HasPrefix(fraction, "000"))
}
