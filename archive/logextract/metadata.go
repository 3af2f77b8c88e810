package logextract

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// A metadata is the metadata of all inputs. It knows which records the output has.
type metadata struct {
	out     *archive.Writer
	head    metric // head of the list of metrics in the order of data records; see metric.next
	metrics map[pdu.PMID]*metric
	names   map[string]*metric
	indoms  map[pdu.InDom]*indom
	labels  map[subject][]labelRecord
	labelAt map[labelTime]int // index of the last record of a subject and a time
	texts   map[textKey]*text
	skipped []pdu.PMID

	selected bool      // only selected metrics are kept
	due      time.Time // until then nothing changes for settled metrics
	last     time.Time // time of the last described record
}

// A metric is a metric that an input describes, or that has values in a data record.
type metric struct {
	id        pdu.PMID
	desc      pdu.Desc
	names     []string
	rec       archive.Record // the descriptor
	instances []pdu.InstID   // to keep; nil for all
	dropped   bool           // not kept
	missing   bool           // has no descriptor, which must still be reported
	written   bool
	settled   bool
	indom     *indom
	next      *metric // the metric after it in the last data record
}

// An indom is the records of an instance domain.
type indom struct {
	records []indomRecord
	at      map[int64]int  // index of the last record of a time in nanoseconds
	last    []pdu.Instance // instances last written, ascending
}

type indomRecord struct {
	time    time.Time
	rec     archive.Record
	history *archive.InDom // the instance domain of the input
	written bool
}

// A subject is what label sets apply to.
type subject struct {
	class pdu.LabelClass
	ident uint32
}

// A labelTime is a subject at a time in nanoseconds.
type labelTime struct {
	subject
	at int64
}

type labelRecord struct {
	time    time.Time
	rec     archive.Record
	written bool
}

type textKey struct {
	kind  pdu.TextKind
	ident uint32
}

type text struct {
	text    string
	rec     archive.Record
	written bool
}

// loadMetadata reads the metadata of all inputs, one record of each in turn.
func (m *merger) loadMetadata() (*metadata, error) {
	md := &metadata{metrics: map[pdu.PMID]*metric{}, names: map[string]*metric{}, indoms: map[pdu.InDom]*indom{},
		labels: map[subject][]labelRecord{}, labelAt: map[labelTime]int{}, texts: map[textKey]*text{}, due: endless, selected: m.picks != nil}
	var sources []*metaSource
	for _, in := range m.inputs {
		for _, a := range in.set.Archives() {
			s, err := newMetaSource(a)
			if err != nil {
				return nil, err
			}
			defer s.stop()
			sources = append(sources, s)
		}
	}
	for len(sources) > 0 {
		left := sources[:0]
		for _, s := range sources {
			more, err := md.addNext(m, s)
			if err != nil {
				return nil, err
			}
			if more {
				left = append(left, s)
			}
		}
		sources = left
	}
	if len(md.skipped) > 0 {
		m.warn(&SkippedError{md.skipped})
	}
	md.warnPrefixes(m)
	md.finish()
	return md, nil
}

