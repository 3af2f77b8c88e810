package pdu

import (
	"errors"
	"runtime/debug"
	"slices"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestResultWriterFull: a writer that has reached the length limit of a PDU accepts no more
// values, but still reports an error for each further metric. Its memory is never touched, so the
// test uses only address space.
func TestResultWriterFull(t *testing.T) {
	info, _ := debug.ReadBuildInfo()
	if strconv.IntSize < 64 || slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"}) {
		t.Skip("2 GiB that are not touched need 64 bits of address, and no race detector to watch over them")
	}
	full := make([]byte, MaxLen+1)
	w := ResultWriter{blocks: full[:MaxLen-50]}
	var from ResultWriter
	for id := range PMID(3) {
		from.Begin(id)
		from.String(NoInst, "fits once")
	}
	w.CopySets(&from, 0, 3)
	w.blocks = full // what a longer value would have led to
	w.Begin(3)
	w.Uint64(NoInst, 1)
	w.Begin(4)
	w.String(NoInst, "x")
	w.Uint32(NoInst, 1)
	w.close()

	var got []Error
	var at uint32
	for _, e := range w.ends {
		n := int32(w.sets[at+4])<<24 | int32(w.sets[at+5])<<16 | int32(w.sets[at+6])<<8 | int32(w.sets[at+7])
		got = append(got, Error(n))
		at = e.sets
	}
	if diff := cmp.Diff([]Error{1, ErrTooBig, ErrTooBig, ErrTooBig, ErrTooBig}, got); diff != "" {
		t.Errorf("numbers of values, or errors (-want +got):\n%s", diff)
	}
	for f := range Format(2) {
		if _, err := w.Append(nil, f); !errors.Is(err, ErrTooBig) {
			t.Errorf("%v: %v, want %v", f.Kind(), err, ErrTooBig)
		}
	}
	if _, err := w.Result(); !errors.Is(err, ErrTooBig) {
		t.Errorf("Result: %v, want %v", err, ErrTooBig)
	}
}
