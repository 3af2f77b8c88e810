package archive_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// one returns an archive with one record.
func one(version int) (fstest.MapFS, *maker) {
	fs := fstest.MapFS{}
	m := newMaker(fs, "a", version, epoch)
	m.value(0, at(0), 1)
	m.index(archive.IndexEntry{Time: at(0), Data: m.label.Len()})
	return fs, m
}

// inst parses instances such as "1 a,2 b".
func inst(list string) []pdu.Instance {
	var instances []pdu.Instance
	for item := range strings.SplitSeq(list, ",") {
		var i pdu.Instance
		if _, err := fmt.Sscan(item, &i.ID, &i.Name); err != nil {
			panic(err)
		}
		instances = append(instances, i)
	}
	return instances
}

func TestInDomDeltas(t *testing.T) {
	fs, m := one(3)
	d := pdu.MakeInDom(1, 2)
	const delta = archive.TypeInDomDelta
	m.indom(archive.TypeInDom, at(10), d, inst("2 b,1 a,3 c")...) // not sorted
	m.indom(delta, at(20), d, inst("2 -,4 d,0 z")...)
	m.indom(delta, at(30), d, inst("9 -,4 other,1 -")...) // 9 was never there; 4 keeps its name
	m.indom(archive.TypeInDom, at(40), d)                 // none at all: ignored
	m.indom(archive.TypeInDom, at(50), d, inst("7 g")...)
	m.indom(delta, at(60), d, inst("8 h")...)
	m.indom(archive.TypeInDom, at(60), d, inst("5 e")...) // loaded later at the same time
	m.indom(archive.TypeInDom, at(5), d, inst("1 first")...)
	m.indom(archive.TypeInDom, at(60), d, inst("5 e")...) // the same again
	e := pdu.MakeInDom(1, 3)
	m.indom(delta, at(10), e, inst("1 a,2 -")...) // nothing before it
	md := open(t, fs, "a").Metadata()
	for _, test := range []struct {
		seconds float64
		want    string
	}{
		{0, ""}, {5, "1 first"}, {10, "1 a,2 b,3 c"}, {19.9, "1 a,2 b,3 c"}, {20, "0 z,1 a,3 c,4 d"}, {35, "0 z,3 c,4 d"},
		{45, "0 z,3 c,4 d"}, {50, "7 g"}, {60, "5 e"}, {1000, "5 e"},
	} {
		var want []pdu.Instance
		if test.want != "" {
			want = inst(test.want)
		}
		diff(t, fmt.Sprint("at ", test.seconds), md.InDom(d).At(at(test.seconds)), want)
	}
	diff(t, "all", md.InDom(d).All(), inst("0 z,1 a,2 b,3 c,4 other,5 e,7 g,8 h"))
	diff(t, "delta without a full state", md.InDom(e).At(at(10)), inst("1 a"))
	if n := md.InDom(d).Len(); n != 7 {
		t.Errorf("%d states, want 7", n)
	}
	if md.InDom(99) != nil || md.Labels(pdu.LabelContext, 0) != nil {
		t.Error("unknown identifiers are not nil")
	}
}

// TestInDomLongChain reads the states of a long chain of deltas in several orders. They are the
// same.
func TestInDomLongChain(t *testing.T) {
	fs, m := one(3)
	d := pdu.MakeInDom(1, 2)
	m.indom(archive.TypeInDom, at(0), d, inst("0 i0")...)
	const n = 300
	for i := 1; i < n; i++ {
		m.indom(archive.TypeInDomDelta, at(float64(i)), d, inst(fmt.Sprintf("%d i%d,%d -", i, i, i-3))[:1+min(1, i/3)]...)
	}
	want := func(i int) []pdu.Instance {
		var list []pdu.Instance
		for j := max(0, i-2); j <= i; j++ {
			list = append(list, pdu.Instance{ID: pdu.InstID(j), Name: fmt.Sprint("i", j)})
		}
		return list
	}
	in := open(t, fs, "a").Metadata().InDom(d)
	for _, i := range []int{n - 1, 5, 128, 64, 63, 65, 200, 199, 0} {
		diff(t, fmt.Sprint("state ", i), in.State(i), want(i))
	}
	for i := n - 1; i >= 0; i-- {
		if d := cmp.Diff(want(i), in.State(i)); d != "" {
			t.Fatalf("state %d (-want +got):\n%s", i, d)
		}
	}
}

