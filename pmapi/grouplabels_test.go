package pmapi_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

// A labelFixture is a source with disks that have labels.
type labelFixture struct {
	*testing.T
	src   *pmapitest.Source
	disks *pmapitest.InDom
	reads *pmapitest.Metric[uint64]
	kinds map[string]string // by name
	c     *pmapi.Context
}

func newLabelFixture(t *testing.T) *labelFixture {
	f := &labelFixture{T: t, src: &pmapitest.Source{Start: time.Unix(1e9, 0), Labels: `{"hostname":"web1"}`}}
	f.kinds = map[string]string{"sda": "disk", "nvme0": "nvme", "nvme1": "nvme"}
	f.disks = f.src.InDom("sda", "nvme0", "nvme1")
	f.setLabels()
	f.reads = pmapitest.Add(f.src, pmapitest.Metric[uint64]{
		Name: "disk.reads", Sem: pdu.SemCounter, Units: pdu.UnitCount, InDom: f.disks, Labels: `{"direction":"read"}`,
		Value: func(now time.Time, i pdu.Instance) (uint64, error) { return uint64(now.Unix()) * uint64(i.ID+1), nil },
	})
	f.c = f.src.Context()
	return f
}

// setLabels makes the labels of instances again.
func (f *labelFixture) setLabels() {
	kinds := maps.Clone(f.kinds)
	f.disks.SetLabels(`{"indom":"disks"}`, func(i pdu.Instance) string {
		if kinds[i.Name] == "" {
			return ""
		}
		return fmt.Sprintf(`{"kind":%q,"size":%d}`, kinds[i.Name], i.ID*100)
	})
}

// expect fetches after a second, and compares the names and values of a set.
func (f *labelFixture) expect(g *pmapi.Group, s *pmapi.Set[float64], want string) {
	f.Helper()
	f.src.Advance(time.Second)
	if _, err := g.Fetch(f.Context()); err != nil {
		f.Fatal(err)
	}
	var got []string
	for i := range s.Len() {
		inst, v, err := s.At(i)
		text := fmt.Sprint(v)
		if err != nil {
			text = pdu.FromError(err).Error()
		}
		got = append(got, inst.Name+"="+text)
		if _, err := s.Get(inst.Name); (err == nil) != (text == fmt.Sprint(v)) {
			f.Errorf("Get(%q): %v", inst.Name, err)
		}
	}
	if got := strings.Join(got, " "); got != want {
		f.Errorf("got %q, want %q", got, want)
	}
}

func TestWhere(t *testing.T) {
	f := newLabelFixture(t)
	g := f.c.Group()
	all := pmapi.AddSet[float64](g, "disk.reads")
	nvme := pmapi.AddSet[float64](g, "disk.reads", pmapi.Where(pmapi.LabelIs("kind", "nvme")))
	again := "nvme0=" + pdu.ErrAgain.Error() + " nvme1=" + pdu.ErrAgain.Error()
	f.expect(g, nvme, again)
	f.expect(g, nvme, "nvme0=2 nvme1=3")
	if all.Len() != 3 {
		t.Errorf("%d of all", all.Len())
	}
	if _, err := nvme.Get("sda"); !errors.Is(err, pdu.ErrInst) {
		t.Errorf("not selected: %v", err)
	}

	f.kinds["nvme2"] = "nvme"
	f.disks.SetNames("sda", "nvme1", "nvme2", "loop")
	f.setLabels()
	f.expect(g, nvme, "nvme1=3 nvme2="+pdu.ErrAgain.Error())
	f.expect(g, nvme, "nvme1=3 nvme2=4")

	f.kinds = map[string]string{"sda": "nvme", "nvme1": "disk", "nvme2": "nvme"}
	f.setLabels()
	f.expect(g, nvme, "sda=1 nvme2=4") // sda was fetched before, though not selected
}

func TestWhereFilters(t *testing.T) {
	for _, tt := range []struct {
		name    string
		filters []pmapi.LabelFilter
		want    string
	}{
		{"none", nil, "sda nvme0 nvme1"},
		{"of the context", []pmapi.LabelFilter{pmapi.LabelIs("hostname", "web1")}, "sda nvme0 nvme1"},
		{"of the metric", []pmapi.LabelFilter{pmapi.LabelIs("direction", "write")}, ""},
		{"one of several values", []pmapi.LabelFilter{pmapi.LabelIs("size", "0", "200")}, "sda nvme1"},
		{"any value", []pmapi.LabelFilter{pmapi.LabelIs("kind")}, "sda nvme0 nvme1"},
		{"no such label", []pmapi.LabelFilter{pmapi.LabelIs("color")}, ""},
		{"not", []pmapi.LabelFilter{func(l pdu.LabelSet) bool { return !pmapi.LabelIs("kind", "nvme")(l) }}, "sda"},
		{"two", []pmapi.LabelFilter{pmapi.LabelIs("kind", "nvme"), pmapi.LabelIs("size", "100")}, "nvme0"},
		{"a function", []pmapi.LabelFilter{func(l pdu.LabelSet) bool {
			size, _ := l.Get("size")
			var v float64
			return size.Decode(&v) == nil && v > 50
		}}, "nvme0 nvme1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			f := newLabelFixture(t)
			g := f.c.Group()
			s := pmapi.AddSet[uint64](g, "disk.reads", pmapi.Scale("instant"), pmapi.Where(tt.filters...))
			if _, err := g.Fetch(t.Context()); err != nil || s.Err() != nil {
				t.Fatal(err, s.Err())
			}
			var got []string
			for i := range s.All() {
				got = append(got, i.Name)
			}
			if got := strings.Join(got, " "); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

// TestWhereSingular selects a metric without instances by its own labels.
func TestWhereSingular(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0)}
	m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "cpus", Labels: `{"unit":"core"}`})
	m.Set(4)
	g := src.Context().Group()
	in := pmapi.AddSet[int32](g, "cpus", pmapi.Where(pmapi.LabelIs("unit", "core")))
	out := pmapi.AddSet[int32](g, "cpus", pmapi.Where(pmapi.LabelIs("unit", "thread")))
	item := pmapi.Add[int32](g, "cpus", pmapi.Where(pmapi.LabelIs("unit", "core")))
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if v, err := in.Get(""); v != 4 || err != nil || out.Len() != 0 || out.Err() != nil {
		t.Error(v, err, out.Len(), out.Err())
	}
	if _, err := item.Value(); !errors.Is(err, pdu.ErrArg) {
		t.Errorf("an item: %v", err)
	}
}

