package pmapi_test

import (
	"encoding/binary"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// A madeArchive is an archive of version 3 in memory, called "made".
type madeArchive struct {
	meta, data []byte
}

// archiveStart is the start of a madeArchive.
var archiveStart = time.Unix(1_700_000_000, 250_000_000)

func newMadeArchive() *madeArchive {
	return &madeArchive{meta: madeLabel(archive.VolumeMeta), data: madeLabel(0)}
}

func madeLabel(volume int32) []byte {
	b := make([]byte, 808)
	put := func(at int, v uint32) { binary.BigEndian.PutUint32(b[at:], v) }
	put(0, 808)
	put(4, 0x50052603)
	put(8, 4711)
	put(12, uint32(archiveStart.Unix()))
	put(20, uint32(archiveStart.Nanosecond()))
	put(24, uint32(volume))
	copy(b[36:], "web1")
	copy(b[292:], "UTC")
	put(804, 808)
	return b
}

// framed puts the words of a record's length around it.
func framed(b []byte) []byte {
	n := binary.BigEndian.AppendUint32(nil, uint32(len(b)+8))
	return append(append(n, b...), n...)
}

func words(b []byte, list ...uint32) []byte {
	for _, w := range list {
		b = binary.BigEndian.AppendUint32(b, w)
	}
	return b
}

func stampWords(t time.Time) []uint32 {
	return []uint32{uint32(t.Unix()), uint32(t.Unix() >> 32), uint32(t.Nanosecond())}
}

func (m *madeArchive) metric(name string, d pdu.Desc) {
	b := words(nil, 1, uint32(d.PMID), uint32(d.Type), uint32(d.InDom), uint32(d.Sem), uint32(d.Units), 1, uint32(len(name)))
	m.meta = append(m.meta, framed(append(b, name...))...)
}

func (m *madeArchive) instances(after time.Duration, d pdu.InDom, list ...pdu.Instance) {
	b := words(nil, 5)
	b = words(b, stampWords(archiveStart.Add(after))...)
	b = words(b, uint32(d), uint32(len(list)))
	var ids, offsets, texts []byte
	for _, i := range list {
		ids, offsets = words(ids, uint32(i.ID)), words(offsets, uint32(len(texts)))
		texts = append(append(texts, i.Name...), 0)
	}
	m.meta = append(m.meta, framed(append(append(append(b, ids...), offsets...), texts...))...)
}

func (m *madeArchive) record(t testing.TB, after time.Duration, write func(w *pdu.ResultWriter)) {
	t.Helper()
	w := pdu.ResultWriter{Time: archiveStart.Add(after)}
	if write != nil {
		write(&w)
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), pdu.FormatArchive)
	if err != nil {
		t.Fatal(err)
	}
	m.data = append(m.data, framed(b[pdu.HeaderLen:])...)
}

// mark adds a mark.
func (m *madeArchive) mark(t testing.TB, after time.Duration) { m.record(t, after, nil) }

func (m *madeArchive) open(t testing.TB, o pmapi.ArchiveOptions) *pmapi.Context {
	t.Helper()
	o.Files.FS = fstest.MapFS{"made.meta": {Data: m.meta}, "made.0": {Data: m.data}}
	c, err := o.Open(t.Context(), "made")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// counters is an archive of one counter, made.count, one discrete metric and one of instances, with
// 100 at 0 s, 200 at 10 s, 151 at 20 s, a mark, and 1000 at 30 s.
func counters(t testing.TB) *madeArchive {
	t.Helper()
	m := newMadeArchive()
	m.metric("made.count", pdu.Desc{PMID: countID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemCounter, Units: pdu.UnitCount})
	m.metric("made.state", pdu.Desc{PMID: stateID, Type: pdu.TypeU32, InDom: pdu.NoInDom, Sem: pdu.SemDiscrete})
	m.metric("made.load", pdu.Desc{PMID: loadID, Type: pdu.TypeDouble, InDom: madeDomain, Sem: pdu.SemInstant})
	m.instances(0, madeDomain, pdu.Instance{ID: 1, Name: "one"}, pdu.Instance{ID: 2, Name: "two words"})
	m.instances(20*time.Second, madeDomain, pdu.Instance{ID: 1, Name: "one"})
	for i, v := range []uint32{100, 200, 151, 1000} {
		if i == 3 {
			m.mark(t, 20*time.Second+time.Millisecond)
		}
		m.record(t, time.Duration(i)*10*time.Second, func(w *pdu.ResultWriter) {
			w.Begin(countID)
			w.Uint32(pdu.NoInst, v)
			w.Begin(stateID)
			w.Uint32(pdu.NoInst, v)
			w.Begin(loadID)
			w.Float64(1, float64(v))
			if i < 2 {
				w.Float64(2, -float64(v))
			}
		})
	}
	return m
}

var (
	countID    = pdu.MakePMID(400, 0, 1)
	stateID    = pdu.MakePMID(400, 0, 2)
	loadID     = pdu.MakePMID(400, 0, 3)
	madeDomain = pdu.MakeInDom(400, 1)
)
