package pmlogsummary

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/pcp-go/pcp/archive"
	"github.com/pcp-go/pcp/examples/internal/lognum"
	"github.com/pcp-go/pcp/examples/internal/logtext"
	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/internal/difference"
	"github.com/pcp-go/pcp/internal/terminal"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmns"
)

// A summary is the statistics of an archive, or of several as one.
type summary struct {
	*show
	out       *bufio.Writer
	errs      io.Writer
	name      string
	set       *archive.Set
	meta      *archive.Metadata
	label     archive.Label
	end       time.Time
	endless   bool       // the end is not known
	nameSpace *pmns.Tree // that of -n, or the archive's own
	clock     logtext.Clock
	from      stamp // the time window
	until     stamp
	wraps     bool // counters that have decreased have passed their greatest value

	reader *lognum.Reader[*metric]
	failed error
	buf    []byte
}

// A selection is a metric to print and the names of its instances. Without names all instances are
// printed.
type selection struct {
	name      string
	id        pdu.PMID
	instances []string
}

// A metric is the statistics of a metric.
type metric struct {
	id      pdu.PMID
	desc    pdu.Desc
	scale   float64 // of the time in the units of a counter, to seconds
	kind    difference.Kind
	series  []series // as the reader has them
	warned  bool
	binned  bool // its series have bins
	printed bool
}

func (n *metric) counter() bool { return n.desc.Sem == pdu.SemCounter }

func (n *metric) discrete() bool { return n.desc.Sem == pdu.SemDiscrete }

// openSummary opens an archive.
func openSummary(ctx context.Context, c *pcptool.Command, s *show, name string) (*summary, error) {
	m := &summary{show: s, errs: terminal.NewEscapeWriter(os.Stderr), name: name}
	_, m.wraps = os.LookupEnv("PCP_COUNTER_WRAP")
	set, err := archive.Options{Damaged: c.DamagedArchive}.Open(ctx, name)
	if err != nil {
		return nil, c.Errorf("Cannot open archive \"%s\": %w", terminal.Escape(name), pcptool.Cause(err))
	}
	m.set, m.meta, m.label = set, set.Metadata(), set.Label()
	m.nameSpace = cmp.Or(c.Names(), m.meta.Names())
	m.reader = lognum.NewReader[*metric](m.meta)
	m.clock = logtext.Clock{Digits: logtext.Millis}
	m.findEnd()
	return m, nil
}

// findEnd finds the end of the archive. A damaged archive ends in the far future.
func (m *summary) findEnd() {
	var err error
	if m.end, err = m.set.End(); err == nil {
		return
	}
	m.end, m.endless = time.Unix(math.MaxInt32, 0), true
	fmt.Fprintf(m.errs, "pmlogsummary: Cannot locate end of archive %s: %v\n", m.name, pcptool.Cause(err))
	fmt.Fprint(m.errs, "\nWARNING: This archive is sufficiently damaged that it may not be possible to\n"+
		"         produce complete information.  Continuing and hoping for the best.\n\n")
}

// setTimes sets the zone and the time window.
func (m *summary) setTimes(c *pcptool.Command) error {
	if err := c.SetArchiveTimes(m.label.Host, m.label.TimeZone, m.label.Start, m.end); err != nil {
		return err
	}
	m.clock.Location = c.Location
	m.endless = m.endless && c.End.Equal(m.end)
	m.from, m.until = stampOf(c.Begin), stampOf(c.End)
	return nil
}

// lookup finds the metrics of the arguments, or all metrics without arguments.
func (m *summary) lookup(args []string) (wanted []selection) {
	if len(args) == 0 {
		for name, id := range m.nameSpace.All() {
			wanted = append(wanted, selection{name, id, nil})
		}
		return wanted
	}
	for _, arg := range args {
		spec, err := pmapi.ParseMetricSpec(arg, pmapi.SourceArchive, m.name)
		if err != nil {
			fmt.Fprintln(m.errs, pcptool.SyntaxError(err))
			continue
		}
		found, err := m.nameSpace.Traverse(spec.Metric)
		if err != nil {
			fmt.Fprintf(m.errs, "pmlogsummary: PMNS traversal failed for %s: %v\n", spec.Metric, pcptool.Cause(err))
			continue
		}
		for name, id := range found {
			wanted = append(wanted, selection{name, id, spec.Instances})
		}
	}
	return wanted
}

