package port

// ShardOf is the shard of the due index that a task stands in, 0 to shards-1: FNV-1a (32 bits) of
// its ID. Every adapter uses it, so that a Supervisor's leases mean the same rows everywhere.
func ShardOf(id string, shards int) int {
	const offset, prime = 2166136261, 16777619
	h := uint32(offset)
	for i := 0; i < len(id); i++ {
		h = (h ^ uint32(id[i])) * prime
	}
	return int(h % uint32(shards))
}
