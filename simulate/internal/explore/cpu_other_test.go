//go:build !unix

package explore

import "time"

// cpuTime is 0 on systems other than Unix.
func cpuTime() time.Duration { return 0 }
