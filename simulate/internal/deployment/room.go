package deployment

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// rooms lists possible sizes of the space for outputs, in bytes. sizes lists JSON members that make an output
// larger.
var (
	rooms = [...]int{0, 60, 400, 2500}
	sizes = [...]string{"", fill(200), fill(1200), fill(2600)}
)

func fill(n int) string { return `,"data":"` + strings.Repeat("x", n) + `"` }

// drawRoom chooses the size limit of all documents. The usual choice is no limit. Otherwise the limit is the
// smallest size with which the definitions can run, plus some space for outputs.
func drawRoom(w *world.Simulation) world.Room {
	v := 0
	if w.Enabled[world.ItemTooLarge] && len(w.Below) == 0 && w.Sc.Begun == nil {
		v = w.Choose("world", "room", len(rooms), 0.2)
	}
	if v == 0 {
		return world.Room{}
	}
	r := world.Room{Failing: w.Choose("world", "failing", 2, 0.5) == 1}
	for _, d := range w.Defs {
		// The limit includes the newer definition, because a Move is accepted only if the new document fits
		// (P49, move pins another definition).
		if d == w.Def || d == w.Newer() {
			r.Limit = max(r.Limit, protocol.Reserve(d)+rooms[v])
		}
	}
	return r
}

func content(w *world.Simulation) json.RawMessage {
	if w.Sc.Order == nil {
		return NoContent
	}
	return w.Sc.Order
}

// complaint returns an error of a service. If the run has a size limit, the error has the longest text that a
// document stores.
func complaint(w *world.Simulation, text string) error {
	if w.Room.Limit > 0 {
		text += strings.Repeat("\x01", core.MaxMessage)
	}
	return errors.New(text)
}
