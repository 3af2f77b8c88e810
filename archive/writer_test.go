package archive_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// The metrics of the archives that the tests write: one of each type.
var (
	writtenInDom = pdu.MakeInDom(60, 1)
	writtenTypes = []pdu.Type{pdu.Type32, pdu.TypeU32, pdu.Type64, pdu.TypeU64, pdu.TypeFloat, pdu.TypeDouble,
		pdu.TypeString, pdu.TypeAggregate, pdu.TypeEvent, pdu.TypeHighResEvent}
)

// writtenMetric is a singular metric of a type.
func writtenMetric(t pdu.Type) archive.Metric {
	return archive.Metric{
		Desc:  pdu.Desc{PMID: pdu.MakePMID(60, 0, int(t)), Type: t, InDom: pdu.NoInDom, Sem: pdu.SemInstant},
		Names: []string{"types." + []string{"i32", "u32", "i64", "u64", "float", "double", "string", "aggregate", "static", "event", "highres"}[t]},
	}
}

// instMetric has instances.
var instMetric = archive.Metric{
	Desc: pdu.Desc{PMID: pdu.MakePMID(60, 1, 1), Type: pdu.TypeU64, InDom: writtenInDom, Sem: pdu.SemCounter,
		Units: pdu.SpaceKByte},
	Names: []string{"disk.dev.read", "disk.dev.in"},
}

