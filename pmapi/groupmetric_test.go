package pmapi_test

import (
	"errors"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

func TestUnitsOfValues(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0)}
	for _, m := range []pmapitest.Metric[uint64]{
		{Name: "bytes", Sem: pdu.SemCounter, Units: pdu.SpaceKByte},
		{Name: "times", Sem: pdu.SemCounter, Units: pdu.TimeMSec},
		{Name: "calls", Sem: pdu.SemCounter},
		{Name: "free", Units: pdu.SpaceKByte},
	} {
		pmapitest.Add(src, m).Set(1)
	}
	g := src.Context().Group()
	for _, tt := range []struct {
		metric, scale, want string
	}{
		{"bytes", "", "Kbyte / sec"},
		{"bytes", "instant", "Kbyte"},
		{"bytes", "rate", "Kbyte / sec"},
		{"bytes", "Mbyte/minute", "Mbyte/minute"},
		{"times", "", "millisec / sec"},
		{"times", "%", "%"},
		{"calls", "", "/ sec"},
		{"free", "", "Kbyte"},
		{"no.such", "", ""},
	} {
		var opts []pmapi.ItemOption
		if tt.scale != "" {
			opts = append(opts, pmapi.Scale(tt.scale))
		}
		item, set := pmapi.Add[float64](g, tt.metric, opts...), pmapi.AddSet[float64](g, tt.metric, opts...)
		if item.Units() != "" || item.Desc().PMID != pdu.NoPMID {
			t.Errorf("before a fetch: %q", item.Units())
		}
		if _, err := g.Fetch(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := item.Units(); got != tt.want || set.Units() != tt.want || item.Name() != tt.metric {
			t.Errorf("%s, scale %q: %q, %q, want %q", tt.metric, tt.scale, got, set.Units(), tt.want)
		}
	}
	rate, free := pmapi.Add[time.Duration](g, "times"), pmapi.Add[time.Duration](g, "times", pmapi.Scale("instant"))
	if _, err := g.Fetch(t.Context()); err != nil || rate.Units() != "nanosec / sec" || free.Units() != "nanosec" {
		t.Errorf("durations: %v, %q, %q", err, rate.Units(), free.Units())
	}
}

func TestItemMetadata(t *testing.T) {
	f := newLabelFixture(t)
	pmapitest.Add(f.src, pmapitest.Metric[string]{Name: "version", Text: "the version"}).Set("1")
	g := f.c.Group()
	reads := pmapi.Add[float64](g, "disk.reads", pmapi.Instance("nvme1"))
	set := pmapi.AddSet[float64](g, "disk.reads")
	none := pmapi.Add[float64](g, "disk.reads", pmapi.Instance("gone"))
	version := pmapi.Add[string](g, "version")
	unknown := pmapi.AddSet[string](g, "no.such")
	if _, err := reads.Labels(t.Context()); !errors.Is(err, pdu.ErrValue) {
		t.Errorf("labels before a fetch: %v", err)
	}
	if _, err := g.Fetch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l, err := reads.Labels(t.Context()); err != nil || l.String() != `{"direction":"read","hostname":"web1","indom":"disks","kind":"nvme","size":200}` {
		t.Error(l, err)
	}
	if l, err := version.Labels(t.Context()); err != nil || l.String() != `{"hostname":"web1"}` || l.Inst != pdu.NoInst {
		t.Error(l, err)
	}
	if l, err := set.Labels(t.Context()); err != nil || !strings.Contains(l.Instance(0).String(), `"kind":"disk"`) {
		t.Error(l, err)
	}
	if _, err := none.Labels(t.Context()); !errors.Is(err, pdu.ErrInst) {
		t.Error(err)
	}
	if _, err := unknown.Labels(t.Context()); !errors.Is(err, pdu.ErrName) {
		t.Error(err)
	}
	if d := set.Desc(); d != f.reads.Desc() {
		t.Errorf("%+v", d)
	}
}

// TestTimeOfValues has a discrete metric whose value stays.
func TestTimeOfValues(t *testing.T) {
	src := &pmapitest.Source{Start: time.Unix(1e9, 0)}
	state := pmapitest.Add(src, pmapitest.Metric[string]{Name: "state", Sem: pdu.SemDiscrete})
	pmapitest.Add(src, pmapitest.Metric[int32]{Name: "n"}).Set(1)
	state.Set("on")
	g := src.Context().Group()
	item, set, n := pmapi.Add[string](g, "state"), pmapi.AddSet[string](g, "state"), pmapi.Add[int32](g, "n")
	if !item.Time().IsZero() || !set.Time().IsZero() {
		t.Error("a time before a fetch")
	}
	first, err := g.Fetch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	state.Clear()
	src.Advance(time.Minute)
	now, err := g.Fetch(t.Context())
	if err != nil || now.Sub(first) != time.Minute {
		t.Fatal(now, err)
	}
	if !item.Time().Equal(first) || !set.Time().Equal(first) || !n.Time().Equal(now) {
		t.Error(item.Time(), set.Time(), n.Time())
	}
	state.Fail(pdu.ErrAgain)
	if _, err := g.Fetch(t.Context()); err != nil || !item.Time().IsZero() || !set.Time().IsZero() {
		t.Error(err, item.Time(), set.Time())
	}
}

func TestAddFields(t *testing.T) {
	s := newGroupFixture(t, false)
	var v struct {
		Reads  pmapi.Item[uint32] `pcp:"disk.reads[sdb solid]" scale:"instant"`
		Temp   pmapi.Set[float64] `pcp:"disk.temp"`
		All    pmapi.Tree[string] `pcp:"disk"`
		State  pmapi.Item[string] `pcp:"state"`
		Unused pmapi.Item[string]
		Other  int
	}
	g := s.c.Group()
	if err := pmapi.AddFields(g, &v); err != nil {
		t.Fatal(err)
	}
	if _, err := g.Fetch(t.Context()); err != nil || g.Err() != nil {
		t.Fatal(err, g.Err())
	}
	reads, err := v.Reads.Value()
	temp, _ := v.Temp.Get("sdc")
	state, _ := v.State.Value()
	n := 0
	for range v.All.All() {
		n++
	}
	if err != nil || reads != 20 || temp != 2.5 || state != "idle" || n != 2 {
		t.Error(err, reads, temp, state, n)
	}

	type item = pmapi.Item[string]
	for _, tt := range []struct {
		v    any
		want string
	}{
		{&v, `field Reads of .*: it is in a group already`},
		{v, `AddFields: struct .* is no pointer to a struct`},
		{(*struct{})(nil), `no pointer to a struct`},
		{new(int), `\*int is no pointer to a struct`},
		{&struct {
			a item `pcp:"x"`
		}{}, `field a of .*: it is not exported`},
		{&struct {
			A int `pcp:"x"`
		}{}, `a int is no Item, Set or Tree`},
		{&struct {
			A item `pcp:"x[y"`
		}{}, `tag "x\[y" does not end with \]`},
	} {
		if err := pmapi.AddFields(g, tt.v); !errors.Is(err, pdu.ErrArg) || !matches(tt.want, err) {
			t.Errorf("%T: %v", tt.v, err)
		}
	}
}

func matches(expr string, err error) bool { return regexp.MustCompile(expr).MatchString(err.Error()) }
