package pmapi_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// selectedNames returns the names of the instances that a set has.
func selectedNames[T pdu.Scalar](s *pmapi.Set[T]) string {
	var names []string
	for i := range s.Len() {
		inst, _, _ := s.At(i)
		names = append(names, inst.Name)
	}
	return strings.Join(names, " ")
}

// labels adds a record with the labels of instances.
func (m *madeArchive) labels(t testing.TB, after time.Duration, d pdu.InDom, texts map[pdu.InstID]string) {
	t.Helper()
	b := words(nil, 7)
	b = words(b, stampWords(archiveStart.Add(after))...)
	b = words(b, uint32(pdu.LabelInstances), uint32(d), uint32(len(texts)))
	for id, text := range texts {
		set, err := pdu.ParseLabels(pdu.LabelInstances, text, false)
		if err != nil {
			t.Fatal(err)
		}
		b = append(words(b, uint32(id), uint32(len(set.JSON))), set.JSON...)
		b = words(b, uint32(len(set.Labels)))
		for _, l := range set.Labels {
			b = append(b, byte(l.NameOff>>8), byte(l.NameOff), l.NameLen, byte(l.Flags), byte(l.ValueOff>>8), byte(l.ValueOff), byte(l.ValueLen>>8), byte(l.ValueLen))
		}
	}
	m.meta = append(m.meta, framed(b)...)
}

// TestWhereInArchives has labels that change while the archive is read, forward, back and between
// records.
func TestWhereInArchives(t *testing.T) {
	m := newMadeArchive()
	m.metric("made.load", pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: madeDomain, Sem: pdu.SemInstant})
	m.instances(0, madeDomain, pdu.Instance{ID: 1, Name: "one"}, pdu.Instance{ID: 2, Name: "two"})
	m.labels(t, 0, madeDomain, map[pdu.InstID]string{1: `{"kind":"good"}`, 2: `{"kind":"bad"}`})
	m.labels(t, 25*time.Second, madeDomain, map[pdu.InstID]string{1: `{"kind":"bad"}`, 2: `{"kind":"good"}`})
	for i := range 5 {
		m.record(t, time.Duration(i)*10*time.Second, func(w *pdu.ResultWriter) {
			w.Begin(loadID)
			w.Float64(1, float64(i))
			w.Float64(2, -float64(i))
		})
	}
	for _, tt := range []struct {
		mode     pmapi.Mode
		from     time.Duration
		interval time.Duration
		want     string
	}{
		{pmapi.ModeForward, 0, 0, "one one one two two"},
		{pmapi.ModeBack, 40 * time.Second, 0, "two two one one one"},
		{pmapi.ModeInterp, 0, 5 * time.Second, "one one one one one two two two two"},
	} {
		c := m.open(t, pmapi.ArchiveOptions{})
		if err := c.SetMode(t.Context(), tt.mode, archiveStart.Add(tt.from), 0); err != nil {
			t.Fatal(err)
		}
		g := c.Group()
		good := pmapi.AddSet[float64](g, "made.load", pmapi.Where(pmapi.LabelIs("kind", "good")))
		var got []string
		for _, err := range g.Every(t.Context(), tt.interval) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, selectedNames(good))
		}
		if got := strings.Join(got, " "); got != tt.want {
			t.Errorf("%v: got %q, want %q", tt.mode, got, tt.want)
		}
	}
}

