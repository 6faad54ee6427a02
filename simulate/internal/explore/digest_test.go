package explore

import (
	"encoding/binary"
	"reflect"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Digest hashes what decides what can happen next. Moments are hashed as they lie to the present
// one: two worlds that differ in nothing but the date go on in the same way.
type Digest uint64

// EmptyDigest is the hash of nothing.
const EmptyDigest Digest = 14695981039346656037

// Number adds a number.
func (d *Digest) Number(n int64) {
	const prime = 0x9e3779b97f4a7c15
	*d = (*d ^ Digest(n)) * prime //nolint:gosec // a hash
	*d ^= *d >> 29
}

// Text adds a text.
func (d *Digest) Text(s string) {
	d.Number(int64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		d.Number(int64(binary.LittleEndian.Uint64([]byte(s[:8])))) //nolint:gosec // a hash
	}
	for i := 0; i < len(s); i++ {
		d.Number(int64(s[i]))
	}
}

// Yes adds facts.
func (d *Digest) Yes(all ...bool) {
	n := int64(1)
	for _, b := range all {
		n <<= 1
		if b {
			n++
		}
	}
	d.Number(n)
}

var (
	timeType     = reflect.TypeFor[core.Time]()
	standardTime = reflect.TypeFor[time.Time]()
)

// Value hashes anything, field by field, so that none is forgotten. now is in milliseconds.
func (d *Digest) Value(v reflect.Value, now int64) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		d.Yes(v.IsNil())
		if !v.IsNil() {
			d.Value(v.Elem(), now)
		}
	case reflect.Struct:
		if v.Type() == standardTime {
			if t, ok := v.Interface().(time.Time); ok && !t.IsZero() {
				d.Number(t.UnixMilli() - now)
			}
			return
		}
		for i := range v.NumField() {
			d.Value(v.Field(i), now)
		}
	case reflect.Slice, reflect.Array:
		d.Number(int64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			d.Text(string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			d.Value(v.Index(i), now)
		}
	case reflect.Map:
		sum := Digest(0)
		for it := v.MapRange(); it.Next(); {
			one := EmptyDigest
			one.Value(it.Key(), now)
			one.Value(it.Value(), now)
			sum += one // The sum does not depend on the order.
		}
		d.Number(int64(sum)) //nolint:gosec // a hash
	case reflect.String:
		d.Text(v.String())
	case reflect.Bool:
		d.Yes(v.Bool())
	case reflect.Float32, reflect.Float64:
		d.Number(int64(v.Float() * 1e6))
	case reflect.Int64:
		n := v.Int()
		if v.Type() == timeType && n != 0 {
			n -= now
		}
		d.Number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		d.Number(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.Number(int64(v.Uint())) //nolint:gosec // a hash
	default:
		panic("simulate: " + v.Type().String() + " is no part of a state")
	}
}

// Moment hashes a time as it lies to the present one. One that has passed, and by more than slack,
// is hashed as that: it is only asked whether that time has passed.
func (d *Digest) Moment(t core.Time, now, slack int64) {
	if t == 0 {
		d.Number(0)
		return
	}
	d.Number(max(int64(t)-now, -slack-1) + 1<<40)
}
