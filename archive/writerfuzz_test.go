package archive_test

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A fuzzedWriter is a Writer, and what must be in its archive.
type fuzzedWriter struct {
	*archive.Writer
	t    *testing.T
	rest []byte // what is done
	now  time.Time

	records []string
	metrics map[pdu.PMID]archive.Metric
	texts   map[archive.TextRecord]string // by what they are of
	inDoms  map[pdu.InDom]map[time.Time][]pdu.Instance
}

// next returns a number below n.
func (w *fuzzedWriter) next(n int) int {
	if len(w.rest) == 0 {
		return 0
	}
	b := int(w.rest[0])
	w.rest = w.rest[1:]
	return b % n
}

// name is a text of some bytes.
func (w *fuzzedWriter) name() string {
	n := min(w.next(20), len(w.rest))
	text := string(w.rest[:n])
	w.rest = w.rest[n:]
	return text
}

func (w *fuzzedWriter) inDom() pdu.InDom {
	return []pdu.InDom{pdu.NoInDom, pdu.MakeInDom(60, 1), pdu.MakeInDom(60, 2)}[w.next(3)]
}

// addMetric describes a metric.
func (w *fuzzedWriter) addMetric() {
	m := archive.Metric{Desc: pdu.Desc{PMID: pdu.MakePMID(60, 0, w.next(8)), Type: pdu.Type(w.next(12)), InDom: w.inDom(), Sem: pdu.SemInstant}}
	m.Names = []string{fmt.Sprintf("a.m%d", m.PMID.Item())}
	if w.next(2) == 1 {
		m.Names = append(m.Names, fmt.Sprintf("b.m%d", m.PMID.Item()))
	}
	if w.WriteMetric(m) != nil {
		return
	}
	m.Names = append(m.Names, w.metrics[m.PMID].Names...)
	slices.Sort(m.Names)
	m.Names = slices.Compact(m.Names)
	w.metrics[m.PMID] = m
}

// addInDom updates an instance domain.
func (w *fuzzedWriter) addInDom() {
	var list []pdu.Instance
	id := w.inDom()
	for i := range pdu.InstID(8) {
		if w.next(3) > 0 {
			list = append(list, pdu.Instance{ID: i, Name: fmt.Sprintf("i%d of %d", i, w.next(2))})
		}
	}
	if id == pdu.NoInDom {
		return
	}
	if _, err := w.UpdateInDom(w.now, id, list); err != nil {
		w.t.Fatal(err)
	}
	if len(list) == 0 { // which is no change
		return
	}
	if w.inDoms[id] == nil {
		w.inDoms[id] = map[time.Time][]pdu.Instance{}
	}
	w.inDoms[id][w.now] = list
}

// addText writes a help text.
func (w *fuzzedWriter) addText() {
	r := archive.TextRecord{Kind: pdu.TextHelp | pdu.TextPMID, Ident: uint32(pdu.MakePMID(60, 0, w.next(8)))}
	of := r
	r.Text = w.name()
	if w.WriteText(r) == nil {
		w.texts[of] = r.Text
	}
}

// addRecord writes a data record, or a mark.
func (w *fuzzedWriter) addRecord() {
	if w.next(6) == 0 {
		if w.WriteMark(w.now) == nil {
			w.records = append(w.records, fmt.Sprint(w.now.UTC(), " mark"))
		}
		return
	}
	s := pdu.ResultWriter{Time: w.now}
	for range w.next(5) {
		id := pdu.MakePMID(60, 0, w.next(8))
		s.Begin(id)
		switch n := w.next(6); {
		case n == 0:
			s.Fail(pdu.ErrAgain)
		case w.metrics[id].InDom == pdu.NoInDom:
			w.addValue(&s, id, pdu.NoInst)
		default:
			for inst := range pdu.InstID(n) {
				w.addValue(&s, id, inst)
			}
		}
	}
	result, err := s.Result()
	if err != nil || w.WriteSets(&s) != nil {
		return
	}
	w.records = append(w.records, fmt.Sprint(resultText(result)))
}

