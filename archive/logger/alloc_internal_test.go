//go:build !race

package logger

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/local"
	"github.com/pcp-go/pcp/pmda"
)

// TestRecordAllocates checks that recording metrics and instances that the archive has allocates
// nothing.
func TestRecordAllocates(t *testing.T) {
	a := &pmda.Agent{Name: "bench", Domain: 60}
	d := a.AddInDom("colour", "red", "green", "blue")
	for i := range 100 {
		m := pmda.Metric[uint64]{Name: fmt.Sprint("bench.m", i), Sem: pdu.SemCounter,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return uint64(i), nil }}
		if i%4 == 0 {
			m.InDom = d
		}
		if err := pmda.Register(a, m); err != nil {
			t.Fatal(err)
		}
	}
	c, err := local.Open(a)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	l, err := Options{Config: "log mandatory on 1 sec { bench }", Base: filepath.Join(t.TempDir(), "a")}.New(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.start(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	record := func() {
		if ok, err := l.runTask(ctx, l.tasks[0]); !ok || err != nil {
			t.Fatal(ok, err)
		}
	}
	record()
	if n := testing.AllocsPerRun(200, record); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if err := l.finish(ctx, true); err != nil {
		t.Fatal(err)
	}
}