// TestWhereFails has labels that are not available for a while.
func TestWhereFails(t *testing.T) {
	f := newLabelFixture(t)
	fails := error(pdu.ErrAgain)
	f.src.OnRequest = onLabels(&fails)
	f.c = f.src.Context()
	g := f.c.Group()
	s := pmapi.AddSet[float64](g, "disk.reads", pmapi.Where(pmapi.LabelIs("kind", "disk")))
	f.expect(g, s, "")
	if !errors.Is(s.Err(), pdu.ErrAgain) {
		t.Error(s.Err())
	}
	fails = nil
	f.expect(g, s, "sda="+pdu.ErrAgain.Error())
	f.expect(g, s, "sda=1")
	if s.Err() != nil {
		t.Error(s.Err())
	}
}

func TestMetricLabels(t *testing.T) {
	f := newLabelFixture(t)
	l, err := f.c.MetricLabels(t.Context(), f.reads.Desc().PMID)
	if err != nil {
		t.Fatal(err)
	}
	if got := l.Metric.String(); got != `{"direction":"read","hostname":"web1","indom":"disks"}` || l.Metric.Inst != pdu.NoInst {
		t.Error(got, l.Metric.Inst)
	}
	one := l.Instance(1)
	if got := one.String(); got != `{"direction":"read","hostname":"web1","indom":"disks","kind":"nvme","size":100}` || one.Inst != 1 {
		t.Error(got, one.Inst)
	}
	var classes []pdu.LabelClass
	for _, name := range []string{"hostname", "indom", "direction", "kind"} {
		label, _ := one.Get(name)
		classes = append(classes, label.Flags.Class())
	}
	if want := []pdu.LabelClass{pdu.LabelContext, pdu.LabelInDom, pdu.LabelItem, pdu.LabelInstances}; !slices.Equal(classes, want) {
		t.Error(classes)
	}
	if none := l.Instance(77); none.String() != l.Metric.String() || none.Inst != 77 {
		t.Errorf("an instance without labels: %v, %v", none.Inst, none)
	}
	f.c.DelProfile(f.disks.ID())
	f.c.AddProfile(f.disks.ID(), 2)
	if l, err = f.c.MetricLabels(t.Context(), f.reads.Desc().PMID); err != nil || l.Instance(1).String() != l.Metric.String() || l.Instance(2).String() == l.Metric.String() {
		t.Errorf("with a profile: %v", err)
	}
	if _, err := f.c.MetricLabels(t.Context(), 7); !errors.Is(err, pdu.ErrPMID) {
		t.Error(err)
	}
}

// TestMetricLabelsTooMany merges labels that are too many for one set.
func TestMetricLabelsTooMany(t *testing.T) {
	many := func(letter string) string {
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, `%c"%s%d":1`, "{,"[min(i, 1)], letter, i)
		}
		return b.String() + "}"
	}
	src := &pmapitest.Source{Start: time.Unix(1e9, 0), Labels: many("a")}
	disks := src.InDom("sda", "sdb")
	disks.SetLabels("", func(i pdu.Instance) string { return []string{many("b"), `{"kind":"disk"}`}[i.ID] })
	reads := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "reads", InDom: disks})
	writes := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "writes", InDom: disks, Labels: many("c")})
	l, err := src.Context().MetricLabels(t.Context(), reads.Desc().PMID)
	if err != nil {
		t.Fatal(err)
	}
	if first := l.Instance(0); first.Err == 0 || first.Inst != 0 || len(first.Labels) != 0 {
		t.Errorf("too many: %v", first)
	}
	if second := l.Instance(1); second.Err != 0 || len(second.Labels) != 201 {
		t.Errorf("not too many: %v", second)
	}
	if _, err := src.Context().MetricLabels(t.Context(), writes.Desc().PMID); err == nil {
		t.Error("merged 400 labels of the metric")
	}
}

// onLabels makes requests for labels fail while there is an error.
func onLabels(fails *error) func(context.Context, pmapitest.Request) error {
	return func(_ context.Context, r pmapitest.Request) error {
		if r.Method == "Labels" {
			return *fails
		}
		return nil
	}
}
