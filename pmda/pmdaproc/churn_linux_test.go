package pmdaproc_test

import (
	"errors"
	"flag"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

var churnFor = flag.Duration("churn", 0, "for how long processes come and go, at least")

// TestChurn checks that processes that end while they are read are missing or have partial values,
// that no metric fails, and that ended processes take no memory.
func TestChurn(t *testing.T) {
	program := pcptest.Optional(t, "true")
	a := newAgent(t, nil)
	names := allNames(t, a)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "proc.namespaces.envid" }) // few kernels have it
	var ids []pdu.PMID
	for _, name := range names {
		ids = append(ids, a.id(name))
	}
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_ = exec.Command(program).Run()
				}
			}
		})
	}
	defer all.Wait()
	defer close(stop)
	begin := time.Now()
	var settled uint64 // memory in use when all buffers have their final size
	for round := 0; round < 4 || time.Since(begin) < *churnFor; round++ {
		if round == 3 {
			settled = inUse()
		}
		var w pdu.ResultWriter
		if err := a.Fetch(t.Context(), self(), ids, &w); err != nil {
			t.Fatal(err)
		}
		r, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		i := 0
		for _, set := range r.All() {
			// The last process may have ended. A metric without other values then has its error.
			if err := set.Err(); err != nil && !errors.Is(err, pdu.ErrAppVersion) {
				t.Errorf("%s: %v", names[i], err)
			}
			i++
		}
		if names := a.instances(); len(names) < 2 {
			t.Error(names)
		}
	}
	if now := inUse(); now > settled+maxGrowth {
		t.Errorf("%d bytes were in use, then %d", settled, now)
	}
}

// maxGrowth limits how much the agent's memory for processes may grow while the number of processes
// varies.
const maxGrowth = 2 << 20

// inUse returns the memory in use in bytes.
func inUse() uint64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
