package logrewrite

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/pdu"
)

// Rewrite opens the archive in with archive.Open, applies rules, and writes the result to a new
// archive with the base name out. Errors are those of archive.Open, Plan, Add, Check and Write.
func (o Options) Rewrite(ctx context.Context, in, out string, rules ...Rules) error {
	set, err := archive.Open(ctx, in)
	if err != nil {
		return err
	}
	defer set.Close()
	p, err := o.Plan(set)
	if err != nil {
		return err
	}
	for _, r := range rules {
		if err := p.Add(r); err != nil {
			return err
		}
	}
	if err := p.Check(); err != nil {
		return err
	}
	return p.Write(ctx, out)
}

// A ReadError reports a record of the input that cannot be read. It wraps an *archive.Error.
type ReadError struct {
	Meta bool // the record is in the metadata file
	Err  error
}

// Error returns the text of Err.
func (e *ReadError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *ReadError) Unwrap() error { return e.Err }

// Write writes the changed archive with the base name out. If no data record remains, it writes no
// files and returns nil. It fails with fs.ErrExist if that archive exists, a *ReadError if the
// input is damaged, and a *ConvertError if a value cannot be converted. After an error it removes
// the output unless Options.Desperate is set. Its memory does not depend on the size of the data
// volumes.
func (p *Plan) Write(ctx context.Context, out string) error {
	w, err := p.write(ctx, out, nil)
	if err != nil && w != nil && !p.opts.Desperate {
		err = errors.Join(err, w.Discard())
	}
	return err
}

// write writes the archive. Before it closes the Writer it calls finish, which may be nil. It
// returns the closed Writer, or nil if it made no files.
func (p *Plan) write(ctx context.Context, out string, finish func(*archive.Writer) error) (w *archive.Writer, err error) {
	if err := p.checkNames(); err != nil {
		return nil, err
	}
	a := p.set.Archives()[0]
	var shift time.Duration
	if p.delta != nil && (*p.delta >= time.Second || *p.delta <= -time.Second) {
		shift = *p.delta
	}
	label := p.newLabel(a)
	label.Start = firstTime(a, label.Start).Add(shift)
	if w, err = (archive.WriterOptions{Label: label, IndexEvery: -1}).Create(out); err != nil {
		return nil, err
	}
	c := &copier{Plan: p, w: w, volume: -1, shift: shift, lists: map[pdu.InDom][]pdu.Instance{}}
	defer func() { err = errors.Join(err, w.Close()) }()
	c.countUses()
	for i, a := range p.set.Archives() {
		c.archive = a
		if err := c.begin(i > 0); err != nil {
			return w, err
		}
		if err := c.copy(ctx); err != nil {
			return w, err
		}
	}
	if err := c.end(); err != nil || finish == nil {
		return w, err
	}
	return w, finish(w)
}

// newLabel returns the label of the output.
func (p *Plan) newLabel(a *archive.Archive) archive.Label {
	l := p.label
	l.Version = p.version
	l.Volume = a.Files().Volumes[0].Number
	hostLen, zoneLen := 63, 39 // of version 2
	if p.version > 2 {
		hostLen, zoneLen = 255, 255
	}
	for _, c := range [...]struct {
		to   *string
		text *string
		most int
	}{{&l.Host, p.host, hostLen}, {&l.TimeZone, p.zone, zoneLen}, {&l.ZoneInfo, p.zoneinfo, zoneLen}} {
		if c.text != nil {
			*c.to = (*c.text)[:min(len(*c.text), c.most)] // PCP truncates them too
		}
	}
	if p.features != nil {
		l.Features = *p.features
	}
	return l
}

// firstTime returns the time of the first data record of a, even if it is not in the output.
// Without data records it returns otherwise.
func firstTime(a *archive.Archive, otherwise time.Time) time.Time {
	for _, v := range a.Files().Volumes {
		f, err := a.File(v.Number)
		if err != nil {
			break
		}
		for r, err := range f.Records() {
			if err == nil && r.Kind != archive.KindLabel {
				return r.Time
			}
		}
	}
	return otherwise
}

// A copier copies an archive with the changes of a plan.
type copier struct {
	*Plan
	w       *archive.Writer
	archive *archive.Archive
	shift   time.Duration

	uses map[pdu.InDom]int // the number of metrics on each instance domain of the output

	next func() (*archive.Record, error, bool)
	held *archive.Record // next metadata record, nil at the end

	anyDesc bool // all descriptors may precede their data records

	begun     bool
	lists     map[pdu.InDom][]pdu.Instance // instances last written of each domain, for deltas
	volume    int
	needEntry bool // the current record gets an index entry
	index     []archive.IndexEntry
	last      archive.IndexEntry
	indexed   bool // the last record has an index entry

	in     pdu.Result
	out    pdu.ResultWriter
	values []value
	buf    []byte
}

// countUses counts the metrics on each instance domain of the output.
func (c *copier) countUses() {
	c.uses = map[pdu.InDom]int{}
	for m := range c.meta.Metrics() {
		s := c.byMetric[m.PMID]
		switch {
		case s == nil:
			c.uses[m.InDom]++
		case !s.deleted:
			c.uses[s.new.InDom]++
		}
	}
}

// begin starts the copy of an archive. If it is not the first, begin writes a mark one millisecond
// after the last record.
func (c *copier) begin(later bool) error {
	c.index = c.archive.Index()
	if !later || c.w.Last().IsZero() {
		return nil
	}
	_, c.last = c.w.Place()
	c.last.Time = c.w.Last().Add(time.Millisecond)
	c.indexed, c.needEntry = false, true
	return c.w.WriteMark(c.last.Time)
}

