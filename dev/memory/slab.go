package memory

import (
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type state uint8

const (
	free state = iota
	ready
	delayed
	inFlight
)

type entry struct {
	message  port.Message
	seq      uint64 // number of the message, never used twice; 0 while the slot is free
	sent     time.Time
	wake     int64 // time when the message becomes visible, in nanoseconds since the epoch
	received int
	place    int // index in the heap while the message is delayed or in flight
	state    state
}

// slab stores entries in blocks that never move. A large queue therefore copies no entries when it grows. The
// garbage collector visits few blocks instead of many small objects.
type slab struct {
	blocks [][]entry
	unused []uint32
}

const blockSize = 1024

func (s *slab) at(slot uint32) *entry { return &s.blocks[slot/blockSize][slot%blockSize] }

func (s *slab) take() uint32 {
	if len(s.unused) == 0 {
		first := uint32(len(s.blocks) * blockSize)
		s.blocks = append(s.blocks, make([]entry, blockSize))
		for i := uint32(blockSize); i > 0; i-- {
			s.unused = append(s.unused, first+i-1)
		}
	}
	slot := s.unused[len(s.unused)-1]
	s.unused = s.unused[:len(s.unused)-1]
	return slot
}

func (s *slab) release(slot uint32) {
	*s.at(slot) = entry{}
	s.unused = append(s.unused, slot)
}

// holds returns the entry in a slot, or nil if the slot no longer contains the message with the number seq.
func (s *slab) holds(slot uint32, seq uint64) *entry {
	if int(slot/blockSize) >= len(s.blocks) {
		return nil
	}
	if e := s.at(slot); e.seq == seq {
		return e
	}
	return nil
}

// ticket names a visible message. The message may have been deleted after the ticket was made.
type ticket struct {
	slot uint32
	seq  uint64
}

// sleepers is a heap of the delayed and in-flight messages. The message that becomes visible first is on top.
// sleepers does not use container/heap, because that package needs an allocation and an interface call for
// each operation.
type sleepers struct {
	slab  *slab
	slots []sleeper
}

type sleeper struct {
	wake int64
	slot uint32
}

func (h *sleepers) push(slot uint32) {
	e := h.slab.at(slot)
	h.slots = append(h.slots, sleeper{e.wake, slot})
	h.up(len(h.slots) - 1)
}

func (h *sleepers) remove(place int) {
	last := len(h.slots) - 1
	moved := h.slots[last]
	h.slots = h.slots[:last]
	if place == last {
		return
	}
	h.set(place, moved)
	if !h.down(place) {
		h.up(place)
	}
}

func (h *sleepers) set(place int, s sleeper) {
	h.slots[place] = s
	h.slab.at(s.slot).place = place
}

func (h *sleepers) up(place int) {
	s := h.slots[place]
	for place > 0 {
		parent := (place - 1) / 4
		if h.slots[parent].wake <= s.wake {
			break
		}
		h.set(place, h.slots[parent])
		place = parent
	}
	h.set(place, s)
}

func (h *sleepers) down(place int) (moved bool) {
	s := h.slots[place]
	for {
		least := -1
		for child := 4*place + 1; child <= 4*place+4 && child < len(h.slots); child++ {
			if least < 0 || h.slots[child].wake < h.slots[least].wake {
				least = child
			}
		}
		if least < 0 || h.slots[least].wake >= s.wake {
			break
		}
		h.set(place, h.slots[least])
		place = least
		moved = true
	}
	h.set(place, s)
	return moved
}
