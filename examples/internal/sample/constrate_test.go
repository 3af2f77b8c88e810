package sample_test

import (
	"testing"
	"time"

	"github.com/pcp-go/pcp/examples/internal/sample"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A rate that is set before the first fetch of the counter counts from 1970, a later one from the
// last fetch.
func TestConstRate(t *testing.T) { checkConstRate(t, newAgent(t, sample.Options{})) }

func TestInteropConstRate(t *testing.T) {
	pcptest.Need(t, programPath())
	checkConstRate(t, startAgent(t, programPath()))
}

func checkConstRate(t *testing.T, h pmda.Handler) {
	t.Helper()
	const rate = 1000
	value := func() uint32 {
		t.Helper()
		var w pdu.ResultWriter
		if err := h.Fetch(t.Context(), &pmda.Request{Client: pmda.NewClient(0, 1)}, []pdu.PMID{pdu.MakePMID(sample.Domain, 0, 72)}, &w); err != nil {
			t.Fatal(err)
		}
		res, err := w.Result()
		if err != nil {
			t.Fatal(err)
		}
		v, err := pdu.As[uint32](res.At(0).Atom(0, pdu.TypeU32))
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	play(t, h, "store 73 u32 1000")
	before := time.Now()
	first := value()
	if least := uint32(10<<20+rate*before.UnixMilli()/1000) - 2; first-least > uint32(time.Since(before).Milliseconds()+1)*rate/1000+4 {
		t.Errorf("the first value is %d, want %d or little more", first, least)
	}
	start := time.Now()
	for time.Since(start) < 20*time.Millisecond {
	}
	least, most := uint32(time.Since(start).Milliseconds()*rate/1000), uint32(0)
	second := value()
	most = uint32(time.Since(before).Milliseconds()*rate/1000) + 2
	if grown := second - first; grown+1 < least || grown > most {
		t.Errorf("the value has grown by %d, want %d to %d", grown, least, most)
	}
	play(t, h, "store 73 u32 0")
	value()
	if a, b := value(), value(); a != b {
		t.Errorf("without a rate the value has grown from %d to %d", a, b)
	}
}
