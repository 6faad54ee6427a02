package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// maxItem is DynamoDB's maximum size of an item in bytes, including attribute names.
const maxItem = 400 << 10

// Size returns the size of an item in bytes, as DynamoDB counts them. For a bill, DynamoDB rounds the size of
// a write up to a multiple of 1 KiB, and the size of a read up to a multiple of 4 KiB.
func Size(item map[string]types.AttributeValue) int {
	n := 0
	for name, v := range item {
		n += len(name) + sizeOf(v)
	}
	return n
}

func sizeOf(v types.AttributeValue) int {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return sizeOfNumber(v.Value)
	case *types.AttributeValueMemberB:
		return len(v.Value)
	}
	return 1 // null, true, false
}

// sizeOfNumber returns the size of a number in bytes. The size is the sum of:
//   - one byte
//   - one byte for each two digits, without the zeros at the start and at the end
//   - one byte for a minus sign
func sizeOfNumber(n string) int {
	size := 1
	if strings.HasPrefix(n, "-") {
		size++
	}
	digits := strings.Trim(strings.ReplaceAll(strings.TrimPrefix(n, "-"), ".", ""), "0")
	return size + (len(digits)+1)/2
}
