package port

import "hash/fnv"

// ShardOf returns the shard of the due index that holds a task, 0 to shards-1: FNV-1a (32 bits) of its ID.
// Every adapter uses it, so that a Supervisor's leases cover the same tasks everywhere.
func ShardOf(id string, shards int) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(id)) // it never fails
	return int(h.Sum32() % uint32(shards))
}