// TestInDomMemory checks that many changes of a large domain take little memory, for any request.
func TestInDomMemory(t *testing.T) {
	fs, m := one(3)
	d := pdu.MakeInDom(1, 2)
	var full []pdu.Instance
	for i := range 40_000 {
		full = append(full, pdu.Instance{ID: pdu.InstID(i), Name: "n"})
	}
	m.indom(archive.TypeInDom, at(0), d, full...)
	const deltas = 2_000
	for i := range deltas {
		m.indom(archive.TypeInDomDelta, at(float64(i+1)), d, pdu.Instance{ID: pdu.InstID(i), Name: "-"})
	}
	in := open(t, fs, "a").Metadata().InDom(d)
	for _, i := range []int{deltas, 1, deltas - 1} {
		if got := in.State(i); len(got) != len(full)-i || got[0].ID != pdu.InstID(i) {
			t.Errorf("state %d has %d instances from %d", i, len(got), got[0].ID)
		}
	}
	if held := in.Held(); held > 10*len(full)+1<<20 {
		t.Errorf("%d instances are kept", held)
	}
}

func TestLabelsAndTexts(t *testing.T) {
	for _, version := range []int{2, 3} {
		fs, m := one(version)
		m.labels(at(0), pdu.LabelContext, 0xffffffff, `{"a":"b"}`)
		m.labels(at(10), pdu.LabelContext, 0xffffffff, `{"a":"b"}`) // changes nothing
		m.labels(at(20), pdu.LabelContext, 0xffffffff, `{"a":{"x":1}}`)
		m.text(pdu.TextHelp|pdu.TextPMID, 1, "old")
		m.text(pdu.TextHelp|pdu.TextPMID, 1, "help me")
		m.text(pdu.TextOneLine|pdu.TextInDom, 1, "short")
		m.text(pdu.TextOneLine|pdu.TextHelp, 1, "of nothing")
		m.text(pdu.TextPMID, 1, "no length")
		md := open(t, fs, "a").Metadata()
		l := md.Labels(pdu.LabelContext, 0xffffffff)
		if l.Len() != 2 || !l.Record(1).Time.Equal(at(20)) {
			t.Errorf("%d records, the second one at %v", l.Len(), l.Record(1).Time)
		}
		for seconds, want := range map[float64]string{-1: "", 5: `{"a":"b"}`, 15: `{"a":"b"}`, 20: `{"a":{"x":1}}`} {
			got := ""
			for _, s := range l.At(at(seconds)) {
				got += s.String()
			}
			diff(t, fmt.Sprint("labels at ", seconds), got, want)
		}
		var texts []string
		for text := range md.Texts() {
			texts = append(texts, fmt.Sprintf("%v %d %s", text.Kind, text.Ident, text.Text))
		}
		diff(t, "texts", texts, []string{"help,pmid 1 help me", "oneline,indom 1 short"})
		if _, ok := md.Text(pdu.TextOneLine|pdu.TextPMID, 1); ok {
			t.Error("there is a text that nobody wrote")
		}
	}
}

func TestNames(t *testing.T) {
	fs, m := one(3)
	d := valueMetric
	d.Names = []string{"a.value", "a.again"}
	m.desc(d)
	m.desc(archive.Metric{Desc: pdu.Desc{PMID: 5}, Names: []string{"a.value", "b.c\x00\x00", "9.odd"}})
	m.desc(archive.Metric{Desc: pdu.Desc{PMID: 6}}) // of which the number of names is 0
	d.Names = []string{"late.name"}
	m.desc(d)
	m.desc(archive.Metric{Desc: pdu.Desc{PMID: 7}, Names: []string{"last"}})
	md := open(t, fs, "a").Metadata()
	var names []string
	for name, id := range md.Names().All() {
		names = append(names, fmt.Sprint(name, " ", id))
	}
	diff(t, "names", names, []string{"last 0.0.7", "late.name 1.0.1", "9.odd 0.0.5", "b.c 0.0.5", "a.again 1.0.1", "a.value 1.0.1"})
	var metrics []string
	for metric := range md.Metrics() {
		metrics = append(metrics, fmt.Sprint(metric.PMID, " ", metric.Names))
	}
	diff(t, "metrics", metrics, []string{"1.0.1 [a.value a.again late.name]", "0.0.5 [a.value b.c 9.odd]", "0.0.6 []", "0.0.7 [last]"})
}