// warnPrefixes warns of each name that is above other names. All are kept, since the input may be
// the only copy of the values.
func (md *metadata) warnPrefixes(m *merger) {
	below := map[string][]string{}
	for name, mt := range md.names {
		if mt.dropped {
			continue
		}
		for i := strings.LastIndexByte(name, '.'); i > 0; i = strings.LastIndexByte(name[:i], '.') {
			if above := md.names[name[:i]]; above != nil && !above.dropped {
				below[name[:i]] = append(below[name[:i]], name)
				break // only the nearest, to limit memory for long chains of names
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(below)) {
		m.warn(prefixWarning(name, slices.Sorted(slices.Values(below[name]))))
	}
}

// prefixWarning returns the warning for a metric whose name is above other names. Programs find
// some of these metrics only by their PMIDs.
func prefixWarning(name string, below []string) error {
	which := fmt.Sprintf("%q", below[0])
	if n := len(below) - 1; n > 0 {
		which += fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("metric %q is above %s in the name space: rename one of them with pmlogrewrite", name, which)
}

// A metaSource is the metadata of an input.
type metaSource struct {
	a    *archive.Archive
	next func() (*archive.Record, error, bool)
	stop func()
}

func newMetaSource(a *archive.Archive) (*metaSource, error) {
	f, err := a.File(archive.VolumeMeta)
	if err != nil {
		return nil, err
	}
	next, stop := iter.Pull2(f.Records())
	s := &metaSource{a, next, stop}
	if _, err, _ := next(); err != nil { // the label
		stop()
		return nil, err
	}
	return s, nil
}

// addNext adds the next record of an input that the output may get.
func (md *metadata) addNext(m *merger, s *metaSource) (more bool, err error) {
	for {
		r, err, ok := s.next()
		if err != nil || !ok {
			return false, err
		}
		added, err := md.add(m, s, r)
		if added || err != nil {
			return true, err
		}
	}
}

// drops reports whether a metric is not selected, or was dropped before.
func (m *merger) drops(md *metadata, id pdu.PMID) bool {
	known := md.metrics[id]
	return m.picks != nil && m.picks[id] == nil || known != nil && known.dropped
}

// add adds a record, unless the output cannot get it.
func (md *metadata) add(m *merger, s *metaSource, r *archive.Record) (added bool, err error) {
	rec := *r
	rec.Raw = bytes.Clone(r.Raw)
	switch r.Kind {
	case archive.KindDesc:
		return md.addMetric(m, rec)
	case archive.KindText:
		return md.addText(m, rec)
	case archive.KindLabels:
		return md.addLabels(rec)
	}
	d, err := rec.InDom()
	if err != nil || len(d.Instances)+len(d.Deleted) == 0 {
		return false, err
	}
	in := md.indoms[d.InDom]
	if in == nil {
		in = &indom{at: map[int64]int{}}
		md.indoms[d.InDom] = in
	}
	// Two inputs may be parts of one recording. As in PCP's tool, a record that both have is
	// written once.
	when := rec.Time.UnixNano()
	if i, ok := in.at[when]; ok && bytes.Equal(in.records[i].rec.Raw, rec.Raw) {
		return false, nil
	}
	in.at[when] = len(in.records)
	in.records = append(in.records, indomRecord{time: rec.Time, rec: rec, history: s.a.Metadata().InDom(d.InDom)})
	return true, nil
}

func (md *metadata) addLabels(rec archive.Record) (added bool, err error) {
	l, err := rec.Labels()
	if err != nil {
		return false, err
	}
	if l.Class == pdu.LabelDomain && md.selected {
		return false, nil // PCP's tool drops them, as if of other metrics
	}
	key := subject{l.Class, l.Ident}
	at := labelTime{key, rec.Time.UnixNano()}
	if i, ok := md.labelAt[at]; ok && bytes.Equal(md.labels[key][i].rec.Raw, rec.Raw) {
		return false, nil // as for instance domains
	}
	md.labelAt[at] = len(md.labels[key])
	md.labels[key] = append(md.labels[key], labelRecord{time: rec.Time, rec: rec})
	return true, nil
}

// finish sorts records by time and links metrics to their instance domains.
func (md *metadata) finish() {
	for _, d := range md.indoms {
		slices.SortStableFunc(d.records, func(a, b indomRecord) int { return a.time.Compare(b.time) })
	}
	for _, mt := range md.metrics {
		mt.indom = md.indoms[mt.desc.InDom]
	}
}

// metric returns a metric of a data record. A metric without a descriptor is dropped, and reported
// unless metrics are selected.
func (md *metadata) metric(id pdu.PMID) *metric {
	mt := md.metrics[id]
	if mt == nil {
		mt = &metric{id: id, missing: !md.selected, dropped: true}
		md.metrics[id] = mt
	}
	return mt
}

// addMetric adds a descriptor and compares it with the earlier one.
func (md *metadata) addMetric(m *merger, rec archive.Record) (added bool, err error) {
	n, err := rec.Metric()
	if err != nil || m.drops(md, n.PMID) {
		return false, err
	}
	var instances []pdu.InstID
	if m.picks != nil {
		instances = m.picks[n.PMID].instances
	}
	known := md.metrics[n.PMID]
	conflict, skip := md.conflict(known, &n)
	if conflict != nil {
		if !m.SkipConflicts {
			return false, conflict
		}
		m.warn(conflict)
		skip.dropped = true
		md.skipped = append(md.skipped, skip.id)
	}
	if known == nil {
		known = &metric{id: n.PMID, desc: n.Desc, names: n.Names, rec: rec, instances: instances}
		md.metrics[n.PMID] = known
	}
	for _, name := range n.Names {
		if md.names[name] == nil {
			md.names[name] = known
		}
	}
	return true, nil
}

// conflict reports how a descriptor contradicts earlier ones, and which metric to drop.
func (md *metadata) conflict(known *metric, n *archive.Metric) (*ConflictError, *metric) {
	for _, name := range n.Names {
		if other := md.names[name]; other != nil && other.id != n.PMID {
			return &ConflictError{metricNames(n), "PMID", other.id.String(), n.PMID.String()}, other
		}
	}
	if known == nil {
		return nil, nil
	}
	c := &ConflictError{Subject: metricNames(n)}
	old := &known.desc
	switch {
	case !sameSet(known.names, n.Names):
		c.Subject = "metric PMID " + n.PMID.String()
		c.What, c.Old, c.New = "name", strings.Join(known.names, ", "), strings.Join(n.Names, ", ")
	case old.Type != n.Type:
		c.What, c.Old, c.New = "type", old.Type.String(), n.Type.String()
	case old.InDom != n.InDom:
		c.What, c.Old, c.New = "indom", old.InDom.String(), n.InDom.String()
	case old.Sem != n.Sem:
		c.What, c.Old, c.New = "semantics", semText(old.Sem), semText(n.Sem)
	case old.Units != n.Units:
		c.What, c.Old, c.New = "units", old.Units.String(), n.Units.String()
	default:
		return nil, nil
	}
	return c, known
}

func metricNames(m *archive.Metric) string { return "metric " + strings.Join(m.Names, ", ") }

func semText(s pdu.Sem) string {
	switch s {
	case pdu.SemCounter, pdu.SemInstant, pdu.SemDiscrete:
		return s.String()
	}
	return fmt.Sprintf("unknown (%d)", s)
}

func sameSet(a, b []string) bool {
	in := func(list []string) func(string) bool {
		return func(s string) bool { return !slices.Contains(list, s) }
	}
	return !slices.ContainsFunc(a, in(b)) && !slices.ContainsFunc(b, in(a))
}

// addText adds a help text.
func (md *metadata) addText(m *merger, rec archive.Record) (added bool, err error) {
	t, err := rec.Text()
	if err != nil {
		return false, err
	}
	key := textKey{t.Kind, t.Ident}
	known := md.texts[key]
	if known == nil {
		md.texts[key] = &text{text: t.Text, rec: rec}
		return true, nil
	}
	if known.text != t.Text {
		c := &ConflictError{"metric PMID " + pdu.PMID(t.Ident).String(), "one line text", known.text, t.Text}
		if t.Kind&pdu.TextInDom != 0 {
			c.Subject = "instance domain " + pdu.InDom(t.Ident).String()
		}
		if t.Kind&pdu.TextHelp != 0 {
			c.What = "help text"
		}
		m.warn(c)
		known.text, known.rec = t.Text, rec
	}
	return true, nil
}

// describe writes the metadata that the pending record of an input needs and the output lacks. It
// reports whether that includes an instance domain.
func (md *metadata) describe(in *input) (indom bool, err error) {
	t := in.time
	if t.Before(md.last) || !t.Before(md.due) {
		for _, mt := range md.metrics {
			mt.settled = false
		}
		md.due = endless
	}
	md.last = t
	for i := range in.shape.sets {
		mt := in.shape.sets[i].metric
		if mt.settled {
			continue
		}
		wrote, err := md.describeMetric(mt, t)
		if err != nil {
			return indom, err
		}
		indom = indom || wrote
		mt.settled = true
	}
	return indom, nil
}

func (md *metadata) describeMetric(mt *metric, t time.Time) (indom bool, err error) {
	if err := md.writeLabels(contextLabels, t); err != nil {
		return false, err
	}
	if !mt.written {
		if err := md.out.WriteRecord(&mt.rec); err != nil {
			return false, err
		}
		mt.written = true
	}
	id := uint32(mt.id)
	for _, key := range [...]subject{
		{pdu.LabelItem, id},
		{pdu.LabelDomain, uint32(mt.id.Domain())},
		{pdu.LabelCluster, id &^ 0x3ff},
	} {
		if err := md.writeLabels(key, t); err != nil {
			return false, err
		}
	}
	if err := md.writeTexts(pdu.TextPMID, id); err != nil {
		return false, err
	}
	if mt.desc.InDom == pdu.NoInDom {
		return false, nil
	}
	if mt.indom != nil {
		if indom, err = md.writeInDom(mt.indom, t); err != nil || !indom {
			return false, err
		}
	}
	id = uint32(mt.desc.InDom)
	for _, key := range [...]subject{
		{pdu.LabelInDom, id},
		{pdu.LabelInstances, id},
	} {
		if err := md.writeLabels(key, t); err != nil {
			return false, err
		}
	}
	return indom, md.writeTexts(pdu.TextInDom, id)
}

var contextLabels = subject{pdu.LabelContext, math.MaxUint32}

func (md *metadata) writeTexts(of pdu.TextKind, ident uint32) error {
	for _, kind := range [...]pdu.TextKind{pdu.TextOneLine, pdu.TextHelp} {
		x := md.texts[textKey{kind | of, ident}]
		if x == nil || x.written {
			continue
		}
		x.written = true
		if err := md.out.WriteRecord(&x.rec); err != nil {
			return err
		}
	}
	return nil
}

func (md *metadata) writeLabels(key subject, t time.Time) error {
	for i := range md.labels[key] {
		r := &md.labels[key][i]
		if r.written {
			continue
		}
		if r.time.After(t) {
			md.dueAt(r.time)
			continue
		}
		r.written = true
		restamp(&r.rec, t)
		if err := md.out.WriteRecord(&r.rec); err != nil {
			return err
		}
	}
	return nil
}

func (md *metadata) dueAt(t time.Time) {
	if t.Before(md.due) {
		md.due = t
	}
}

// writeInDom writes the record of an instance domain that is valid at time t.
func (md *metadata) writeInDom(d *indom, t time.Time) (bool, error) {
	i, next := d.find(t)
	if next < len(d.records) {
		md.dueAt(d.records[next].time)
	}
	if i < 0 || d.records[i].written {
		return false, nil
	}
	r := &d.records[i]
	r.written, r.time = true, t
	return true, md.putInDom(d, r)
}

// find returns the index of the record that is valid at t, or -1. If several records have this
// time, it returns the one that the binary search of PCP's tool finds first. A single record is
// valid at all times. next is the index of the first record after t.
func (d *indom) find(t time.Time) (at, next int) {
	if len(d.records) == 1 {
		return 0, 1
	}
	low, high := 0, len(d.records)-1
	at = -1
	for low <= high {
		mid := (low + high) / 2
		c := d.records[mid].time.Compare(t)
		if c == 0 && at < 0 {
			at = mid
		}
		if c <= 0 {
			low = mid + 1
		} else {
			high = mid - 1
		}
	}
	if at < 0 {
		at = high
	} else if high > at {
		low = high // after their time, the last record counts
	}
	return at, low
}

// putInDom writes a record of an instance domain, in version 3 as a delta if that is shorter.
func (md *metadata) putInDom(d *indom, r *indomRecord) error {
	rec, err := r.rec.InDom()
	if err != nil {
		return err
	}
	if rec.Delta {
		rec = archive.InDomRecord{InDom: rec.InDom, Instances: r.history.At(r.rec.Time)}
	}
	rec.Time = r.time
	if md.out.Label().Version > 2 {
		before := d.last
		d.last = slices.Clone(rec.Instances)
		slices.SortStableFunc(d.last, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
		delta, short := archive.DeltaInDom(before, d.last)
		switch {
		case before != nil && short:
			delta.Time, delta.InDom = r.time, rec.InDom
			return md.out.WriteInDom(delta)
		case r.rec.Kind == archive.KindInDomDelta || r.rec.Version == 2:
			return md.out.WriteInDom(rec)
		}
	}
	restamp(&r.rec, r.time)
	return md.out.WriteRecord(&r.rec)
}

// restamp changes the time of a record of instances or labels.
func restamp(r *archive.Record, t time.Time) {
	r.Time = t
	sec, b := t.Unix(), r.Raw[8:]
	if r.Version == 2 {
		binary.BigEndian.PutUint32(b, uint32(sec))
		binary.BigEndian.PutUint32(b[4:], uint32(t.Nanosecond()/1000))
		return
	}
	binary.BigEndian.PutUint32(b, uint32(sec))
	binary.BigEndian.PutUint32(b[4:], uint32(sec>>32))
	binary.BigEndian.PutUint32(b[8:], uint32(t.Nanosecond()))
}
