package sqlite

import (
	"strings"
	"sync"

	"modernc.org/libc"
)

// largestPiece is the size of the largest piece of memory that shares a mapping with others of its size
// class.
const largestPiece = 16 << 10

// keepMappings holds one piece of memory of each size class until the process ends. The driver's allocator
// returns a mapping to the system when its last piece is freed. Without this most statements would map and
// unmap memory for their arguments. If a piece cannot be allocated, that only costs time.
var keepMappings = sync.OnceFunc(func() {
	for size := 16; size <= largestPiece; size *= 2 {
		_, _ = libc.CString(strings.Repeat("-", size-1)) // CString adds a zero byte
	}
})
