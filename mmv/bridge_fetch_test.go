package mmv_test

import (
	"runtime"
	"testing"

	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/pmdammv"
)

// TestFetchReads: each fetch by a client returns the values that the functions of OnRead set at
// its time.
func TestFetchReads(t *testing.T) {
	reg := &mmv.Registry{Name: "x"}
	reg.AddRuntime("go")
	srv := &collector.Server{}
	defer srv.Close()
	if err := srv.Add(pmdammv.Of(reg)); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ids, err := c.Lookup(t.Context(), []string{"mmv.x.go.gc.cycles.forced_gc_cycles"})
	if err != nil {
		t.Fatal(err)
	}
	var result pdu.Result
	var last uint64
	for i := range 3 {
		runtime.GC()
		if err := c.Fetch(t.Context(), ids, &result); err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for _, v := range result.At(0).All(pdu.TypeU64) {
			n, _ = pdu.As[uint64](v)
		}
		if n <= last {
			t.Errorf("fetch %d: %d cycles after %d", i, n, last)
		}
		last = n
	}
}