// addValue adds a value of the type that a metric has.
func (w *fuzzedWriter) addValue(s *pdu.ResultWriter, id pdu.PMID, inst pdu.InstID) {
	switch t := w.metrics[id].Type; t {
	case pdu.Type32, pdu.TypeU32:
		s.Uint32(inst, uint32(w.next(256))<<24)
	case pdu.Type64, pdu.TypeU64:
		s.Uint64(inst, uint64(w.next(256))<<56)
	case pdu.TypeFloat:
		s.Float32(inst, float32(w.next(256)))
	case pdu.TypeDouble:
		s.Float64(inst, float64(w.next(256)))
	case pdu.TypeString:
		s.String(inst, w.name())
	default:
		s.Bytes(t, inst, []byte(w.name()))
	}
}

// step does the next thing.
func (w *fuzzedWriter) step() {
	var err error
	switch w.next(8) {
	case 0:
		w.addMetric()
	case 1:
		w.addInDom()
	case 2:
		w.addText()
	case 3:
		w.NewVolume()
	case 4:
		err = w.Flush()
	case 5:
		w.now = w.now.Add(time.Duration(w.next(256)) * 250 * time.Millisecond)
	default:
		w.addRecord()
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

// check compares what is read with what was written.
func (w *fuzzedWriter) check(s *archive.Set) {
	var records []string
	for r, err := range s.Records() {
		var result pdu.Result
		switch {
		case err != nil:
			w.t.Fatal(err)
		case r.Kind == archive.KindMark:
			records = append(records, fmt.Sprint(r.Time.UTC(), " mark"))
		case r.Kind == archive.KindResult:
			if err := r.Result(&result); err != nil {
				w.t.Fatal(err)
			}
			records = append(records, fmt.Sprint(resultText(&result)))
		}
	}
	if diff := cmp.Diff(w.records, records); diff != "" {
		w.t.Errorf("records (-want +got):\n%s", diff)
	}
	meta := s.Metadata()
	metrics := map[pdu.PMID]archive.Metric{}
	for m := range meta.Metrics() {
		m.Names = slices.Sorted(slices.Values(meta.Names().Names(m.PMID)))
		metrics[m.PMID] = m
	}
	if diff := cmp.Diff(w.metrics, metrics); diff != "" {
		w.t.Errorf("metrics (-want +got):\n%s", diff)
	}
	for id, states := range w.inDoms {
		for at, want := range states {
			if got := meta.InDom(id).At(at); !slices.Equal(want, got) {
				w.t.Errorf("instances of %v at %v: %v, want %v", id, at, got, want)
			}
		}
	}
	texts := map[archive.TextRecord]string{}
	for r := range meta.Texts() {
		texts[archive.TextRecord{Kind: r.Kind, Ident: r.Ident}] = r.Text
	}
	if !maps.Equal(w.texts, texts) {
		w.t.Errorf("texts %v, want %v", texts, w.texts)
	}
}

// FuzzWriter writes arbitrary records in any order, and reads back those that were not refused.
func FuzzWriter(f *testing.F) {
	f.Add(false, uint8(0), []byte{0, 1, 2, 0, 1, 6, 1, 2, 1, 1, 7, 5, 9, 6, 0, 3, 6, 1, 1, 1, 1, 8, 4, 2, 1, 3, 'a', 'b', 'c'})
	f.Add(true, uint8(3), []byte{0, 1, 6, 1, 0, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 6, 1, 1, 1, 2, 'a', 'b', 5, 1, 1, 1, 0, 0, 0, 2, 2, 7, 2, 1, 1, 3, 1, 'x'})
	f.Fuzz(func(t *testing.T, v3 bool, perVolume uint8, b []byte) {
		o := archive.WriterOptions{Label: archive.Label{Version: 2}, VolumeRecords: int(perVolume)}
		if v3 {
			o.Label.Version = 3
		}
		w := &fuzzedWriter{Writer: created(t, o), t: t, rest: b[:min(len(b), 2000)], now: at(0), metrics: map[pdu.PMID]archive.Metric{},
			texts: map[archive.TextRecord]string{}, inDoms: map[pdu.InDom]map[time.Time][]pdu.Instance{}}
		for len(w.rest) > 0 {
			w.step()
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		if len(w.records) == 0 || len(w.metrics) == 0 { // there are no files, or nothing but marks
			return
		}
		w.check(opened(t, w.Writer))
	})
}
