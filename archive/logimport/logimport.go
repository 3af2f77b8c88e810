package logimport

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
)

// Domain is the domain of the PMIDs that AddMetric chooses.
const Domain pdu.Domain = 245

// An Importer writes values to an archive. It is for one goroutine at a time.
type Importer struct {
	w       *archive.Writer
	metrics []*metric
	byName  map[string]*metric
	below   map[string]string // for each prefix of metric names, a metric with it
	byPMID  map[pdu.PMID]*metric
	indoms  map[pdu.InDom]*indom

	round   uint64    // number of the record that values are put for
	touched []*metric // metrics with values, in the order of their first Put
	sets    pdu.ResultWriter
	last    time.Time // time of the last data record
	meta    metadata
}

// A metric is a metric and its values for the next record.
type metric struct {
	archive.Metric
	in     *indom // nil if it is singular
	cells  map[pdu.InstID]*cell
	round  uint64 // of its last values
	values []value
	bad    pdu.Error // the error that replaces its values
	known  bool      // the archive has its descriptor
}

// A cell is an instance of a metric.
type cell struct {
	im    *Importer
	m     *metric
	inst  pdu.InstID
	round uint64 // of its last value
}

type value struct {
	inst pdu.InstID
	atom pdu.Atom
}

// An indom is an instance domain with the instances added so far.
type indom struct {
	id     pdu.InDom
	all    []pdu.Instance // ascending
	byName map[string]pdu.InstID
	known  int // len(all) when the archive last got them
}

// New starts an archive. The first Write creates its files. Errors are those of
// archive.WriterOptions.Create, and an [Error] for an unknown version. It is the counterpart of
// pmiStart(3).
func New(base string, o archive.WriterOptions) (*Importer, error) {
	im := &Importer{round: 1, byName: map[string]*metric{}, below: map[string]string{}, byPMID: map[pdu.PMID]*metric{}, indoms: map[pdu.InDom]*indom{}}
	return im, im.create(base, o)
}

func (im *Importer) create(base string, o archive.WriterOptions) error {
	if v := o.Label.Version; v != 0 && v != 2 && v != 3 {
		return errBadVersion
	}
	w, err := o.Create(base)
	if err != nil {
		return err
	}
	im.w, im.last = w, time.Time{}
	return nil
}

// Next closes the archive and begins another one with the same metrics, instances, handles and help
// texts. Values that were not written are lost; labels that were not written go to the new archive.
// If Next cannot create it, the old archive remains open. An error in closing the old archive is
// returned too, and the new one is then open.
func (im *Importer) Next(base string, o archive.WriterOptions) error {
	old := im.w
	if err := im.create(base, o); err != nil {
		return err
	}
	im.drop()
	for _, m := range im.metrics {
		m.known = false
	}
	for _, d := range im.indoms {
		d.known = 0
	}
	im.meta.again()
	return old.Close()
}

// Close ends the archive. Values that were not written are lost. It is the counterpart of
// pmiEnd(3).
func (im *Importer) Close() error { return im.w.Close() }

// Writer returns the Writer of the current archive, for its state and for kinds of records that im
// cannot write. Such records bypass the checks of im.
func (im *Importer) Writer() *archive.Writer { return im.w }

// AddMetric adds a metric and returns its PMID. If d.PMID is NoPMID or 0, the PMID is in Domain and
// numbered like the metric. It returns an [Error] for an invalid type or semantics, a PMID in use,
// and an invalid name. A name above or below another metric is invalid, because no reader could
// reach both. A name in use is ErrDupMetricName. AddMetric is the counterpart of pmiAddMetric(3).
func (im *Importer) AddMetric(name string, d pdu.Desc) (pdu.PMID, error) {
	if d.PMID == pdu.NoPMID || d.PMID == 0 {
		n := len(im.metrics) + 1
		d.PMID = pdu.MakePMID(Domain, n>>10, n%1024)
	}
	switch {
	case !validName(name):
		return 0, errBadMetricName
	case im.byName[name] != nil:
		return 0, ErrDupMetricName
	case im.below[name] != "":
		return 0, fmt.Errorf("%w: %q stands above %q", errBadMetricName, name, im.below[name])
	case im.byPMID[d.PMID] != nil:
		return 0, errDupMetricID
	case d.Type < pdu.Type32 || d.Type > pdu.TypeHighResEvent || d.Type == pdu.TypeAggregateStatic:
		return 0, errBadType
	case d.Sem != pdu.SemCounter && d.Sem != pdu.SemInstant && d.Sem != pdu.SemDiscrete:
		return 0, errBadSem
	}
	for i, c := range name {
		if c == '.' && im.byName[name[:i]] != nil {
			return 0, fmt.Errorf("%w: %q stands below %q, which is a metric", errBadMetricName, name, name[:i])
		}
	}
	for i, c := range name {
		if c == '.' {
			im.below[name[:i]] = name
		}
	}
	m := &metric{Metric: archive.Metric{Desc: d, Names: []string{name}}, cells: map[pdu.InstID]*cell{}}
	if d.InDom != pdu.NoInDom {
		m.in = im.indom(d.InDom)
	}
	im.metrics = append(im.metrics, m)
	im.byName[name], im.byPMID[d.PMID] = m, m
	return d.PMID, nil
}

