package pmstat

import (
	"testing"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
)

// TestChangingSource has samples of a source that changes: of free memory, and of interrupts.
func TestChangingSource(t *testing.T) {
	src := changing.NewNamed(metricNames[memFree].name, metricNames[interrupts].name, changing.Units{Before: pdu.SpaceMByte, After: pdu.SpaceKByte, Ratio: 1024})
	pc := src.Context()
	defer pc.Close()
	s := &source{command: &command{}, pc: pc}
	if !s.find(t.Context()) {
		t.Fatal("no metrics")
	}
	fetch := func() {
		t.Helper()
		if err := s.fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	fetch()
	for _, step := range changing.Steps() {
		step.Do(src)
		fetch()
		free, ok := numberOf[uint32](s, memFree)
		missed := step.Changes && !ok // a metric that has changed has no value once
		if want := step.Latency * 1024; !missed && (ok != (want >= 0) || ok && float64(free) != want) {
			t.Errorf("%s: %v Kbyte free, %v, want %v", step.Name, free, ok, want)
		}
		rate, ok := numberOf[uint32](s, interrupts)
		if want := step.Requests; ok != (want >= 0) || ok && rate != uint32(want) {
			t.Errorf("%s: %v interrupts, %v, want %v", step.Name, rate, ok, want)
		}
	}
}