// end writes an index entry for the last record unless it already has one.
func (c *copier) end() error {
	if c.indexed || c.w.Last().IsZero() {
		return nil
	}
	_, next := c.w.Place()
	c.last.Meta = next.Meta
	return c.w.WriteIndex(c.last)
}

// copy copies an archive.
func (c *copier) copy(ctx context.Context) error {
	file, err := c.archive.File(archive.VolumeMeta)
	if err != nil {
		return &ReadError{true, err}
	}
	var stop func()
	c.next, stop = iter.Pull2(file.Records())
	defer stop()
	for range 2 { // skip the label
		if err := c.nextMeta(); err != nil {
			return err
		}
	}
	volumes := c.archive.Files().Volumes
	c.anyDesc = c.anyDesc || volumes[0].Number > 0
	for _, v := range volumes {
		if err := c.copyVolume(ctx, v.Number); err != nil {
			return err
		}
	}
	return nil
}

// nextMeta reads the next record of the metadata.
func (c *copier) nextMeta() error {
	r, err, ok := c.next()
	if err != nil {
		return &ReadError{true, err}
	}
	c.held = r
	if !ok {
		c.held = nil
	}
	return nil
}

func (c *copier) copyVolume(ctx context.Context, number int) error {
	file, err := c.archive.File(number)
	if err != nil {
		return &ReadError{false, err}
	}
	for r, err := range file.Records() {
		if err != nil {
			return &ReadError{false, err}
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.Kind == archive.KindLabel {
			continue
		}
		if number != c.volume {
			c.w.NewVolume()
			c.volume, c.needEntry = number, true
		}
		if err := c.copyRecord(r); err != nil {
			return err
		}
	}
	return nil
}

// at returns the time that t has in the output.
func (c *copier) at(t time.Time) time.Time { return t.Add(c.shift) }

// copyRecord copies a data record and the metadata before it.
func (c *copier) copyRecord(r *archive.Record) error {
	_, c.last = c.w.Place()
	if r.Kind == archive.KindMark {
		if err := c.copyMark(r); err != nil {
			return err
		}
		return c.entry(r)
	}
	if err := r.Result(&c.in); err != nil {
		return &ReadError{false, err}
	}
	if c.w.Last().IsZero() && !c.begun {
		c.begun = true
		if err := c.writeNewLabels(r.Time); err != nil {
			return err
		}
	}
	if err := c.copyMeta(r.Time); err != nil {
		return err
	}
	if err := c.copyValues(r); err != nil {
		return err
	}
	return c.entry(r) // as in PCP, even if no metric remains
}

func (c *copier) copyMark(r *archive.Record) error {
	if c.shift == 0 {
		return c.w.WriteRecord(r)
	}
	return c.w.WriteMark(c.at(r.Time))
}

// entry writes the index entry of a data record, if it needs one.
func (c *copier) entry(r *archive.Record) error {
	c.last.Time = c.at(r.Time)
	if v := c.w.Label().Volume; v != c.last.Volume {
		l := c.w.Label()
		c.last.Volume, c.last.Data = v, l.Len()
	}
	found := len(c.index) > 0 && c.index[0].Time.Equal(r.Time)
	if found {
		c.index = c.index[1:]
	}
	c.indexed = c.needEntry || found
	c.needEntry = r.Kind == archive.KindMark
	if !c.indexed {
		return nil
	}
	return c.w.WriteIndex(c.last)
}

// copyMeta copies the metadata up to a time.
func (c *copier) copyMeta(until time.Time) error {
	for c.held != nil {
		r := c.held
		switch r.Kind {
		case archive.KindDesc:
			m, err := r.Metric()
			if err != nil {
				return &ReadError{true, err}
			}
			if m.Type == pdu.TypeEvent || m.Type == pdu.TypeHighResEvent {
				c.anyDesc = true // other descriptors may be of event parameters
			}
			if !c.anyDesc && !c.has(m.PMID) && c.described() {
				return nil
			}
			if err := c.copyMetric(r, m); err != nil {
				return err
			}
		default:
			if r.Kind != archive.KindText && r.Time.After(until) {
				return nil
			}
			if err := c.copyOther(r); err != nil {
				return err
			}
		}
		if err := c.nextMeta(); err != nil {
			return err
		}
	}
	return nil
}

// has reports whether the current data record has a metric.
func (c *copier) has(id pdu.PMID) bool {
	for _, s := range c.in.All() {
		if s.PMID == id {
			return true
		}
	}
	return false
}

// described reports whether the output has the descriptors of all metrics in the current data
// record. pmlogrewrite drops descriptors after one whose metric has no later values.
func (c *copier) described() bool {
	for _, set := range c.in.All() {
		id := set.PMID
		if s := c.byMetric[id]; s != nil {
			if s.deleted {
				continue
			}
			id = s.new.PMID
		}
		if _, ok := c.w.Metric(id); !ok {
			if _, known := c.meta.Desc(set.PMID); known {
				return false
			}
		}
	}
	return true
}

// copyOther copies a metadata record other than a descriptor.
func (c *copier) copyOther(r *archive.Record) error {
	c.needEntry = true
	switch r.Kind {
	case archive.KindText:
		return c.copyText(r)
	case archive.KindLabels:
		return c.copyLabels(r)
	}
	return c.copyInDom(r)
}