// validName reports whether name consists of components separated by dots, each a letter followed
// by letters, digits and "_".
func validName(name string) bool {
	first := true // at the start of a component
	for i := range len(name) {
		c := name[i]
		if !scan.IsLetter(c) && (first || c != '.' && c != '_' && !scan.IsDigit(c)) {
			return false
		}
		first = c == '.'
	}
	return !first
}

// indom returns the domain id, which it adds if necessary.
func (im *Importer) indom(id pdu.InDom) *indom {
	d := im.indoms[id]
	if d == nil {
		d = &indom{id: id, byName: map[string]pdu.InstID{}}
		im.indoms[id] = d
	}
	return d
}

// AddInstance adds an instance to a domain. Names must differ in the part that ends with the first
// blank; otherwise the error is ErrDupInstName. Other errors are an [Error] for an identifier in
// use, pdu.ErrInDom for NoInDom, and pdu.ErrInst for a negative identifier or a name with a NUL.
// AddInstance is the counterpart of pmiAddInstance(3).
func (im *Importer) AddInstance(id pdu.InDom, name string, inst pdu.InstID) error {
	switch {
	case id == pdu.NoInDom:
		return pdu.ErrInDom
	case inst < 0 || strings.IndexByte(name, 0) >= 0:
		return pdu.ErrInst
	}
	d := im.indom(id)
	key := instanceKey(name)
	if _, taken := d.byName[key]; taken {
		return ErrDupInstName
	}
	at, taken := slices.BinarySearchFunc(d.all, inst, func(i pdu.Instance, id pdu.InstID) int { return cmp.Compare(i.ID, id) })
	if taken {
		return errDupInstID
	}
	d.byName[key] = inst
	d.all = slices.Insert(d.all, at, pdu.Instance{ID: inst, Name: name})
	return nil
}

// instanceKey returns the part of an instance name that must be unique: all of it, or the part up
// to and including the first blank.
func instanceKey(name string) string {
	if i := strings.IndexByte(name, ' '); i >= 0 {
		return name[:i+1]
	}
	return name
}

// find returns the cell of a metric and an instance, by their names.
func (im *Importer) find(name, instance string) (*cell, error) {
	m := im.byName[name]
	inst := pdu.NoInst
	switch {
	case m == nil:
		return nil, pdu.ErrName
	case m.in == nil && instance != "":
		return nil, errInstNotNull
	case m.in != nil && instance == "":
		return nil, errInstNull
	case m.in != nil && len(m.in.all) == 0:
		return nil, pdu.ErrInDom
	case m.in != nil:
		var ok bool
		if inst, ok = m.in.byName[instanceKey(instance)]; !ok {
			return nil, pdu.ErrInst
		}
	}
	c := m.cells[inst]
	if c == nil {
		c = &cell{im: im, m: m, inst: inst}
		m.cells[inst] = c
	}
	return c, nil
}

// put adds a value. If bad is not nil, it replaces all values of the metric.
func (c *cell) put(a pdu.Atom, bad error) error {
	im, m := c.im, c.m
	if c.round == im.round {
		return ErrDupValue
	}
	c.round = im.round
	if m.round != im.round {
		m.round, m.bad, m.values = im.round, 0, m.values[:0]
		im.touched = append(im.touched, m)
	}
	if m.bad == 0 && bad != nil {
		m.bad = pdu.FromError(bad)
	}
	if m.bad != 0 {
		return m.bad
	}
	m.values = append(m.values, value{c.inst, a})
	return nil
}

// drop discards the values that were not written.
func (im *Importer) drop() {
	im.round++
	clear(im.touched)
	im.touched = im.touched[:0]
}

// Put adds a value for the time of the next Write; instance is "" for a singular metric. The bytes
// of an aggregate or of events must not change before Write. Errors are pdu.ErrName, an [Error] if
// instance does not fit a singular or a non-singular metric, pdu.ErrInDom if no instances were
// added yet, pdu.ErrInst, and ErrDupValue. A value of another type than the metric's is
// pdu.ErrConv. The next record then has this error in place of all values of the metric, and
// further values for it fail until then.
func (im *Importer) Put(name, instance string, a pdu.Atom) error {
	c, err := im.find(name, instance)
	if err != nil {
		return err
	}
	return c.atom(a)
}

