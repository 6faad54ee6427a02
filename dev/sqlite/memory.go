package sqlite

import (
	"strings"
	"sync"

	"modernc.org/libc"
)

// largestPiece is the largest size, in bytes, for which the driver's allocator shares one mapping between
// several pieces of memory.
const largestPiece = 16 << 10

// keepMappings allocates one piece of memory of each size and never frees it. The driver's allocator unmaps
// memory when the last piece of a mapping is freed. Without keepMappings, most statements would map and unmap
// memory for their arguments. If an allocation fails, the statements only need more time.
var keepMappings = sync.OnceFunc(func() {
	for size := 16; size <= largestPiece; size *= 2 {
		_, _ = libc.CString(strings.Repeat("-", size-1)) // CString adds a zero byte
	}
})
