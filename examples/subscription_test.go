package examples_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

const month = 30 * 24 * time.Hour

// period is an order of the workflow, and what its last step submits.
type period struct {
	ID       string `json:"-"`
	Customer string `json:"customer"`
	Period   int    `json:"period"`
}

// subscriptionShop charges, and its billing submits the next period: here it keeps it for the test to submit.
func subscriptionShop(t *testing.T) (*workflowtest.Workflow, *[]period) {
	w := workflowtest.New(t, "subscription/subscription.yaml")
	next := &[]period{}
	w.Agent("payment").On("charge").Return(nil)
	w.Agent("payment").On("refund").Return(nil)
	w.Agent("billing").On("submit").Func(func(c workflowtest.Call) (any, error) {
		var in struct {
			ID       string
			Customer string
			Period   int
		}
		if err := c.Into(&in); err != nil {
			return nil, err
		}
		*next = append(*next, period{in.ID, in.Customer, in.Period})
		return nil, nil
	})
	return w, next
}

// Each period charges once, and submits the next one at its end, until the customer cancels.
func TestAPeriodSubmitsTheNext(t *testing.T) {
	w, next := subscriptionShop(t)
	first := period{"ann-1", "ann", 1}
	*next = []period{first}
	for n := 1; n <= 3; n++ {
		p := (*next)[n-1]
		require.Equal(t, period{fmt.Sprintf("ann-%d", n), "ann", n}, p, "%+v", n)
		run := w.Submit(p, workflowtest.WithID(p.ID))
		if again := w.Submit(p, workflowtest.WithID(p.ID)); again != run { // billing was called twice
			t.Error("a period that is submitted twice is two orders")
		}
		if n == 3 {
			w.Advance(month / 2)
			require.True(t, run.Event("cancelled", "ann", true).Accepted)
		} else {
			w.Advance(month - time.Hour)
			run.ExpectCalls("billing.submit", 0)
		}
		run.UntilEnd(2 * time.Hour)
		run.ExpectProcessed()
		run.ExpectCalls("payment.charge", 1)
	}
	require.Len(t, *next, 3)
}
