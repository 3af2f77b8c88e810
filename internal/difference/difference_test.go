package difference

import (
	"math"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

func TestRate(t *testing.T) {
	ahead, back := Step{Elapsed: 2 * time.Second}, Step{Elapsed: -2 * time.Second, Backwards: true}
	for _, tt := range []struct {
		name      string
		from, to  pdu.Atom
		counter   bool
		wrap      bool
		step      Step
		want      float64
		wantError pdu.Error
	}{
		{"counter", pdu.Uint32(5), pdu.Uint32(7), true, false, ahead, 1, 0},
		{"counter backwards", pdu.Uint32(7), pdu.Uint32(5), true, false, back, 1, 0},
		{"reset", pdu.Uint64(7), pdu.Uint64(5), true, false, ahead, 0, pdu.ErrValue},
		{"reset of a real number", pdu.Float64(7), pdu.Float64(5), true, true, ahead, 0, pdu.ErrValue},
		{"reset backwards", pdu.Int64(5), pdu.Int64(7), true, false, back, 0, pdu.ErrValue},
		{"wrap of 32 bits", pdu.Uint32(math.MaxUint32), pdu.Uint32(3), true, true, ahead, 2, 0},
		{"wrap of signed 32 bits", pdu.Int32(math.MaxInt32), pdu.Int32(math.MinInt32), true, true, ahead, 0.5, 0},
		{"wrap of 64 bits", pdu.Uint64(math.MaxUint64), pdu.Uint64(3), true, true, ahead, 2, 0},
		{"wrap backwards", pdu.Uint32(3), pdu.Uint32(math.MaxUint32), true, true, back, 2, 0},
		{"one time", pdu.Uint32(5), pdu.Uint32(7), true, false, Step{}, 0, pdu.ErrValue},
		{"one time backwards", pdu.Uint32(5), pdu.Uint32(7), true, false, Step{Backwards: true}, 0, pdu.ErrValue},
		{"clock set back", pdu.Uint32(5), pdu.Uint32(7), true, false, Step{Elapsed: -1}, 0, pdu.ErrValue},
		{"forwards again", pdu.Uint32(5), pdu.Uint32(7), true, false, Step{Elapsed: 1, Backwards: true}, 0, pdu.ErrValue},
		{"gauge that decreases", pdu.Uint64(7), pdu.Uint64(5), false, true, ahead, -1, 0},
		{"gauge backwards", pdu.Uint64(7), pdu.Uint64(5), false, false, back, 1, 0},
		{"difference beyond 2^53", pdu.Uint64(1 << 63), pdu.Uint64(1<<63 + 4), true, false, ahead, 2, 0},
	} {
		k := KindOf(tt.from.Type, tt.counter, tt.wrap)
		from, err1 := k.Sample(tt.from)
		to, err2 := k.Sample(tt.to)
		if got, code := k.Rate(from, to, tt.step); got != tt.want || code != tt.wantError || err1 != nil || err2 != nil {
			t.Errorf("%s: got %v, %v, want %v, %v (%v, %v)", tt.name, got, code, tt.want, tt.wantError, err1, err2)
		}
		if _, code := k.Rate(Sample{}, to, tt.step); code != pdu.ErrAgain {
			t.Errorf("%s: without the first sample: %v", tt.name, code)
		}
	}
}

// TestOfFloats checks numbers that were converted to float64.
func TestOfFloats(t *testing.T) {
	for _, tt := range []struct {
		typ      pdu.Type
		wrap     bool
		from, to float64
		want     float64
		code     pdu.Error
	}{
		{pdu.TypeU32, true, math.MaxUint32, 1, 2, 0},
		{pdu.TypeU64, true, 0x1p63, 0, 0x1p63, 0},
		{pdu.TypeU64, false, 0x1p63, 0, 0, pdu.ErrValue},
		{pdu.TypeDouble, true, 1, 0.25, 0, pdu.ErrValue},
		{pdu.TypeDouble, true, 0.25, 1, 0.75, 0},
	} {
		k := KindOf(tt.typ, true, tt.wrap).OfFloats()
		if got, code := k.Increase(Float(tt.from), Float(tt.to)); got != tt.want || code != tt.code {
			t.Errorf("%v from %v to %v: got %v, %v, want %v, %v", tt.typ, tt.from, tt.to, got, code, tt.want, tt.code)
		}
	}
}
