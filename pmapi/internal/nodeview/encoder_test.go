package nodeview

import (
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/internal/exposition"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// eight returns a snapshot of a computer with eight CPUs, and an encoder that has already written
// it.
func eight(t testing.TB) (*encoder, *export.Snapshot, []byte) {
	src := &pmapitest.Source{}
	c := src.Context()
	t.Cleanup(func() { c.Close(); src.Close() })
	cpus := src.InDom("cpu0", "cpu1", "cpu2", "cpu3", "cpu4", "cpu5", "cpu6", "cpu7")
	for _, s := range cpuFamilies[0].sources {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: s.metric, InDom: cpus, Sem: pdu.SemCounter, Units: pdu.TimeMSec}).Set(1, 22, 333, 4444, 5, 66, 777, 8888)
	}
	for _, f := range netstatFamilies {
		pmapitest.Add(src, pmapitest.Metric[uint64]{Name: f.sources[0].metric, Sem: pdu.SemCounter, Units: pdu.UnitCount}).Set(123456)
	}
	disks := src.InDom("/dev/sda", "/dev/sdb")
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "filesys.free", InDom: disks, Units: pdu.SpaceKByte}).Set(1, 2)
	pmapitest.Add(src, pmapitest.Metric[string]{Name: "filesys.mountdir", InDom: disks}).Set("/", "/home")
	p := New(c).(*pager)
	snap, err := p.reader.Read(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	e := &encoder{style: exposition.Style{Format: exposition.Prometheus}}
	return e, snap, e.append(nil, snap)
}

// TestAppendAllocates: a page of known series is written without an allocation.
func TestAppendAllocates(t *testing.T) {
	e, snap, b := eight(t)
	if n := testing.AllocsPerRun(100, func() { b = e.append(b[:0], snap) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	e, snap, page := eight(b)
	b.ReportAllocs()
	b.SetBytes(int64(len(page)))
	for b.Loop() {
		page = e.append(page[:0], snap)
	}
}

// TestRoots: all metrics of the table are below the requested names.
func TestRoots(t *testing.T) {
	for _, c := range collectors {
		for _, f := range c.families {
			for _, s := range f.sources {
				metrics := []string{s.metric}
				for _, j := range s.joins {
					metrics = append(metrics, j.metric)
				}
				for _, m := range metrics {
					if !below(m) {
						t.Error(m, "is not read")
					}
				}
			}
		}
	}
}

func below(metric string) bool {
	for _, root := range roots {
		if len(metric) > len(root) && metric[:len(root)+1] == root+"." {
			return true
		}
	}
	return false
}