func TestChangedMetric(t *testing.T) {
	for want, change := range map[pdu.Error]func(*pdu.Desc){
		pdu.ErrLogChangeType:  func(d *pdu.Desc) { d.Type = pdu.TypeString },
		pdu.ErrLogChangeSem:   func(d *pdu.Desc) { d.Sem = pdu.SemInstant },
		pdu.ErrLogChangeInDom: func(d *pdu.Desc) { d.InDom = 3 },
		pdu.ErrLogChangeUnits: func(d *pdu.Desc) { d.Units = pdu.UnitCount },
	} {
		fs, m := one(3)
		d := valueMetric
		change(&d.Desc)
		m.desc(d)
		_, err := archive.Options{FS: fs}.Open(t.Context(), "a")
		if e, ok := errors.AsType[*archive.Error](err); !errors.Is(err, want) || !ok || e.File != "a.meta" || e.Record != 2 {
			t.Errorf("in one archive: %v, want %v", err, want)
		}
		fs, _ = one(3)
		m = newMaker(fs, "b", 3, at(100))
		m.index(archive.IndexEntry{Time: at(100), Data: 808})
		m.value(0, at(100), 1)
		fs["b.meta"].Data = fs["b.meta"].Data[:808]
		m.desc(d)
		if _, err := (archive.Options{FS: fs}).Open(t.Context(), "a,b"); !errors.Is(err, want) {
			t.Errorf("in a set: %v, want %v", err, want)
		}
	}
}

// TestMergedMetadata checks that the metadata of a set is that of all its archives.
func TestMergedMetadata(t *testing.T) {
	fs := fstest.MapFS{}
	d := pdu.MakeInDom(1, 2)
	for i, base := range []string{"b", "a"} { // the later one comes first in the list
		start := float64(100 - 100*i)
		m := newMaker(fs, base, 3-i, at(start))
		delete(fs, base+".index")
		m.value(0, at(start), 1)
		m.desc(archive.Metric{Desc: pdu.Desc{PMID: pdu.PMID(10 + i)}, Names: []string{"only." + base}})
		typ := uint32(archive.TypeInDom)
		if m.label.Version == 2 {
			typ = archive.TypeInDomV2
		}
		m.indom(typ, at(start), d, inst("1 "+base)...)
		m.labels(at(start), pdu.LabelDomain, 1, `{"in":"`+base+`"}`)
		m.text(pdu.TextHelp|pdu.TextPMID, 1, "text of "+base)
	}
	md := open(t, fs, "b,a").Metadata()
	for _, name := range []string{"a.value", "only.a", "only.b"} {
		if _, err := md.Names().Lookup(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	diff(t, "before", md.InDom(d).At(at(50)), inst("1 a"))
	diff(t, "after", md.InDom(d).At(at(150)), inst("1 b"))
	diff(t, "all", md.InDom(d).All(), inst("1 b"))
	diff(t, "labels", md.Labels(pdu.LabelDomain, 1).At(at(150))[0].String(), `{"in":"b"}`)
	if text, _ := md.Text(pdu.TextHelp|pdu.TextPMID, 1); text != "text of b" {
		t.Errorf("text %q", text)
	}
}

// TestDeltaInDom checks when a delta is written instead of all instances.
func TestDeltaInDom(t *testing.T) {
	for _, tt := range []struct {
		before, after string
		want          archive.InDomRecord
		ok            bool
	}{
		{"1 a,2 b", "1 a,2 b", archive.InDomRecord{}, false},
		{"1 a,2 b", "2 b,3 c", archive.InDomRecord{Instances: inst("3 c"), Deleted: []pdu.InstID{1}}, true},
		{"2 b", "1 a,2 b", archive.InDomRecord{Instances: inst("1 a")}, true},
		{"1 a,2 b,3 c", "1 a", archive.InDomRecord{Deleted: []pdu.InstID{2, 3}}, false}, // more than there are
		{"1 a,2 b", "1 a,2 c", archive.InDomRecord{}, false},                            // another name
		{"5 e", "6 f", archive.InDomRecord{Instances: inst("6 f"), Deleted: []pdu.InstID{5}}, false},
	} {
		tt.want.Delta = true
		got, ok := archive.DeltaInDom(inst(tt.before), inst(tt.after))
		if diff := cmp.Diff(tt.want, got); ok != tt.ok || diff != "" {
			t.Errorf("%q to %q: %v, want %v (-want +got):\n%s", tt.before, tt.after, ok, tt.ok, diff)
		}
	}
}
