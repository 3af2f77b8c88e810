package pmdalinux_test

import (
	"runtime"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// pmstatReads are the metrics that pmstat(1) fetches.
var pmstatReads = []string{
	"kernel.all.load", "swap.used", "mem.util.free", "mem.util.bufmem", "mem.util.cached", "swap.pagesin", "swap.pagesout",
	"disk.all.blkread", "disk.all.blkwrite", "kernel.all.intr", "kernel.all.pswitch", "kernel.all.cpu.user", "kernel.all.cpu.nice",
	"kernel.all.cpu.sys", "kernel.all.cpu.intr", "kernel.all.cpu.idle", "kernel.all.cpu.wait.total", "kernel.all.cpu.steal",
}

// BenchmarkFetch fetches the metrics of pmstat and all metrics from this machine.
func BenchmarkFetch(b *testing.B) {
	if runtime.GOOS != "linux" {
		b.Skip("no Linux")
	}
	s := ourAgent(b, "")
	all, err := s.Traverse(b.Context(), "")
	if err != nil {
		b.Fatal(err)
	}
	for _, what := range []struct {
		name  string
		names []string
	}{{"pmstat", pmstatReads}, {"all", all}} {
		b.Run("metrics="+what.name, func(b *testing.B) {
			ids, err := s.Lookup(b.Context(), what.names)
			if err != nil {
				b.Fatal(err)
			}
			var r pdu.Result
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Fetch(b.Context(), ids, &r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
