package dynamo

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// place is where in a document a value stands: only at the top, in Steps and in a step do members
// have an order of their own.
type place struct {
	depth int
	steps bool // inside of Steps
	hash  bool // the hash of the submission, which takes half the room as bytes
}

func (p place) member(name string) place {
	return place{depth: p.depth + 1, steps: p.steps || p.depth == 0 && name == stepsMember, hash: p.depth == 0 && name == contentMember}
}

const (
	stepsMember   = "Steps"
	contentMember = "content"
)

// The orders in which core.EncodeTask writes the members of a task and of a step. Nothing depends
// on them but space: members in another order carry that order along.
var (
	taskOrder = ranks("Schema OrderID ProcessState LockedBy CompleteBy FailureCount Version Workflow Definition Created " +
		"content priority replyTo phase why run command verdicts cancelAsked hops claims seq startSeq startCause startAt " +
		"endSeq endCause endCode endText endStep endCommand output ended deadline deadlineSeq tell due attention Steps")
	stepOrder = ranks("N ProcessState LockedBy CompleteBy FailureCount Attempt undo first cause at firstAt stop quiet last " +
		"wake allow queued undoFailures end endSeq endCause endState output error resolved")
)

func ranks(names string) map[string]int {
	m := map[string]int{}
	for i, name := range strings.Fields(names) {
		m[name] = i
	}
	return m
}

// order is the order in which the members of an object at this place are written.
func (p place) order(members map[string]types.AttributeValue) []string {
	names := slices.Sorted(maps.Keys(members))
	switch {
	case p.depth == 0:
		byRank(names, taskOrder)
	case p.depth == 1 && p.steps:
		slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(number(members[a]), number(members[b])) })
	case p.depth == 2 && p.steps:
		byRank(names, stepOrder)
	}
	return names
}

func byRank(names []string, ranks map[string]int) {
	rank := func(name string) int {
		if r, known := ranks[name]; known {
			return r
		}
		return len(ranks)
	}
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// number is the N of a step.
func number(step types.AttributeValue) int {
	if m, ok := step.(*types.AttributeValueMemberM); ok {
		if n, ok := m.Value["N"].(*types.AttributeValueMemberN); ok {
			if i, err := strconv.Atoi(n.Value); err == nil {
				return i
			}
		}
	}
	return 1 << 30
}

var errAttribute = errors.New("an attribute of a kind that is never written here")

// appendValue writes a value as JSON.
func appendValue(b []byte, v types.AttributeValue, at place) ([]byte, error) {
	switch v := v.(type) {
	case *types.AttributeValueMemberNULL:
		return append(b, "null"...), nil
	case *types.AttributeValueMemberBOOL:
		return strconv.AppendBool(b, v.Value), nil
	case *types.AttributeValueMemberN:
		return append(b, v.Value...), nil
	case *types.AttributeValueMemberS:
		return appendText(b, v.Value), nil
	case *types.AttributeValueMemberB:
		return appendText(b, hex.EncodeToString(v.Value)), nil
	case *types.AttributeValueMemberM:
		return appendObject(b, v.Value, at)
	case *types.AttributeValueMemberL:
		b = append(b, '[')
		for i, e := range v.Value {
			if i > 0 {
				b = append(b, ',')
			}
			var err error
			if b, err = appendValue(b, e, at.member("")); err != nil {
				return nil, err
			}
		}
		return append(b, ']'), nil
	}
	return nil, fmt.Errorf("%T: %w", v, errAttribute)
}

func appendObject(b []byte, members map[string]types.AttributeValue, at place) ([]byte, error) {
	if raw, ok := members[textMember].(*types.AttributeValueMemberS); ok && len(members) == 1 {
		return append(b, raw.Value...), nil
	}
	var names []string
	if order, ok := members[orderMember].(*types.AttributeValueMemberS); ok {
		names = strings.Split(order.Value, "\n")
	} else {
		names = at.order(members)
	}
	b = append(b, '{')
	for i, name := range names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendText(b, name), ':')
		var err error
		if b, err = appendValue(b, members[name], at.member(name)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	return append(b, '}'), nil
}

const hexDigits = "0123456789abcdef"

// appendText writes a JSON string with as few escapes as JSON allows, as core.EncodeTask does.
func appendText(b []byte, s string) []byte {
	b = append(b, '"')
	for i := range len(s) {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		default:
			b = append(b, c)
		}
	}
	return append(b, '"')
}
