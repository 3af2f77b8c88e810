package main

import (
	"fmt"
	"math"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// TestChangedMetric has samples of a host whose metrics and instances change. Values are converted,
// a rate is unknown once, and the load is that of the instance with the name.
func TestChangedMetric(t *testing.T) {
	src := &pmapitest.Source{Start: changing.Start}
	minutes, processors := src.InDom(), src.InDom("cpu0")
	minutes.SetInstances(pdu.Instance{ID: 1, Name: "1 minute"}, pdu.Instance{ID: 15, Name: "15 minute"})
	pmapitest.Add(src, pmapitest.Metric[uint32]{Name: "hinv.ncpu", Sem: pdu.SemDiscrete}).Set(1)
	loads := pmapitest.Add(src, pmapitest.Metric[float32]{Name: "kernel.all.load", InDom: minutes})
	counter := func(name string, d *pmapitest.InDom, u pdu.Units) *pmapitest.Metric[uint64] {
		return pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name, Sem: pdu.SemCounter, InDom: d, Units: u})
	}
	user, sys := counter("kernel.percpu.cpu.user", processors, pdu.TimeMSec), counter("kernel.percpu.cpu.sys", processors, pdu.TimeMSec)
	disk := counter("disk.all.total", nil, pdu.UnitCount)
	mem := pmapitest.Add(src, pmapitest.Metric[pdu.Atom]{Name: "mem.freemem", Type: pdu.TypeU64, Units: pdu.SpaceKByte})

	pc := src.Context()
	defer pc.Close()
	h := &host{pc: pc, command: newCommand()}
	if err := h.find(t.Context()); err != nil {
		t.Fatal(err)
	}
	n, userMsec, free := uint64(0), uint64(1), pdu.Uint64(2048)
	before, now := new(sample), new(sample)
	next := func() {
		t.Helper()
		src.Advance(time.Second)
		n++
		loads.Set(1, 15)
		user.Set(250 * userMsec * n)
		sys.Set(250 * n)
		disk.Set(10 * n)
		mem.Set(free)
		before, now = now, before
		if err := h.fetch(t.Context(), now); err != nil {
			t.Fatal(err)
		}
	}
	check := func(what, want string) {
		t.Helper()
		next()
		u := usageOf(before, now, h.cpus)
		if got := fmt.Sprintf("%.2f %.0f %.0f %.0f %.0f", u.cpu, u.free, math.Trunc(u.iops), u.load1, u.load15); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	next()
	check("before", "0.50 2 10 1 15")
	d := user.Desc()
	d.Units, userMsec = pdu.TimeUSec, 1000
	user.SetDesc(d)
	d = mem.Desc()
	d.Type, d.Units, free = pdu.TypeDouble, pdu.SpaceMByte, pdu.Float64(3)
	mem.SetDesc(d)
	check("other units and another type", "NaN 3 10 1 15")
	check("after it", "0.50 3 10 1 15")
	d = disk.Desc()
	d.PMID = pdu.MakePMID(400, 0, 99)
	old := disk.Desc().PMID
	disk.SetDesc(d)
	pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "disk.other", PMID: old, Sem: pdu.SemCounter}).Set(77)
	check("another PMID", "0.50 3 NaN 1 15")
	check("after it", "0.50 3 10 1 15")
	minutes.SetInstances(pdu.Instance{ID: 15, Name: "1 minute"}, pdu.Instance{ID: 1, Name: "15 minute"})
	src.Notify(pdu.ChangeRestartAgent)
	check("instances have other numbers", "0.50 3 10 1 15")
	minutes.SetInstances(pdu.Instance{ID: 2, Name: "1 minute"}, pdu.Instance{ID: 3, Name: "15 minute"})
	check("and others", "0.50 3 10 NaN NaN")
	check("after it", "0.50 3 10 1 15")
	mem.Rename("mem.other")
	check("no such name", "0.50 NaN 10 1 15")
	mem.Rename("mem.freemem")
	check("the name is back", "0.50 NaN 10 1 15")
	check("after it", "0.50 3 10 1 15")
	n = 0
	check("counters begin again", "NaN 3 NaN 1 15")
	check("after it", "0.50 3 10 1 15")
	src.Advance(-time.Minute)
	check("the clock was set back", "NaN 3 NaN 1 15")
	check("after it", "0.50 3 10 1 15")
}