// newMetric makes the statistics of a metric.
func (m *summary) newMetric(known *lognum.Metric[*metric]) *metric {
	n := &metric{id: known.ID, desc: known.Desc, scale: 1}
	if !known.Known {
		m.warn(n, "cannot find descriptor", pdu.ErrPMIDLog)
		return n
	}
	n.kind = difference.KindOf(n.desc.Type, true, m.wraps).OfFloats()
	if !m.sum {
		n.scale = timeScale(n.desc.Units)
	}
	return n
}

// timeScale returns the number of the units' time units per second, 1 for units without time.
func timeScale(u pdu.Units) float64 {
	const second = 3
	switch down := second - u.ScaleTime(); {
	case u.DimTime() == 0:
		return 1
	case down < 0:
		return math.Pow(60, float64(down))
	default:
		return math.Pow(1000, float64(down))
	}
}

// warn prints the first error of a metric.
func (m *summary) warn(n *metric, what string, err error) {
	if !m.warns || n.warned {
		return
	}
	n.warned = true
	names := "<nonames>"
	if all := m.nameSpace.Names(n.id); len(all) > 0 {
		names = strings.Join(all, " or ")
	}
	fmt.Fprintf(m.errs, "pmlogsummary: %s(%v) - %s: %v\n", names, n.id, what, pcptool.Cause(err))
}

// pass reads the records of the time window, and calls a function with the numbers of each metric.
func (m *summary) pass(add func(*metric, []lognum.Number, stamp) error) error {
	c := m.set.Cursor()
	last := m.from
	err := c.SeekNext(last.time())
	for err == nil {
		if err = c.Next(); err != nil {
			break
		}
		now := stampOf(c.Time())
		if now > m.until {
			return nil
		}
		if now < last {
			continue // time steps back in the archive
		}
		last = now
		var sets []lognum.Set[*metric]
		switch sets, err = m.reader.Read(c); {
		case err != nil:
		case c.Mark():
			m.markAll(now)
		default:
			err = m.eachSet(sets, now, add)
		}
	}
	if exit, ok := errors.AsType[*pcptool.ExitError](err); ok {
		return exit
	}
	if errors.Is(err, pdu.ErrEOL) {
		return nil
	}
	m.out.Flush()
	if m.failed == nil {
		fmt.Fprintf(m.errs, "pmlogsummary: fetch failed: %v\n", pcptool.Cause(err))
	}
	m.failed = &pcptool.ExitError{Status: 1, Err: err}
	return nil
}

// eachSet calls a function with the numbers of each metric of a record.
func (m *summary) eachSet(sets []lognum.Set[*metric], now stamp, add func(*metric, []lognum.Number, stamp) error) error {
	for i := range sets {
		set := &sets[i]
		n := set.State
		if n == nil {
			n = m.newMetric(set.Metric)
			set.State = n
		}
		switch {
		case !set.Known:
		case set.Err != nil:
			m.warn(n, "failed in archive value fetch", set.Err)
		case len(set.Numbers) > 0:
			if err := add(n, set.Numbers, now); err != nil {
				return err
			}
		}
	}
	return nil
}

// instanceNames returns the latest name of each instance.
func (m *summary) instanceNames(d pdu.InDom) (names pcptool.InstanceNames) {
	if in := m.meta.InDom(d); in != nil && d != pdu.NoInDom {
		names = pcptool.NewInstanceNames(in.All())
	}
	return names
}

// selects reports whether an instance is selected.
func (s *selection) selects(name string) bool {
	return len(s.instances) == 0 || slices.Contains(s.instances, name)
}