// writtenAtom returns a value of a type. It differs for each n.
func writtenAtom(t testing.TB, typ pdu.Type, n int) pdu.Atom {
	switch typ {
	case pdu.Type32:
		return pdu.Int32(int32(-n))
	case pdu.TypeU32:
		return pdu.Uint32(uint32(n))
	case pdu.Type64:
		return pdu.Int64(int64(-n) << 33)
	case pdu.TypeU64:
		return pdu.Uint64(uint64(n) << 33)
	case pdu.TypeFloat:
		return pdu.Float32(float32(n) / 4)
	case pdu.TypeDouble:
		return pdu.Float64(float64(n) / 8)
	case pdu.TypeString:
		return pdu.String("text "[:n%5])
	case pdu.TypeAggregate:
		return pdu.Aggregate([]byte{1, 2, 3, byte(n)})
	}
	b := pdu.EventBuilder{HighRes: typ == pdu.TypeHighResEvent}
	b.Begin(at(float64(n)), 0)
	b.Param(writtenMetric(pdu.TypeU32).PMID, pdu.Uint32(uint32(n)))
	b.Param(writtenMetric(pdu.TypeString).PMID, pdu.String("of an event"))
	b.Missed(at(float64(n)), 3)
	a, err := b.Atom()
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// instancesAt returns the instances at a time. Some are added and some removed over time.
func instancesAt(n int) []pdu.Instance {
	var all []pdu.Instance
	for i := n / 5; i < n/5+6; i++ {
		all = append(all, pdu.Instance{ID: pdu.InstID(10 * i), Name: "sd" + string(rune('a'+i%26))})
	}
	return all
}

// writeAll writes what an archive can have, with n data records.
func writeAll(t testing.TB, w *archive.Writer, from, n int) {
	t.Helper()
	writeAllBy(t, w, from, n, func(write func() error) {
		t.Helper()
		if err := write(); err != nil {
			t.Fatal(err)
		}
	})
}

// writeAllBy is writeAll where data records are written by a function.
func writeAllBy(t testing.TB, w *archive.Writer, from, n int, put func(write func() error)) {
	t.Helper()
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	labels := func(at time.Time, class pdu.LabelClass, ident uint32, insts []pdu.InstID, text string) {
		t.Helper()
		l := archive.LabelRecord{Time: at, Class: class, Ident: ident}
		for _, inst := range insts {
			s, err := pdu.ParseLabels(class, text, false)
			ok(err)
			s.Inst = inst
			l.Sets = append(l.Sets, s)
		}
		ok(w.WriteLabels(l))
	}
	one := []pdu.InstID{pdu.NoInst}
	for i := from; i < from+n; i++ {
		now := at(float64(i))
		if i == from {
			labels(now, pdu.LabelContext, ^uint32(0), one, `{"hostname":"web1","rack":7}`)
			labels(now, pdu.LabelDomain, 60, one, `{"agent":"linux"}`)
			labels(now, pdu.LabelItem, uint32(instMetric.PMID), one, `{"a":{"b":[1,2],"c":null}}`)
			for _, typ := range writtenTypes {
				ok(w.WriteMetric(writtenMetric(typ)))
			}
			ok(w.WriteMetric(instMetric))
			ok(w.WriteText(archive.TextRecord{Kind: pdu.TextOneLine | pdu.TextPMID, Ident: uint32(instMetric.PMID), Text: "reads"}))
			ok(w.WriteText(archive.TextRecord{Kind: pdu.TextHelp | pdu.TextPMID, Ident: uint32(instMetric.PMID), Text: "Reads\nof a disk."}))
			ok(w.WriteText(archive.TextRecord{Kind: pdu.TextOneLine | pdu.TextInDom, Ident: uint32(writtenInDom), Text: "disks"}))
		}
		_, err := w.UpdateInDom(now, writtenInDom, instancesAt(i))
		ok(err)
		if i%5 == 0 {
			labels(now, pdu.LabelInstances, uint32(writtenInDom), []pdu.InstID{instancesAt(i)[0].ID, instancesAt(i)[1].ID}, `{"kind":"ssd"}`)
		}
		put(func() error { return w.WriteSets(setsAt(t, i)) })
		if i%7 == 6 {
			put(func() error { return w.WriteMark(now.Add(time.Millisecond)) })
		}
	}
}

// setsAt returns values of all metrics.
func setsAt(t testing.TB, i int) *pdu.ResultWriter {
	s := &pdu.ResultWriter{Time: at(float64(i))}
	for _, typ := range writtenTypes {
		s.Begin(writtenMetric(typ).PMID)
		s.Atom(pdu.NoInst, writtenAtom(t, typ, i))
	}
	s.Begin(instMetric.PMID)
	if i%4 == 3 {
		s.Fail(pdu.ErrAgain)
		return s
	}
	for _, inst := range instancesAt(i) {
		s.Uint64(inst.ID, uint64(i)*uint64(inst.ID))
	}
	return s
}

// created begins an archive in a directory of the test.
func created(t testing.TB, o archive.WriterOptions) *archive.Writer {
	t.Helper()
	if o.Label.Host == "" {
		o.Label.Host, o.Label.TimeZone = "web1", "UTC"
	}
	w, err := o.Create(filepath.Join(t.TempDir(), "a"))
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// opened opens what a Writer wrote.
func opened(t testing.TB, w *archive.Writer) *archive.Set {
	t.Helper()
	s, err := archive.Open(t.Context(), w.Base())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

// TestWriter reads back what it wrote: values, instances, texts and labels.
func TestWriter(t *testing.T) {
	for _, version := range []int{2, 3} {
		w := created(t, archive.WriterOptions{Label: archive.Label{Version: version}, VolumeRecords: 10})
		const n = 40
		writeAll(t, w, 0, n)
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		s := opened(t, w)
		if l := s.Label(); l.Version != version || l.Host != "web1" || l.TimeZone != "UTC" || !l.Start.Equal(at(0)) || int(l.PID) != os.Getpid() {
			t.Errorf("label %+v", l)
		}
		if got := len(s.Archives()[0].Files().Volumes); got != 5 { // 40 results, 5 marks
			t.Errorf("version %d: %d volumes", version, got)
		}
		c := s.Cursor()
		for i := range n {
			checkRecord(t, c, i)
			if i%7 == 6 {
				if err := c.Next(); err != nil || !c.Mark() {
					t.Fatalf("record after %d: %v, want a mark", i, err)
				}
			}
			if got := s.Metadata().InDom(writtenInDom).At(at(float64(i))); !slices.Equal(got, instancesAt(i)) {
				t.Errorf("version %d: instances at %d: %v", version, i, got)
			}
		}
		if err := c.Next(); !errors.Is(err, pdu.ErrEOL) {
			t.Error(err)
		}
		m := s.Metadata()
		d := m.InDom(writtenInDom)
		if d.Len() != n/5 || d.Delta(1) != (version == 3) {
			t.Errorf("version %d: %d records of instances, delta %v", version, d.Len(), d.Delta(1))
		}
		if text, _ := m.Text(pdu.TextHelp|pdu.TextPMID, uint32(instMetric.PMID)); text != "Reads\nof a disk." {
			t.Errorf("help text %q", text)
		}
		if l := m.Labels(pdu.LabelContext, ^uint32(0)).At(at(0)); len(l) != 1 || l[0].String() != `{"hostname":"web1","rack":7}` {
			t.Errorf("labels %v", l)
		}
		if id, err := m.Names().Lookup("disk.dev.in"); err != nil || id != instMetric.PMID {
			t.Error(id, err)
		}
		checkIndex(t, s)
	}
}

// checkRecord checks that the next record has what setsAt wrote.
func checkRecord(t *testing.T, c *archive.Cursor, i int) {
	t.Helper()
	if err := c.Next(); err != nil {
		t.Fatalf("record %d: %v", i, err)
	}
	got, err := c.Result()
	if err != nil {
		t.Fatal(err)
	}
	want, err := setsAt(t, i).Result()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(resultText(want), resultText(got)); diff != "" {
		t.Fatalf("record %d (-want +got):\n%s", i, diff)
	}
}

// resultText returns a result as text for comparison.
func resultText(r *pdu.Result) []string {
	lines := []string{r.Time.UTC().String()}
	for _, s := range r.All() {
		lines = append(lines, fmt.Sprint(s.PMID, " ", s.Err()))
		for inst, a := range s.All(pdu.TypeU32) {
			lines = append(lines, fmt.Sprint(inst, " ", a.Type, " ", a))
		}
	}
	return lines
}

// checkIndex checks that each entry, except for the last one, leads to a record of its time, and
// that each volume has an entry.
func checkIndex(t *testing.T, s *archive.Set) {
	t.Helper()
	a := s.Archives()[0]
	at := map[archive.IndexEntry]bool{}
	for _, v := range a.Files().Volumes {
		f, err := a.File(v.Number)
		if err != nil {
			t.Fatal(err)
		}
		for r, err := range f.Records() {
			if err != nil {
				t.Fatal(err)
			}
			at[archive.IndexEntry{Time: r.Time, Volume: v.Number, Data: r.Offset}] = true
		}
	}
	entries := a.Index()
	seen := map[int]bool{}
	for i, e := range entries {
		seen[e.Volume] = true
		e.Meta = 0
		if !at[e] && i != len(entries)-1 {
			t.Errorf("entry %d leads to no record: %+v", i, e)
		}
	}
	if len(seen) != len(a.Files().Volumes) {
		t.Errorf("entries for %d volumes of %d", len(seen), len(a.Files().Volumes))
	}
}

// TestWriterRefuses checks that a refused call changes nothing.
func TestWriterRefuses(t *testing.T) {
	w := created(t, archive.WriterOptions{Label: archive.Label{Version: 2}})
	sets := func(second float64, id pdu.PMID) error {
		s := pdu.ResultWriter{Time: at(second)}
		s.Begin(id)
		s.Uint64(pdu.NoInst, 1)
		return w.WriteSets(&s)
	}
	for _, test := range []struct {
		what string
		err  error
		want error
	}{
		{"no descriptor", sets(0, valueMetric.PMID), pdu.ErrPMID},
		{"no metrics", w.WriteSets(&pdu.ResultWriter{Time: epoch}), pdu.ErrNoData},
		{"mark without a time", w.WriteMark(time.Time{}), pdu.ErrNoData},
		{"name with NUL", w.WriteMetric(archive.Metric{Names: []string{"a\x00"}}), pdu.ErrName},
		{"delta in version 2", w.WriteInDom(archive.InDomRecord{Time: epoch, InDom: writtenInDom, Delta: true}), pdu.ErrLogRec},
		{"negative instance", w.WriteInDom(archive.InDomRecord{Time: epoch, InDom: writtenInDom, Instances: []pdu.Instance{{ID: -1}}}), pdu.ErrInst},
		{"kind of text", w.WriteText(archive.TextRecord{Kind: 3}), pdu.ErrText},
		{"time beyond version 2", w.WriteMark(time.Unix(1<<33, 0)), pdu.ErrTooBig},
		{"labels too long", w.WriteLabels(archive.LabelRecord{Time: epoch, Sets: []pdu.LabelSet{{JSON: make([]byte, 1<<16)}}}), pdu.ErrTooBig},
		{"fits", w.WriteMetric(valueMetric), nil},
		{"the same again", w.WriteMetric(valueMetric), nil},
		{"fits", sets(5, valueMetric.PMID), nil},
		{"the same time", sets(5, valueMetric.PMID), nil},
		{"time goes back", sets(4, valueMetric.PMID), pdu.ErrLogRec},
		{"another type", w.WriteMetric(archive.Metric{Desc: pdu.Desc{PMID: valueMetric.PMID}}), pdu.ErrLogChangeType},
		{"close", w.Close(), nil},
		{"close again", w.Close(), nil},
		{"closed", sets(6, valueMetric.PMID), fs.ErrClosed},
	} {
		if !errors.Is(test.err, test.want) {
			t.Errorf("%s: %v, want %v", test.what, test.err, test.want)
		}
	}
	changed, err := created(t, archive.WriterOptions{}).UpdateInDom(epoch, writtenInDom, []pdu.Instance{{ID: -1, Name: "x"}})
	if changed || !errors.Is(err, pdu.ErrInst) {
		t.Errorf("a refused instance: %v, %v", changed, err)
	}
	s := opened(t, w)
	n := 0
	for r, err := range s.Records() {
		if err != nil {
			t.Fatal(err)
		}
		if r.Kind != archive.KindLabel && r.Kind != archive.KindIndex {
			n++
		}
	}
	if n != 3 {
		t.Errorf("%d records, want a descriptor and two results", n)
	}
	if _, err := (archive.WriterOptions{}).Create(w.Base()); !errors.Is(err, fs.ErrExist) {
		t.Errorf("created again: %v", err)
	}
}

// TestWriterEmpty checks that a Writer without a data record creates no archive.
func TestWriterEmpty(t *testing.T) {
	w := created(t, archive.WriterOptions{})
	if err := errors.Join(w.WriteMetric(valueMetric), w.Flush(), w.Close()); err != nil {
		t.Fatal(err)
	}
	if files, err := os.ReadDir(filepath.Dir(w.Base())); len(files) > 0 {
		t.Error(files, err)
	}
}

// TestWriterAllocs checks that a writer does not allocate for a record like earlier ones.
func TestWriterAllocs(t *testing.T) {
	w := created(t, archive.WriterOptions{})
	if err := w.WriteMetric(valueMetric); err != nil {
		t.Fatal(err)
	}
	var s pdu.ResultWriter
	i := 0
	write := func() {
		i++
		s.Reset()
		s.Time = at(float64(i))
		s.Begin(valueMetric.PMID)
		s.Uint64(pdu.NoInst, uint64(i))
		if err := w.WriteSets(&s); err != nil {
			t.Fatal(err)
		}
	}
	write()
	if n := testing.AllocsPerRun(100, write); n > 0 {
		t.Errorf("%v allocations per record", n)
	}
}

// TestWriterIndexAfterClose checks that WriteIndex fails after Close and does not create the index.
func TestWriterIndexAfterClose(t *testing.T) {
	w := created(t, archive.WriterOptions{IndexEvery: -1})
	writeAll(t, w, 0, 2)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := w.WriteIndex(archive.IndexEntry{Time: at(1), Meta: 132, Data: 132}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("error %v", err)
	}
	if _, err := os.Stat(w.Base() + ".index"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the index was made: %v", err)
	}
}

func TestWriterIndexLater(t *testing.T) {
	w := created(t, archive.WriterOptions{IndexEvery: 1})
	index := w.Base() + ".index"
	if err := os.Mkdir(index, 0o755); err != nil { // where a file should be
		t.Fatal(err)
	}
	writeAll(t, w, 0, 3)
	if err := w.Flush(); !errors.Is(err, fs.ErrExist) {
		t.Errorf("flush: %v, want %v", err, fs.ErrExist)
	}
	if err := os.Remove(index); err != nil {
		t.Fatal(err)
	}
	writeAll(t, w, 3, 1)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	s := opened(t, w)
	if n := len(s.Archives()[0].Index()); n != 5 { // one for each record, and the end
		t.Errorf("%d entries", n)
	}
	checkIndex(t, s)
}

// TestWriterIndexEvery checks that IndexEvery counts from the start of the record of the last
// entry, and with IndexInstances from its end.
func TestWriterIndexEvery(t *testing.T) {
	const mark = 32 // bytes of a record
	for instances, want := range map[bool][]float64{false: {0, 2, 4, 6, 8, 8}, true: {0, 3, 6, 8}} {
		w := created(t, archive.WriterOptions{IndexEvery: 2 * mark, IndexInstances: instances})
		if err := w.WriteMetric(instMetric); err != nil {
			t.Fatal(err)
		}
		for i := range 9 {
			if err := w.WriteMark(at(float64(i))); err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		var got []float64
		for _, e := range opened(t, w).Archives()[0].Index() {
			got = append(got, e.Time.Sub(at(0)).Seconds())
		}
		if !slices.Equal(got, want) {
			t.Errorf("IndexInstances %v: entries for records %v, want %v", instances, got, want)
		}
	}
}

// TestWriterVolumes ends volumes by time, by size, and with NewVolume and BeginVolume.
func TestWriterVolumes(t *testing.T) {
	for _, test := range []struct {
		o    archive.WriterOptions
		by   func(w *archive.Writer, i int)
		want int
	}{
		{archive.WriterOptions{VolumeTime: 4 * time.Second}, nil, 4}, // 0 to 4, 5 to 9 and so on
		{archive.WriterOptions{VolumeSize: 1}, nil, 20},
		{archive.WriterOptions{}, func(w *archive.Writer, i int) {
			if i%10 == 9 { // twice is once, and the last one has no record
				w.NewVolume()
				w.NewVolume()
			}
		}, 2},
		{archive.WriterOptions{}, func(w *archive.Writer, i int) {
			if i%10 == 9 { // the last one is there without a record
				err := w.BeginVolume()
				if l := w.Label(); err != nil || l.Volume != i/10+1 || w.Size() != l.Len() {
					t.Errorf("%v: volume %d of %d bytes", err, l.Volume, w.Size())
				}
			}
		}, 3},
	} {
		w := created(t, test.o)
		if err := w.WriteMetric(valueMetric); err != nil {
			t.Fatal(err)
		}
		for i := range 20 {
			s := pdu.ResultWriter{Time: at(float64(i))}
			s.Begin(valueMetric.PMID)
			s.Uint64(pdu.NoInst, uint64(i))
			if err := w.WriteSets(&s); err != nil {
				t.Fatal(err)
			}
			if test.by != nil {
				test.by(w, i)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		s := opened(t, w)
		if n := len(s.Archives()[0].Files().Volumes); n != test.want {
			t.Errorf("%+v: %d volumes, want %d", test.o, n, test.want)
		}
		checkIndex(t, s)
	}
}

// TestWriterBegin calls Begin before there is a record. Begin makes the files, and the index then
// starts with an entry for that place.
func TestWriterBegin(t *testing.T) {
	for _, version := range []int{2, 3} {
		l := archive.Label{Version: version, Host: "web1", TimeZone: "UTC", Start: at(0)}
		w := created(t, archive.WriterOptions{Label: l, VolumeTime: 5 * time.Second})
		if err := w.WriteMetric(instMetric); err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if err := w.Begin(); err != nil {
				t.Fatal(err)
			}
		}
		info, err := os.Stat(w.Base() + ".meta")
		if err != nil || info.Size() <= l.Len() {
			t.Fatalf("metadata: %v %v", info, err)
		}
		for _, suffix := range []string{".0", ".index"} {
			if info, err := os.Stat(w.Base() + suffix); err != nil || info.Size() != l.Len() {
				t.Errorf("%s: %v %v", suffix, info, err)
			}
		}
		writeAll(t, w, 0, 12)
		last, end := w.Place()
		if !last.Time.Equal(end.Time) || last.Data >= end.Data || end.Volume != 1 {
			t.Errorf("places %+v, %+v", last, end)
		}
		s := opened(t, w)
		checkIndex(t, s)
		if e := s.Archives()[0].Index()[0]; e.Meta != info.Size() || e.Data != l.Len() || !e.Time.Equal(at(0)) {
			t.Errorf("first entry %+v, of metadata of %d bytes", e, info.Size())
		}
	}
	w := created(t, archive.WriterOptions{})
	if err := w.Begin(); !errors.Is(err, pdu.ErrLabel) {
		t.Errorf("without a start: %v", err)
	}
}
