package pmapi

import (
	"errors"
	"math"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

func TestCounterChange(t *testing.T) {
	const none = -1 // the counter was reset
	for _, tt := range []struct {
		from, to      pdu.Atom
		want, wrapped float64
	}{
		{pdu.Uint32(5), pdu.Uint32(7), 2, 2},
		{pdu.Uint32(math.MaxUint32), pdu.Uint32(1), none, 2},
		{pdu.Int32(math.MaxInt32), pdu.Int32(math.MinInt32), none, 1},
		{pdu.Int32(-5), pdu.Int32(5), 10, 10},
		{pdu.Uint64(1 << 63), pdu.Uint64(1<<63 + 4), 4, 4},
		{pdu.Uint64(math.MaxUint64), pdu.Uint64(9), none, 10},
		{pdu.Int64(7), pdu.Int64(4), none, 0x1p64},
		{pdu.Float32(1.5), pdu.Float32(2), 0.5, 0.5},
		{pdu.Float64(3), pdu.Float64(1), none, none},
	} {
		for wrap, want := range map[bool]float64{false: tt.want, true: tt.wrapped} {
			if got, err := CounterChange(tt.from, tt.to, wrap); want == none && !errors.Is(err, pdu.ErrValue) || want != none && (got != want || err != nil) {
				t.Errorf("CounterChange(%v, %v, %t): got %v, %v, want %v", tt.from, tt.to, wrap, got, err, want)
			}
		}
	}
	for _, bad := range [][2]pdu.Atom{{pdu.Uint32(1), pdu.Uint64(2)}, {pdu.Aggregate(nil), pdu.Aggregate(nil)}} {
		if _, err := CounterChange(bad[0], bad[1], false); !errors.Is(err, pdu.ErrType) && !errors.Is(err, pdu.ErrConv) {
			t.Errorf("CounterChange(%v, %v): %v", bad[0], bad[1], err)
		}
	}
}
