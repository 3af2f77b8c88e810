package report

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/archive/logimport"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/strftime"
	"github.com/pcp-go/pcp/pdu"
)

// archiver is the Printer of an archive. Its text says what is recorded.
type archiver struct {
	w      *bufio.Writer
	o      *Options
	finish bool // the end is given
	meta   *metadata
	base   string

	im      *logimport.Importer
	h       *Header
	metrics map[pdu.PMID]*recorded
	names   map[instKey]string // as the archive has them
}

// instKey is an instance of a domain.
type instKey struct {
	pdu.InDom
	pdu.InstID
}

// recorded is a metric of the archive.
type recorded struct {
	handles map[pdu.InstID]logimport.Handle
	last    map[pdu.InstID]string // values of a discrete one
}

// defaultVersion is that of archives where the configuration of PCP does not say.
const defaultVersion = 2

func newArchiver(w *bufio.Writer, r *Report, base string) (Printer, error) {
	h := &r.header
	o := archive.WriterOptions{Label: archive.Label{Version: archiveVersion(), Host: h.Host, TimeZone: strftime.Zone(h.Start.In(h.Location))}}
	im, err := logimport.New(base, o)
	if err != nil {
		return nil, err
	}
	return &archiver{w: w, o: &r.opts, finish: !r.times.Finish.IsZero(), meta: &r.meta, base: base, im: im,
		metrics: map[pdu.PMID]*recorded{}, names: map[instKey]string{}}, nil
}

func archiveVersion() int {
	text, ok := os.LookupEnv("PCP_ARCHIVE_VERSION")
	if conf, err := pcpconf.Load(""); !ok && err == nil {
		text = conf.Get("PCP_ARCHIVE_VERSION")
	}
	if v, err := strconv.Atoi(text); err == nil {
		return v
	}
	return defaultVersion
}

func (p *archiver) Start(h *Header) error {
	text := appendExtendedHeader(nil, p.o, h, "", time.Now())
	if p.o.Header {
		text = p.appendSummary(text, h)
	}
	if _, err := p.w.Write(text); err != nil {
		return err
	}
	if err := p.Update(h); err != nil {
		return err
	}
	return p.meta.putTexts(p.im)
}

// appendSummary appends what is recorded, and for how long.
func (p *archiver) appendSummary(b []byte, h *Header) []byte {
	b = fmt.Appendf(b, "Recording %d metrics to %s", len(h.Metrics), p.base)
	if p.o.Samples == 0 {
		b = append(b, "..."...)
		if h.Archive == "" {
			b = append(b, " (Ctrl-C to stop)"...)
		}
		return append(b, '\n')
	}
	d := h.Duration
	if !p.finish {
		d = time.Duration(p.o.Samples-1) * h.Interval
	}
	return fmt.Appendf(b, ":\n%d samples(s) with %.1f sec interval ~ %d sec duration.\n", p.o.Samples, h.Interval.Seconds(), int64(d.Seconds()))
}

// Update adds metrics that the archive does not have.
func (p *archiver) Update(h *Header) error {
	p.h = h
	for i := range h.Metrics {
		m := &h.Metrics[i]
		if p.metrics[m.Desc.PMID] != nil {
			continue
		}
		if _, err := p.im.AddMetric(m.Name, m.Desc); err != nil {
			return err
		}
		p.metrics[m.Desc.PMID] = &recorded{map[pdu.InstID]logimport.Handle{}, map[pdu.InstID]string{}}
	}
	return nil
}

func (p *archiver) Print(s *Sample) error {
	for i, values := range s.Values {
		m := &p.h.Metrics[i]
		to := p.metrics[m.Desc.PMID]
		for _, v := range values {
			if !m.Singular() && v.Inst.Name == "" {
				continue // gone since the fetch
			}
			if m.Desc.Sem == pdu.SemDiscrete && !to.changes(v) {
				continue
			}
			if err := p.put(m, to, v); err != nil {
				return err
			}
		}
	}
	if err := p.im.Write(s.Time); err != nil {
		if errors.Is(err, logimport.ErrNoData) {
			return nil
		}
		return err
	}
	return p.meta.writeLabels(p.im.Writer(), s.Time)
}

// changes reports whether a value differs from the previous one.
func (to *recorded) changes(v Value) bool {
	text := string(v.Atom.AppendTo(nil))
	if last, ok := to.last[v.Inst.ID]; ok && last == text {
		return false
	}
	to.last[v.Inst.ID] = text
	return true
}

// put enters a value.
func (p *archiver) put(m *Metric, to *recorded, v Value) error {
	h, ok := to.handles[v.Inst.ID]
	if !ok {
		name, err := p.addInstance(m.Desc.InDom, v.Inst)
		if err != nil {
			return err
		}
		if h, err = p.im.Handle(m.Name, name); err != nil {
			return err
		}
		to.handles[v.Inst.ID] = h
	}
	if err := h.Put(v.Atom); !errors.Is(err, logimport.ErrDupValue) {
		return err
	}
	return nil
}

// addInstance adds an instance that the archive lacks, and returns its name there. If an earlier
// instance has the same name, it uses that instance.
func (p *archiver) addInstance(d pdu.InDom, i pdu.Instance) (string, error) {
	if d == pdu.NoInDom {
		return "", nil
	}
	key := instKey{d, i.ID}
	if name, ok := p.names[key]; ok {
		return name, nil
	}
	if err := p.im.AddInstance(d, i.Name, i.ID); err != nil && !errors.Is(err, logimport.ErrDupInstName) {
		return "", err
	}
	p.names[key] = i.Name
	return i.Name, nil
}

func (p *archiver) Rank([]Ranked) error { return nil }

func (p *archiver) Resize(int) {}

func (p *archiver) Finish() error { return p.im.Close() }
