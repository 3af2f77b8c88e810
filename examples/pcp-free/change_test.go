package main

import (
	"testing"

	"github.com/pcp-go/pcp/examples/internal/pmcc"
	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestChangedUnits has values in Kbyte of a metric whose units change.
func TestChangedUnits(t *testing.T) {
	src := &pmapitest.Source{Start: changing.Start}
	var all []*pmapitest.Metric[uint64]
	for _, name := range metricNames {
		all = append(all, pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name, Units: pdu.SpaceKByte}))
	}
	pc := src.Context()
	defer pc.Close()
	metrics := pmcc.Metrics{Names: metricNames[:]}
	for _, test := range []struct {
		units pdu.Units
		value uint64
		want  int64
	}{{pdu.SpaceKByte, 3000, 3000}, {pdu.SpaceMByte, 3, 3072}, {pdu.SpaceByte, 4096, 4}, {pdu.TimeSec, 9, 0}} {
		d := all[free].Desc()
		d.Units = test.units
		all[free].SetDesc(d)
		all[free].Set(test.value)
		var r pdu.Result
		if err := metrics.Fetch(t.Context(), pc, &r); err != nil {
			t.Fatal(err)
		}
		if got := valuesOf(&r, metrics.Descs)[free]; got != test.want {
			t.Errorf("%d %v: %d Kbyte, want %d", test.value, test.units, got, test.want)
		}
	}
}
