package pdu_test

import (
	"bytes"
	"fmt"
	"io"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// A step is an operation to be measured on a body of some size.
type step struct {
	name   string
	size   int
	allocs float64 // that one run may take
	run    func()
}

// resultOf writes metrics of one type, each with instances, to w.
func resultOf(w *pdu.ResultWriter, typ pdu.Type, metrics, insts int) {
	for m := range metrics {
		w.Begin(pdu.MakePMID(60, 0, m))
		for i := range insts {
			inst := pdu.InstID(i)
			if insts == 1 {
				inst = pdu.NoInst
			}
			switch typ {
			case pdu.TypeU32:
				w.Uint32(inst, uint32(i))
			case pdu.TypeU64:
				w.Uint64(inst, uint64(i))
			case pdu.TypeString:
				w.String(inst, "some text")
			}
		}
	}
}

// walk adds up the numbers of a result and the lengths of its strings.
func walk(r *pdu.Result, typ pdu.Type) (sum uint64) {
	for _, s := range r.All() {
		for inst, a := range s.All(typ) {
			sum += uint64(inst) + uint64(len(a.Bytes()))
			if typ != pdu.TypeString {
				n, err := pdu.As[uint64](a)
				if err != nil {
					panic(err)
				}
				sum += n
			}
		}
	}
	return sum
}

var resultSizes = []struct {
	typ            pdu.Type
	metrics, insts int
}{{pdu.TypeU32, 10, 1}, {pdu.TypeU64, 10, 1}, {pdu.TypeU32, 1, 1000}, {pdu.TypeU64, 1, 1000}, {pdu.TypeString, 1, 1000}}

func (s step) sizedName(typ pdu.Type, metrics, insts int) string {
	return fmt.Sprintf("%s/type=%v/metrics=%d/insts=%d", s.name, typ, metrics, insts)
}

// resultSteps are the ways of a result: written, decoded and walked, merged.
func resultSteps(t testing.TB) []step {
	var steps []step
	for _, z := range resultSizes {
		var w, merged pdu.ResultWriter
		resultOf(&w, z.typ, z.metrics, z.insts)
		body := encode(t, w.PDU(pdu.FormatHighRes))
		r := pdu.Result{Format: pdu.FormatHighRes}
		c := pdu.NewConn(readWriter{nil, io.Discard})
		for _, s := range []step{
			{"ResultEncode", len(body), 0, func() {
				w.Reset()
				resultOf(&w, z.typ, z.metrics, z.insts)
				if err := c.Write(0, w.PDU(pdu.FormatHighRes)); err != nil {
					panic(err)
				}
			}},
			{"ResultDecode", len(body), 0, func() {
				if err := r.Decode(body); err != nil {
					panic(err)
				}
				walk(&r, z.typ)
			}},
			{"ResultMerge", len(body), 0, func() {
				merged.Reset()
				merged.CopySets(&w, 0, w.Len())
				if err := c.Write(0, merged.PDU(pdu.FormatLowRes)); err != nil {
					panic(err)
				}
			}},
		} {
			s.name = s.sizedName(z.typ, z.metrics, z.insts)
			steps = append(steps, s)
		}
	}
	return steps
}

// codecSteps encode p and decode it into a used value. Names, texts and labels
// are copied or made anew: so many allocations.
func codecSteps(t testing.TB, name, size string, p codec, decodeAllocs float64) []step {
	body := encode(t, p)
	q, err := pdu.Decode(p.Kind(), body)
	if err != nil {
		t.Fatal(err)
	}
	used := q.(codec)
	buf := make([]byte, pdu.HeaderLen, pdu.HeaderLen+len(body))
	return []step{
		{name + "Encode/" + size, len(body), 0, func() {
			if _, err := p.Append(buf); err != nil {
				panic(err)
			}
		}},
		{name + "Decode/" + size, len(body), decodeAllocs, func() {
			if err := used.Decode(body); err != nil {
				panic(err)
			}
		}},
	}
}

func steps(t testing.TB) []step {
	fetch := &pdu.Fetch{HighRes: true}
	names := &pdu.NameList{}
	labels := &pdu.LabelReply{Class: pdu.LabelInstances}
	insts := &pdu.InstanceReply{InDom: 1}
	for i := range 10 {
		fetch.PMIDs = append(fetch.PMIDs, pdu.MakePMID(60, 0, i))
	}
	for i := range 100 {
		names.Names = append(names.Names, fmt.Sprintf("kernel.percpu.cpu.metric%d", i))
		insts.Instances = append(insts.Instances, pdu.Instance{ID: pdu.InstID(i), Name: fmt.Sprint("cpu", i)})
		labels.Sets = append(labels.Sets, pdu.LabelSet{Inst: pdu.InstID(i), JSON: []byte(`{"a":1,"b":"x"}`), Labels: []pdu.Label{
			{NameOff: 2, NameLen: 1, ValueOff: 5, ValueLen: 1}, {NameOff: 8, NameLen: 1, ValueOff: 11, ValueLen: 3}}})
	}
	var all []step
	all = append(all, codecSteps(t, "Fetch", "metrics=10", fetch, 0)...)
	all = append(all, codecSteps(t, "Names", "names=100", names, 100)...)
	all = append(all, codecSteps(t, "Instances", "insts=100", insts, 100)...)
	all = append(all, codecSteps(t, "Labels", "sets=100/labels=2", labels, 101)...)
	all = append(all, connSteps()...)
	return append(all, resultSteps(t)...)
}

// connSteps read PDUs that Conn holds in itself and in a pooled buffer.
func connSteps() []step {
	var all []step
	for _, size := range []int{64, 64 << 10} {
		wire := make([]byte, size)
		wire[1], wire[2], wire[3] = byte(size>>16), byte(size>>8), byte(size)
		r := bytes.NewReader(wire)
		c := pdu.NewConn(readWriter{r, io.Discard})
		all = append(all, step{fmt.Sprintf("ConnRead/bytes=%d", size), size, 0, func() {
			r.Reset(wire)
			if _, body, err := c.Read(); err != nil || len(body) != size-pdu.HeaderLen {
				panic(err)
			}
		}})
	}
	return all
}

// withRace reports whether the race detector watches.
func withRace() bool {
	info, _ := debug.ReadBuildInfo()
	return slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// TestAllocs: steady-state paths do not allocate, and the others allocate at most s.allocs times.
func TestAllocs(t *testing.T) {
	for _, s := range steps(t) {
		if withRace() {
			s.run() // its sync.Pool drops things at random
			continue
		}
		if got := testing.AllocsPerRun(100, s.run); got > s.allocs {
			t.Errorf("%s: %v allocations, want at most %v", s.name, got, s.allocs)
		}
	}
}

func benchmark(b *testing.B, name string) {
	for _, s := range steps(b) {
		size, ok := strings.CutPrefix(s.name, name+"/")
		if !ok {
			continue
		}
		b.Run(size, func(b *testing.B) {
			b.SetBytes(int64(s.size))
			b.ReportAllocs()
			for b.Loop() {
				s.run()
			}
		})
	}
}

func BenchmarkFetchEncode(b *testing.B)     { benchmark(b, "FetchEncode") }
func BenchmarkFetchDecode(b *testing.B)     { benchmark(b, "FetchDecode") }
func BenchmarkNamesEncode(b *testing.B)     { benchmark(b, "NamesEncode") }
func BenchmarkNamesDecode(b *testing.B)     { benchmark(b, "NamesDecode") }
func BenchmarkInstancesEncode(b *testing.B) { benchmark(b, "InstancesEncode") }
func BenchmarkInstancesDecode(b *testing.B) { benchmark(b, "InstancesDecode") }
func BenchmarkLabelsEncode(b *testing.B)    { benchmark(b, "LabelsEncode") }
func BenchmarkLabelsDecode(b *testing.B)    { benchmark(b, "LabelsDecode") }
func BenchmarkResultEncode(b *testing.B)    { benchmark(b, "ResultEncode") }
func BenchmarkResultDecode(b *testing.B)    { benchmark(b, "ResultDecode") }
func BenchmarkResultMerge(b *testing.B)     { benchmark(b, "ResultMerge") }
func BenchmarkConnRead(b *testing.B)        { benchmark(b, "ConnRead") }

// BenchmarkResultWriter writes 1,000 values of one metric, one by one and many at
// once, and one value each of 1,000 metrics.
func BenchmarkResultWriter(b *testing.B) {
	insts, values := make([]pdu.InstID, 1000), make([]uint64, 1000)
	for i := range insts {
		insts[i], values[i] = pdu.InstID(i), uint64(i)<<32
	}
	var w pdu.ResultWriter
	b.Run("one by one", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Reset()
			w.Begin(pdu.MakePMID(1, 0, 0))
			for i, v := range values {
				w.Uint64(insts[i], v)
			}
		}
	})
	b.Run("metrics", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Reset()
			w.Memory = boundless{}
			for i, v := range values {
				w.Begin(pdu.MakePMID(1, 0, i))
				w.Uint64(pdu.NoInst, v)
			}
		}
	})
	b.Run("at once", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			w.Reset()
			w.Begin(pdu.MakePMID(1, 0, 0))
			w.Numbers(pdu.TypeU64, insts, values)
		}
	})
}

// boundless is a Memory without an end.
type boundless struct{}

func (boundless) Reserve(int) error { return nil }
