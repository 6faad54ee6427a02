package message_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// draw fills a message with usual and with nasty values, a third of them zero.
func draw(t *testing.T, r *rand.Rand, v reflect.Value, nasty bool) {
	t.Helper()
	if r.IntN(3) == 0 {
		return
	}
	texts, raws := []string{"o1", "charge card", "a/0/b", "~"}, []string{`{}`, `{"a":[1,-2.5e3,true,null,"x"]}`, `"plain"`}
	if nasty {
		texts = append(texts, `"`, `\`, "<b>", "a&b", "\n", "é", "\u2028", "\xff", "\x7f")
		raws = append(raws, ` { "a" : 1 } `, `"<>&"`, `"é"`, `"\u2028"`, "\"\xff\"", `{`, `"\x"`, `nul`, `[1,]`)
	}
	if _, ok := v.Interface().(json.RawMessage); ok {
		v.SetBytes([]byte(raws[r.IntN(len(raws))]))
		return
	}
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			draw(t, r, v.Field(i), nasty)
		}
	case reflect.Pointer:
		if r.IntN(4) == 0 {
			v.Set(reflect.New(v.Type().Elem()))
			draw(t, r, v.Elem(), nasty)
		}
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), r.IntN(4), 4))
		for i := range v.Len() {
			draw(t, r, v.Index(i), nasty)
		}
	case reflect.String:
		v.SetString(texts[r.IntN(len(texts))])
	case reflect.Int, reflect.Int64:
		v.SetInt([]int64{1, 7, -3, 1_795_000_000_123, 253402300799999, 253402300800000}[r.IntN(6)])
	default:
		t.Fatalf("the test does not know %s", v.Type())
	}
}

// TestEncodeIsMarshal: the bytes are those of the standard library, and so is what it refuses.
func TestEncodeIsMarshal(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for n := range 20_000 {
		for _, m := range []port.Value{&message.Request{}, &message.Reply{}, &message.Control{}, &message.Status{}} {
			v := reflect.ValueOf(m).Elem()
			for i := range v.NumField() {
				draw(t, r, v.Field(i), n%2 == 0)
			}
			got, err := m.Encode()
			want, wantErr := json.Marshal(m)
			if !bytes.Equal(got, want) || fmt.Sprint(err) != fmt.Sprint(wantErr) {
				t.Fatalf("%+v:\n got %s (%v)\nwant %s (%v)", m, got, err, want, wantErr)
			}
		}
	}
}

func BenchmarkEncode(b *testing.B) {
	m := &message.Request{Schema: 1, SendRequest: core.SendRequest{Agent: "payment", OrderID: "order-000123", Step: "charge", Attempt: 1, Operation: core.Do,
		Name: "charge", Grade: core.Fenced, Key: "order-000123/0/charge", Timeout: core.Second, ClaimedAt: 1_795_000_000_000, CompleteBy: 1_795_000_009_000,
		StopBy: 1_795_000_009_000, Input: json.RawMessage(`{"amount":12.50}`), Trace: "00-0123456789abcdef0123456789abcdef-0123456789abcdef-01"}}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := m.Encode(); err != nil {
			b.Fatal(err)
		}
	}
}
