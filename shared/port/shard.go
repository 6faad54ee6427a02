package port

import "hash/fnv"

// ShardOf returns the number of a task's shard in the index, from 0 to shards-1. The number is the 32-bit
// FNV-1a hash of the task's ID, modulo shards. Every adapter must use ShardOf, because a lease on a shard
// must cover the same tasks with every adapter.
func ShardOf(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id))
	return int(h.Sum32() % uint32(shards))
}