// PutText is like Put for a value as text: a decimal integer or a number as strtod(3) accepts it,
// within the range of the type, with nothing after it. A metric of type string has text as its
// value. The error for any other text or type is that of Put for a wrong type. PutText is the
// counterpart of pmiPutValue(3).
func (im *Importer) PutText(name, instance, text string) error {
	c, err := im.find(name, instance)
	if err != nil {
		return err
	}
	return c.text(text)
}

func (c *cell) atom(a pdu.Atom) error {
	if a.Type != c.m.Type {
		return c.put(a, pdu.ErrConv)
	}
	return c.put(a, nil)
}

func (c *cell) text(text string) error {
	a, err := parse(text, c.m.Type)
	return c.put(a, err)
}

// Write writes new metrics and instances, a record with the values put since the last Write, and
// then help texts and labels. Errors are ErrNoData if there is nothing to write, an [Error] for a
// time before that of the last record, and those of archive.Writer. If the record was not written,
// its values are kept. Write is the counterpart of pmiWrite(3).
func (im *Importer) Write(t time.Time) error {
	switch {
	case len(im.touched) == 0 && im.meta.empty():
		return ErrNoData
	case t.Before(im.w.Last()):
		return errBadTimestamp
	case len(im.touched) == 0:
		return cmp.Or(im.writeMeta(t), im.w.Flush())
	}
	s := &im.sets
	s.Reset()
	s.Time = t
	for _, m := range im.touched {
		if err := im.describe(m, t); err != nil {
			return err
		}
		m.appendTo(s)
	}
	if err := im.w.WriteSets(s); err != nil {
		return err
	}
	im.last = t
	im.drop()
	if im.meta.empty() {
		return nil
	}
	err := im.writeMeta(t)
	_ = im.w.Flush() // on failure, Flush is tried again after the next values
	return err
}

// describe writes the metric and its instances, unless the archive has them.
func (im *Importer) describe(m *metric, t time.Time) error {
	if !m.known {
		if err := im.w.WriteMetric(m.Metric); err != nil {
			return err
		}
		m.known = true
	}
	return im.describeInDom(m.in, t)
}

// isNew reports whether d has instances that the archive does not have. It is false for a nil d.
func (d *indom) isNew() bool { return d != nil && d.known < len(d.all) }

// describeInDom writes the instances of a domain, unless the archive has them all.
func (im *Importer) describeInDom(d *indom, t time.Time) error {
	if !d.isNew() {
		return nil
	}
	if err := im.w.WriteInDom(archive.InDomRecord{Time: t, InDom: d.id, Instances: d.all}); err != nil {
		return err
	}
	d.known = len(d.all)
	return nil
}

// appendTo adds the values of a metric, sorted by instance.
func (m *metric) appendTo(s *pdu.ResultWriter) {
	s.Begin(m.PMID)
	if m.bad != 0 {
		s.Fail(m.bad)
		return
	}
	byInst := func(a, b value) int { return cmp.Compare(a.inst, b.inst) }
	if !slices.IsSortedFunc(m.values, byInst) {
		slices.SortFunc(m.values, byInst)
	}
	for _, v := range m.values {
		s.Atom(v.inst, v.atom)
	}
}

// PutResult immediately writes a record with values of added metrics. Errors are an [Error] for a
// time before that of the last record, pdu.ErrPMID for a metric that was not added, and those of
// archive.Writer. It is the counterpart of pmiPutResult(3).
func (im *Importer) PutResult(r *pdu.Result) error {
	if r.Time.Before(im.w.Last()) {
		return errBadTimestamp
	}
	for _, s := range r.All() {
		if im.byPMID[s.PMID] == nil {
			return pdu.ErrPMID
		}
	}
	for _, s := range r.All() {
		if err := im.describe(im.byPMID[s.PMID], r.Time); err != nil {
			return err
		}
	}
	if err := im.w.WriteResult(r); err != nil {
		return err
	}
	im.last = r.Time
	return nil
}

// PutMark writes a mark a millisecond after the last data record. A mark says that the next record
// does not continue the last one. Before the first record PutMark does nothing. It is the
// counterpart of pmiPutMark(3).
func (im *Importer) PutMark() error {
	if im.last.IsZero() {
		return nil
	}
	return im.w.WriteMark(im.last.Add(time.Millisecond))
}
