package worker

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// holds keeps messages invisible while they are handled.
type holds struct {
	queue      port.Queue
	visibility time.Duration
	log        *slog.Logger

	mu   sync.Mutex
	held map[string]int // number of rounds since the receive, by receipt
}

func (h *holds) add(receipt string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.held[receipt] = 0
}

func (h *holds) remove(receipt string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.held, receipt)
}

func (h *holds) holds(receipt string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, held := h.held[receipt]
	return held
}

// keep extends the visibility of held messages in rounds until ctx ends. A round lasts a third of the
// visibility timeout. A round does not extend messages that were received during the round.
func (h *holds) keep(ctx context.Context) {
	for {
		if port.Sleep(ctx, h.visibility/3) != nil {
			return
		}
		for _, receipt := range h.due() {
			if err := h.queue.Extend(ctx, []port.Extension{{Receipt: receipt, For: h.visibility}})[0]; err != nil {
				still := h.holds(receipt)
				if errors.Is(err, port.ErrReceipt) {
					h.remove(receipt)
				}
				if still && ctx.Err() == nil {
					h.log.Warn(
						"a request in hand could not be kept invisible; it may be handled twice, with the "+
							"same key", "queue", h.queue.Name(), "error", err)
				}
			}
		}
	}
}

func (h *holds) due() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var receipts []string
	// the loop may go in any order, because the receipts are independent
	for receipt := range h.held {
		h.held[receipt]++
		if h.held[receipt] > 1 {
			receipts = append(receipts, receipt)
		}
	}
	return receipts
}
