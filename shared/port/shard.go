package port

import "hash/fnv"

// ShardOf returns the shard of the due index that holds a task, from 0 to shards-1. The shard is the 32-bit
// FNV-1a hash of the task's ID, modulo shards. Every adapter uses ShardOf, so that a lease on a shard covers
// the same tasks with every adapter.
func ShardOf(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // the Write of a hash never fails
	return int(h.Sum32() % uint32(shards))
}
