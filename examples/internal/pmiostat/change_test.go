package pmiostat

import (
	"testing"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestChangedMetric: a metric that gets another PMID has no values in one sample, and is not taken
// for the metric that has its PMID then. Values in other units are converted.
func TestChangedMetric(t *testing.T) {
	src := &pmapitest.Source{Start: changing.Start}
	disks := src.InDom("sda")
	var all []*pmapitest.Metric[uint64]
	for i, name := range metricNames {
		m := pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.dev." + name, PMID: pdu.MakePMID(400, 0, i), InDom: disks, Sem: pdu.SemCounter, Units: pdu.SpaceKByte})
		m.Set(uint64(10 + i))
		all = append(all, m)
	}
	pc := src.Context()
	defer pc.Close()
	r := &report{command: &command{}, pc: pc}
	if err := r.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	fetch := func(what string, want map[string]float64) {
		t.Helper()
		if err := r.fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.now.values[reads]
		if len(got) != len(want) || got["sda"] != want["sda"] {
			t.Errorf("%s: reads %v, want %v", what, got, want)
		}
		if v := r.now.values[writes]["sda"]; v != 10+writes {
			t.Errorf("%s: writes %v, want %v", what, v, 10+writes)
		}
	}
	fetch("before", map[string]float64{"sda": 10})
	d := all[reads].Desc()
	d.PMID = pdu.MakePMID(400, 0, 99)
	all[reads].SetDesc(d)
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.other", PMID: pdu.MakePMID(400, 0, reads), InDom: disks}).Set(77)
	fetch("with the change", nil)
	fetch("after the change", map[string]float64{"sda": 10})
	d.Units = pdu.SpaceMByte
	all[reads].SetDesc(d)
	fetch("with other units", nil)
	fetch("after the change of units", map[string]float64{"sda": 10 << 10})
	d.Units = pdu.TimeSec
	all[reads].SetDesc(d)
	fetch("with another dimension", nil)
	fetch("after the change of the dimension", nil)
	d.Units, d.Sem = pdu.SpaceKByte, pdu.SemInstant
	all[reads].SetDesc(d)
	fetch("with other semantics", nil)
	fetch("after the change of semantics", nil)
	d.Sem = pdu.SemCounter
	all[reads].SetDesc(d)
	fetch("as a counter again", nil)
	fetch("after that", map[string]float64{"sda": 10})
}