// TestWhereOnCollector has an agent that reports that its labels have changed.
func TestWhereOnCollector(t *testing.T) {
	var swapped atomic.Bool
	a := &pmda.Agent{Name: "disks", Domain: 412}
	disks := a.AddInDom("disk", "sda", "sdb")
	disks.InstanceLabels = func(i pdu.Instance) string {
		return fmt.Sprintf(`{"first":%t}`, (i.Name == "sda") != swapped.Load())
	}
	pmda.Register(a, pmda.Metric[uint32]{Name: "disks.n", InDom: disks, Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) { return 7, nil }})
	srv := new(collector.Server)
	defer srv.Close()
	if err := srv.Add(a); err != nil {
		t.Fatal(err)
	}
	c, err := pmapi.Local(t.Context(), srv)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	one, other := c.Group(), c.Group() // one of them gets the report
	sets := []*pmapi.Set[uint32]{}
	for _, g := range []*pmapi.Group{one, other} {
		sets = append(sets, pmapi.AddSet[uint32](g, "disks.n", pmapi.Where(pmapi.LabelIs("first", "true"))))
	}
	expect := func(want string) {
		t.Helper()
		for i, g := range []*pmapi.Group{one, other} {
			if _, err := g.Fetch(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := selectedNames(sets[i]); got != want {
				t.Errorf("group %d: %q, want %q", i, got, want)
			}
		}
	}
	expect("sda")
	swapped.Store(true)
	expect("sda") // the agent has not reported the change yet
	a.Notify(pdu.ChangeLabels)
	expect("sdb")
}

// TestSelectionFollows compares sets and trees with the source, while metrics, instances and labels
// come and go.
func TestSelectionFollows(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		src := &pmapitest.Source{Start: time.Unix(1e9, 0), AutoReconnect: true}
		disks := src.InDom("a", "b", "c")
		kinds := map[string]string{}
		metrics := map[string]*pmapitest.Metric[int32]{}
		add := func(name string) {
			metrics[name] = pmapitest.Add(src, pmapitest.Metric[int32]{Name: name, InDom: disks, Value: func(time.Time, pdu.Instance) (int32, error) { return 1, nil }})
		}
		add("d.first")
		names := []string{"a", "b", "c"}
		g := src.Context().Group()
		tree := pmapi.AddTree[int32](g, "d", pmapi.Where(pmapi.LabelIs("kind", "x")))
		set := pmapi.AddSet[int32](g, "d.first", pmapi.Where(func(l pdu.LabelSet) bool { return !pmapi.LabelIs("kind", "x")(l) }))
		for range rapid.IntRange(1, 12).Draw(r, "steps") {
			switch rapid.IntRange(0, 4).Draw(r, "what") {
			case 0:
				names = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}), 1, 5, rapid.ID[string]).Draw(r, "instances")
				disks.SetNames(names...)
			case 1:
				kinds = map[string]string{}
				for _, n := range []string{"a", "b", "c", "d", "e"} {
					kinds[n] = rapid.SampledFrom([]string{"x", "y", ""}).Draw(r, "kind of "+n)
				}
				now := kinds
				disks.SetLabels("", func(i pdu.Instance) string { return fmt.Sprintf(`{"kind":%q}`, now[i.Name]) })
			case 2:
				name := rapid.SampledFrom([]string{"d.one", "d.two", "e.three"}).Draw(r, "metric")
				if m := metrics[name]; m != nil {
					m.Remove()
					delete(metrics, name)
				} else {
					add(name)
				}
			case 3:
				src.Break(nil)
				src.Restore()
				for range 2 { // the error, and the Gap
					_, _ = g.Fetch(t.Context())
				}
			}
			for range 2 { // the first reports a change of names
				if _, err := g.Fetch(t.Context()); err != nil {
					r.Fatal(err)
				}
			}
			var want, got []string
			for _, name := range []string{"d.first", "d.one", "d.two"} {
				for _, inst := range names {
					if metrics[name] != nil && kinds[inst] == "x" {
						want = append(want, name+"["+inst+"]")
					}
				}
			}
			for name, s := range tree.All() {
				for inst := range s.All() {
					got = append(got, name+"["+inst.Name+"]")
				}
			}
			slices.Sort(want)
			if slices.Sort(got); !slices.Equal(got, want) {
				r.Fatalf("tree: %q, want %q", got, want)
			}
			not := 0
			for _, inst := range names {
				if kinds[inst] != "x" {
					not++
				}
			}
			if set.Len() != not || set.Err() != nil {
				r.Fatalf("set: %d, %v, want %d", set.Len(), set.Err(), not)
			}
		}
	})
}
