package archive_test

import (
	"encoding/binary"
	"fmt"
	"math"
	"testing"
	"testing/fstest"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A maker makes the files of an archive, record by record.
type maker struct {
	label archive.Label
	fs    fstest.MapFS
	base  string
}

// epoch is the default start of the archives of tests.
var epoch = time.Unix(1700000000, 0)

// at returns the time that is seconds after epoch.
func at(seconds float64) time.Time {
	return epoch.Add(time.Duration(math.Round(seconds*1e6)) * time.Microsecond)
}

var be = binary.BigEndian

// newMaker begins an archive in a file system. It has a metric "a.value" of PMID 1.0.1 and the
// label of volume 0.
func newMaker(fs fstest.MapFS, base string, version int, start time.Time) *maker {
	m := &maker{fs: fs, base: base, label: archive.Label{Version: version, PID: 42, Start: start, Host: "web1", TimeZone: "UTC"}}
	for _, v := range []int{archive.VolumeMeta, archive.VolumeIndex, 0} {
		m.volume(v)
	}
	m.desc(valueMetric)
	return m
}

var valueMetric = archive.Metric{
	Desc:  pdu.Desc{PMID: pdu.MakePMID(1, 0, 1), Type: pdu.TypeU64, InDom: pdu.NoInDom, Sem: pdu.SemCounter},
	Names: []string{"a.value"},
}

func (m *maker) path(volume int) string {
	switch volume {
	case archive.VolumeMeta:
		return m.base + ".meta"
	case archive.VolumeIndex:
		return m.base + ".index"
	}
	return fmt.Sprint(m.base, ".", volume)
}

// volume begins a file.
func (m *maker) volume(number int) {
	l := m.label
	l.Volume = number
	b, err := l.Append(nil)
	if err != nil {
		panic(err)
	}
	m.fs[m.path(number)] = &fstest.MapFile{Data: b, Mode: 0o644}
}

func (m *maker) write(volume int, b []byte) {
	f := m.fs[m.path(volume)]
	f.Data = append(f.Data, b...)
}

// frame returns a record with a payload.
func frame(payload []byte) []byte {
	b := be.AppendUint32(nil, uint32(len(payload)+8))
	b = append(b, payload...)
	return be.AppendUint32(b, uint32(len(payload)+8))
}

func (m *maker) time(b []byte, t time.Time) []byte {
	if m.label.Version == 2 {
		return be.AppendUint32(be.AppendUint32(b, uint32(t.Unix())), uint32(t.Nanosecond()/1000))
	}
	b = be.AppendUint32(be.AppendUint32(b, uint32(t.Unix())), uint32(t.Unix()>>32))
	return be.AppendUint32(b, uint32(t.Nanosecond()))
}

func (m *maker) meta(typ uint32, payload []byte) {
	m.write(archive.VolumeMeta, frame(append(be.AppendUint32(nil, typ), payload...)))
}

func (m *maker) desc(d archive.Metric) {
	b := be.AppendUint32(nil, uint32(d.PMID))
	for _, v := range []uint32{uint32(d.Type), uint32(d.InDom), uint32(d.Sem), uint32(d.Units), uint32(len(d.Names))} {
		b = be.AppendUint32(b, v)
	}
	for _, name := range d.Names {
		b = append(be.AppendUint32(b, uint32(len(name))), name...)
	}
	m.meta(archive.TypeDesc, b)
}

// indom writes a record of an instance domain. "-" stands for a deleted instance.
func (m *maker) indom(typ uint32, t time.Time, d pdu.InDom, instances ...pdu.Instance) {
	b := be.AppendUint32(m.time(nil, t), uint32(d))
	b = be.AppendUint32(b, uint32(len(instances)))
	var offs, texts []byte
	for _, inst := range instances {
		b = be.AppendUint32(b, uint32(inst.ID))
		if inst.Name == "-" {
			offs = be.AppendUint32(offs, math.MaxUint32)
			continue
		}
		offs = be.AppendUint32(offs, uint32(len(texts)))
		texts = append(append(texts, inst.Name...), 0)
	}
	m.meta(typ, append(append(b, offs...), texts...))
}

// labels writes a record of one label set.
func (m *maker) labels(t time.Time, class pdu.LabelClass, ident uint32, text string) {
	s, err := pdu.ParseLabels(class, text, false)
	if err != nil {
		panic(err)
	}
	b := be.AppendUint32(be.AppendUint32(m.time(nil, t), uint32(class)), ident)
	b = be.AppendUint32(b, 1)
	b = append(be.AppendUint32(be.AppendUint32(b, uint32(s.Inst)), uint32(len(s.JSON))), s.JSON...)
	b = be.AppendUint32(b, uint32(len(s.Labels)))
	for _, l := range s.Labels {
		b = append(be.AppendUint16(b, l.NameOff), l.NameLen, byte(l.Flags))
		b = be.AppendUint16(be.AppendUint16(b, l.ValueOff), l.ValueLen)
	}
	typ := uint32(archive.TypeLabels)
	if m.label.Version == 2 {
		typ = archive.TypeLabelsV2
	}
	m.meta(typ, b)
}

func (m *maker) text(kind pdu.TextKind, ident uint32, text string) {
	b := be.AppendUint32(be.AppendUint32(nil, uint32(kind)), ident)
	m.meta(archive.TypeText, append(append(b, text...), 0))
}

// value writes a record with one value of a.value, and returns where it starts.
func (m *maker) value(volume int, t time.Time, v uint64) int64 {
	w := pdu.ResultWriter{Time: t}
	w.Begin(valueMetric.PMID)
	w.Uint64(pdu.NoInst, v)
	return m.result(volume, &w)
}

func (m *maker) mark(volume int, t time.Time) int64 {
	return m.result(volume, &pdu.ResultWriter{Time: t})
}

func (m *maker) result(volume int, w *pdu.ResultWriter) int64 {
	format := pdu.FormatArchive
	if m.label.Version == 2 {
		format = pdu.FormatLowRes
	}
	b, err := w.Append(make([]byte, pdu.HeaderLen), format)
	if err != nil {
		panic(err)
	}
	start := int64(len(m.fs[m.path(volume)].Data))
	m.write(volume, frame(b[pdu.HeaderLen:]))
	return start
}

func (m *maker) index(e archive.IndexEntry) {
	b := be.AppendUint32(m.time(nil, e.Time), uint32(e.Volume))
	if m.label.Version == 2 {
		b = be.AppendUint32(be.AppendUint32(b, uint32(e.Meta)), uint32(e.Data))
	} else {
		b = be.AppendUint64(be.AppendUint64(b, uint64(e.Meta)), uint64(e.Data))
	}
	m.write(archive.VolumeIndex, b)
}

// open opens archives of a file system until the test ends.
func open(t testing.TB, fs fstest.MapFS, name string) *archive.Set {
	t.Helper()
	s, err := archive.Options{FS: fs}.Open(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
