package state_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/state"
)

func BenchmarkEncode(b *testing.B) {
	task := usualTask()
	b.ReportAllocs()
	for b.Loop() {
		_, _ = state.EncodeTask(task)
	}
}

func BenchmarkDecode(b *testing.B) {
	doc := encode(b, usualTask())
	b.ReportAllocs()
	for b.Loop() {
		_, _ = state.DecodeTask(doc)
	}
}
