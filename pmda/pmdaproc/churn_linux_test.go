package pmdaproc_test

import (
	"errors"
	"os/exec"
	"slices"
	"sync"
	"testing"

	"github.com/pcp-go/pcp/pdu"
)

// TestChurn: processes that come and go while they are read are missing, or have the values that could be
// read, and no metric fails.
func TestChurn(t *testing.T) {
	program, err := exec.LookPath("true")
	if err != nil {
		t.Skip(err)
	}
	a := newAgent(t, nil)
	names := allNames(t, a)
	names = slices.DeleteFunc(names, func(name string) bool { return name == "proc.namespaces.envid" }) // which few kernels have
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
	for range 4 {
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
			// The last process may be one that has gone, whose error a metric without other values has.
			if err := set.Err(); err != nil && !errors.Is(err, pdu.ErrAppVersion) {
				t.Errorf("%s: %v", names[i], err)
			}
			i++
		}
		if names := a.instances(); len(names) < 2 {
			t.Error(names)
		}
	}
}
