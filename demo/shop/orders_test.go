package shop_test

import (
	"bytes"
	"testing"

	"github.com/stepkeeper/stepkeeper/demo"
	"github.com/stepkeeper/stepkeeper/demo/shop"
)

// TestCommittedFile: the file in the repository is what this command writes.
func TestCommittedFile(t *testing.T) {
	if !bytes.Equal(shop.File(1, 1000), demo.Orders) {
		t.Error("demo/orders.jsonl is not what the generator writes; run `go generate ./demo`")
	}
	if bytes.Equal(shop.File(2, 1000), demo.Orders) {
		t.Error("another seed wrote the same file")
	}
}
