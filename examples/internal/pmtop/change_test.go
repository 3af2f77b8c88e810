package pmtop

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// nextRow returns the values of the sampler's next sample, with their units.
func nextRow(t *testing.T, s *sampler) string {
	t.Helper()
	v, err := s.next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, r := range v.chosen {
		list = append(list, strings.Join(strings.Fields(r.instance+" "+r.value+" "+r.units), " "))
	}
	return strings.Join(list, ", ")
}

// TestChangingSource shows metrics of a source that changes. A metric that has changed has no value
// once.
func TestChangingSource(t *testing.T) {
	src := changing.New()
	pc := src.Context()
	defer pc.Close()
	specs := []pmapi.MetricSpec{{Metric: changing.Latency}, {Metric: changing.Requests}, {Metric: changing.Queue}}
	s, err := newSampler(t.Context(), pc, specs, false, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	nextRow(t, s)
	var got []string
	for _, step := range changing.Steps() {
		step.Do(src)
		got = append(got, step.Name+": "+nextRow(t, s))
	}
	want := []string{
		"nothing changes: 7 millisec, 10.0 /s, in 1, out 2",
		"other unit: -, 10.0 /s, in 1, out 2",
		"nothing changes again: 7000 microsec, 10.0 /s, in 1, out 2",
		"other type: -, 10.0 /s, in 1, out 2",
		"other PMID: -, 10.0 /s, in 1, out 2",
		"another metric has the PMID: -, 10.0 /s, in 1, out 2",
		"no such name: Unknown metric name, 10.0 /s, in 1, out 2",
		"the name is back: -, 10.0 /s, in 1, out 2",
		"other instances: 7000 microsec, 10.0 /s, out 3, retry 4",
		"counter begins again: 7000 microsec, -, out 3, retry 4",
		"counter goes on: 7000 microsec, 10.0 /s, out 3, retry 4",
		"other labels: 7000 microsec, 10.0 /s, out 3, retry 4",
		"clock set back: 7000 microsec, -, out 3, retry 4",
		"clock goes on: 7000 microsec, 10.0 /s, out 3, retry 4",
		"clock jumps forward: 7000 microsec, 0.0028 /s, out 3, retry 4",
		"clock goes on again: 7000 microsec, 10.0 /s, out 3, retry 4",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestChangedMetric shows a metric whose semantics, type and instances change, and one that does
// not exist at first.
func TestChangedMetric(t *testing.T) {
	src := &pmapitest.Source{Start: noon}
	disks := src.InDom("sda")
	m := pmapitest.Add(src, pmapitest.Metric[pdu.Atom]{Name: "app.bytes", PMID: pdu.MakePMID(400, 0, 1), Type: pdu.TypeU64, Sem: pdu.SemInstant, Units: pdu.SpaceKByte})
	other := pmapitest.Add(src, pmapitest.Metric[uint64]{Name: "app.other", PMID: pdu.MakePMID(400, 0, 2), Sem: pdu.SemCounter})
	pc := src.Context()
	defer pc.Close()
	s, err := newSampler(t.Context(), pc, []pmapi.MetricSpec{{Metric: "app"}, {Metric: "late"}}, false, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	count, value := uint64(0), pdu.Uint64(4)
	check := func(what, want string) {
		t.Helper()
		src.Advance(time.Second)
		count += 10
		other.Set(count)
		m.Set(value)
		if got := nextRow(t, s); got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	change := func(f func(d *pdu.Desc)) {
		d := m.Desc()
		f(&d)
		m.SetDesc(d)
	}
	const unknown = "Unknown metric name"
	check("first", "4.0K byte, -, "+unknown)
	check("second", "4.0K byte, 10.0 /s, "+unknown)
	change(func(d *pdu.Desc) { d.Sem = pdu.SemCounter })
	value = pdu.Uint64(8)
	check("a counter", "-, 10.0 /s, "+unknown)
	value = pdu.Uint64(12)
	check("first value of a counter", "-, 10.0 /s, "+unknown)
	value = pdu.Uint64(16)
	check("first rate", "4.0K byte/s, 10.0 /s, "+unknown)
	change(func(d *pdu.Desc) { d.Type, d.Sem, d.Units = pdu.TypeString, pdu.SemDiscrete, pdu.NoUnits })
	value = pdu.String("idle")
	check("a text", "-, 10.0 /s, "+unknown)
	check("its value", "idle, 10.0 /s, "+unknown)
	change(func(d *pdu.Desc) { d.Type, d.Units = pdu.TypeFloat, pdu.TimeSec })
	value = pdu.Float32(1.5)
	check("a number", "-, 10.0 /s, "+unknown)
	pmapitest.Add(src, pmapitest.Metric[string]{Name: "late", PMID: pdu.MakePMID(400, 0, 3)}).Set("here")
	check("a metric appears", "1.50 sec, 10.0 /s, -")
	change(func(d *pdu.Desc) { d.InDom = disks.ID() })
	check("instances", "-, 10.0 /s, here")
	check("their values", "sda 1.50 sec, 10.0 /s, here")
	src.Break(nil)
	if _, err := s.next(t.Context()); err == nil {
		t.Error("no error without a connection")
	}
	change(func(d *pdu.Desc) { d.Units = pdu.TimeMSec })
	src.Restore()
	check("another connection", "sda 1.50 millisec, -, here")
}

// TestChangedUnits shows processors and a disk whose metrics get other units.
func TestChangedUnits(t *testing.T) {
	src := &pmapitest.Source{Start: noon}
	add := func(name string, units pdu.Units, d *pmapitest.InDom) *pmapitest.Metric[uint64] {
		return pmapitest.Add(src, pmapitest.Metric[uint64]{Name: name, Sem: pdu.SemCounter, Units: units, InDom: d})
	}
	user, idle := add("kernel.all.cpu.user", pdu.TimeMSec, nil), add("kernel.all.cpu.idle", pdu.TimeMSec, nil)
	reads := add("disk.dev.read", pdu.UnitCount, src.InDom("sda"))
	pc := src.Context()
	defer pc.Close()
	s, err := newSampler(t.Context(), pc, nil, false, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	perMilli, n := uint64(1), uint64(0)
	next := func() *sample {
		t.Helper()
		src.Advance(time.Second)
		n++
		user.Set(250 * perMilli * n)
		idle.Set(750 * n)
		reads.Set(2000 / perMilli * n)
		v, err := s.next(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	check := func(what string) {
		t.Helper()
		v := next()
		if v.all == nil || v.all[timeUser] != 25 || v.all[timeIdle] != 75 {
			t.Errorf("%s: processors %v", what, v.all)
		}
		if rows := v.tables[0].rows; len(rows) != 1 || rows[0].cells[0] != 2000 {
			t.Errorf("%s: disks %v", what, rows)
		}
	}
	next()
	check("before")
	d := user.Desc()
	d.Units = pdu.TimeUSec
	user.SetDesc(d)
	d = reads.Desc()
	d.Units = pdu.MakeUnits(0, 0, 1, 0, 0, 3) // thousands
	reads.SetDesc(d)
	perMilli = 1000
	next()
	next()
	check("after")
}
