package state_test

import (
	"encoding/json"
	"strings"
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

// The outputs of a task are in each of its documents.
func BenchmarkEncodeLarge(b *testing.B) {
	task := usualTask()
	task.Steps[0].Output = json.RawMessage(`[` + strings.Repeat(`{"id":17,"name":"a name"},`, 1500) + `{}]`)
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
