package client_test

import "testing"

// What of an order has no effect is said in its receipt.
func TestReceiptSaysWhatHasNoEffect(t *testing.T) {
	r := newRig(t)
	high := order("o-high")
	high.Priority = "high"
	receipt, err := r.client.Submit(r.ctx, high)
	if err != nil || len(receipt.Notes) != 1 || receipt.Notes[0] != "priority has no effect" {
		t.Errorf("%+v, %v", receipt, err)
	}
	if receipt := r.submit("o-normal"); receipt.Notes != nil {
		t.Errorf("%+v", receipt)
	}
}
