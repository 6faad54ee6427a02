//go:build !unix

package explore

import "time"

// CPUTime is 0 on systems other than Unix.
func CPUTime() time.Duration { return 0 }
