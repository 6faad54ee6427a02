package memory

import "sort"

// ordered is a sorted set in chunks: finding is logarithmic, inserting and removing move at most
// one chunk. Enough for a million entries, and simple enough to be trusted.
type ordered[T any] struct {
	compare func(a, b T) int
	chunks  [][]T // none is empty
}

const chunkSize = 512

// seek finds the first entry that is not below x.
func (o *ordered[T]) seek(x T) (chunk, place int) {
	chunk = sort.Search(len(o.chunks), func(i int) bool {
		c := o.chunks[i]
		return o.compare(c[len(c)-1], x) >= 0
	})
	if chunk == len(o.chunks) {
		return chunk, 0
	}
	c := o.chunks[chunk]
	return chunk, sort.Search(len(c), func(i int) bool { return o.compare(c[i], x) >= 0 })
}

// insert adds x, which must be absent.
func (o *ordered[T]) insert(x T) {
	chunk, place := o.seek(x)
	if chunk == len(o.chunks) {
		if chunk == 0 {
			o.chunks = [][]T{{x}}
			return
		}
		chunk--
		place = len(o.chunks[chunk])
	}
	c := append(o.chunks[chunk], x)
	copy(c[place+1:], c[place:])
	c[place] = x
	o.chunks[chunk] = c
	if len(c) <= chunkSize {
		return
	}
	half := append([]T(nil), c[chunkSize/2:]...)
	clear(c[chunkSize/2:])
	o.chunks[chunk] = c[:chunkSize/2]
	o.chunks = append(o.chunks, nil)
	copy(o.chunks[chunk+2:], o.chunks[chunk+1:])
	o.chunks[chunk+1] = half
}

// remove takes x out, if it is there.
func (o *ordered[T]) remove(x T) {
	chunk, place := o.seek(x)
	if chunk == len(o.chunks) || o.compare(o.chunks[chunk][place], x) != 0 {
		return
	}
	c := o.chunks[chunk]
	c = append(c[:place], c[place+1:]...)
	o.chunks[chunk] = c
	if len(c) == 0 {
		o.chunks = append(o.chunks[:chunk], o.chunks[chunk+1:]...)
	}
}

// from yields the entries that are not below x, in order.
func (o *ordered[T]) from(x T, yield func(T) bool) {
	chunk, place := o.seek(x)
	for ; chunk < len(o.chunks); chunk, place = chunk+1, 0 {
		for _, entry := range o.chunks[chunk][place:] {
			if !yield(entry) {
				return
			}
		}
	}
}
