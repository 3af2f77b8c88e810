package sample

import (
	"context"
	"fmt"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// registerBins adds the metrics of the domain bin, which show the same nine numbers.
func (s *sample) registerBins() {
	for i := range s.bins {
		s.bins[i] = int32(i+1) * 100
	}
	d := s.indoms.bin
	add(s, 6, pmda.Metric[int32]{Name: "bin", InDom: d, Value: ofBin[int32](s)})
	s.stores[6] = s.storeBins
	add(s, 48, pmda.Metric[int32]{Name: "bucket", InDom: d, Value: ofBin[int32](s)})
	add(s, 50, pmda.Metric[int32]{Name: "part_bin", InDom: d,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (int32, error) {
			if n := binIndex(i.ID); n%2 == 0 {
				return s.bins[n], nil
			}
			return 0, pmda.NoValue
		}})
	add(s, itemBogusBin, pmda.Metric[int32]{Name: "bogus_bin", InDom: d, Value: ofBin[int32](s)}) // but see bogusBins
	addBins(s, 103, "long", ofBin[int32](s))
	addBins(s, 105, "ulong", ofBin[uint32](s))
	addBins(s, 107, "float", ofBin[float32](s))
	addBins(s, 109, "longlong", ofBin[int64](s))
	addBins(s, 111, "ulonglong", func(ctx context.Context, r *pmda.Request, i pdu.Instance) (uint64, error) {
		v, err := ofBin[uint64](s)(ctx, r, i)
		return v + uint64(s.seconds()), err
	})
	addBins(s, 113, "double", ofBin[float64](s))
	add(s, 153, pmda.Metric[string]{Name: "string.bin", InDom: d,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
			return fmt.Sprintf("%3d", s.bins[binIndex(i.ID)])[:3], nil // PCP's agent has room for no more
		}})
}

// addBins adds the bins as instantaneous values and as counters.
func addBins[T pdu.Scalar](s *sample, item int, group string, value valueFunc[T]) {
	add(s, item, pmda.Metric[T]{Name: group + ".bin", InDom: s.indoms.bin, Value: value})
	add(s, item+1, pmda.Metric[T]{Name: group + ".bin_ctr", InDom: s.indoms.bin, Sem: pdu.SemCounter, Units: pdu.SpaceKByte, Value: value})
}

// ofBin returns a function that returns the number in a bin.
func ofBin[T int32 | uint32 | int64 | uint64 | float32 | float64](s *sample) valueFunc[T] {
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (T, error) {
		return T(s.bins[binIndex(i.ID)]), nil
	}
}

const itemBogusBin = 51

// bogusBins writes every other bin as an instance that does not exist. Tables cannot return
// instances that the client has not selected.
func (s *sample) bogusBins(r *pmda.Request, w *pdu.ResultWriter) {
	wanted := r.Profile.For(s.indoms.bin.ID())
	for i, v := range s.bins {
		id := binID(i)
		if !wanted.Includes(id) {
			continue
		}
		if i%2 != 0 {
			id, v = id+50, v+50
		}
		w.Int32(id, v)
	}
}

func binID(i int) pdu.InstID     { return pdu.InstID(i+1) * 100 }
func binIndex(id pdu.InstID) int { return int(id)/100 - 1 }

// storeBins sets numbers up to the first invalid one.
func (s *sample) storeBins(values pdu.ValueSet) error {
	for id, a := range values.All(pdu.Type32) {
		if a.Type != pdu.Type32 {
			return pdu.ErrConv
		}
		v, err := pdu.As[int32](a)
		if err != nil {
			return err
		}
		if i := binIndex(id); i < 0 || i >= len(s.bins) || id != binID(i) {
			return pdu.ErrInst
		} else {
			s.bins[i] = v
		}
	}
	return nil
}
