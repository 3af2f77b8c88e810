package main

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/tool"
)

// A printer reports on a metric.
type printer struct {
	*metric
	out   *bufio.Writer
	errs  io.Writer
	fatal func(format string, args ...any) // ends the program

	style    style
	rates    bool // of a counter
	wrap     bool // a counter that is less than before has gone past its highest value
	host     string
	zone     *time.Location
	noted    bool // there is a note on the zone already
	samples  int  // less than 0 for no end
	interval time.Duration
	end      time.Time // of the samples, zero for none

	gap      bool // no row yet, or none with values just now
	labelled bool // the columns have had labels
	shift    int  // of the labels to the left
	names    map[pdu.PMID]string
	buf      []byte
}

// fail ends the program with a message.
func (p *printer) fail(format string, args ...any) {
	p.out.Flush()
	p.fatal(format, args...)
}

func (p *printer) events() bool {
	return p.desc.Type == pdu.TypeEvent || p.desc.Type == pdu.TypeHighResEvent
}

// header says what will be printed.
func (p *printer) header() {
	if !p.events() && !p.noted {
		fmt.Fprintln(p.out)
	}
	width, ok := typeWidth(p.desc.Type)
	if !ok {
		p.fail("unknown performance metric value type %v", p.desc.Type)
	}
	if p.style.width == 0 {
		p.style.width = width
	}
	if d := p.style.digits; d > 0 && d+1 >= p.style.width {
		p.fail("-f %d too large for column width %d", d, p.style.width)
	}
	if !p.events() {
		fmt.Fprintf(p.out, "metric:    %s\n", p.name)
	}
	fmt.Fprintf(p.out, "host:      %s\n", p.host)
	if !p.events() {
		p.nature()
	}
	if p.samples < 0 {
		fmt.Fprintf(p.out, "samples:   all\n")
	} else {
		fmt.Fprintf(p.out, "samples:   %d\n", p.samples)
	}
	if p.samples > 1 {
		fmt.Fprintf(p.out, "interval:  %.2f sec\n", p.interval.Seconds())
	}
	p.out.Flush()
}

// nature is the semantics and the units.
func (p *printer) nature() {
	sem := "unknown"
	switch p.desc.Sem {
	case pdu.SemCounter:
		sem = "cumulative counter"
	case pdu.SemInstant:
		sem = "instantaneous value"
	case pdu.SemDiscrete:
		sem = "discrete instantaneous value"
	}
	units := p.desc.Units.String()
	if units == "" {
		units = "none"
	}
	if p.rates {
		sem += " (converting to rate)"
		units += " (converting to " + rateUnits(p.desc.Units) + ")"
	}
	fmt.Fprintf(p.out, "semantics: %s\nunits:     %s\n", sem, units)
}

// labels prints the names of the instances above their columns. At the first time it also says those that are too long,
// and decides whether those of rates stand to the left, over the points.
func (p *printer) labels() {
	width := p.style.width
	if !p.labelled {
		p.labelled = true
		longest := 0
		for _, i := range p.insts {
			longest = max(longest, len(i.Name))
		}
		if longest > width {
			for i, inst := range p.insts {
				fmt.Fprintf(p.out, "full label for instance[%d]: %s\n", i, inst.Name)
			}
		} else if p.rates && p.style.digits < 0 && (width < margin || longest <= width-margin) {
			p.shift = margin
		}
	}
	b := append(p.buf[:0], '\n')
	for _, i := range p.insts {
		start, name := len(b), i.Name
		if most := width - p.shift; most >= 0 {
			name = name[:min(len(name), most)]
		}
		b = cnum.Pad(append(b, name...), start, width-p.shift)
		b = append(b, strings.Repeat(" ", p.shift+1)...)
	}
	if len(p.insts) > 0 {
		b = append(b, '\n')
	}
	p.out.Write(b)
	p.buf = b
}

// A cell appends what there is to say about the value at an index of a set, in a field of a width. It reports false if
// that is nothing.
type cell func(b []byte, i, width int) ([]byte, bool)

// row prints a cell for each column, and below them those without a column.
func (p *printer) row(set pdu.ValueSet, cell cell) {
	b := p.buf[:0]
	missing := func() { b = cnum.Pad(append(b, '?'), len(b), p.style.width) }
	ok := false
	if p.desc.InDom == pdu.NoInDom {
		if set.Len() == 1 {
			b, ok = cell(b, 0, p.style.width)
		}
		if !ok {
			missing()
		}
		b = append(b, '\n')
	} else {
		next := 0
		for _, inst := range p.insts {
			ok = false
			if i := find(set, inst.ID, next); i >= 0 {
				b, ok = cell(b, i, p.style.width)
				next = i + 1
			}
			if !ok {
				missing()
			}
			b = append(b, ' ')
		}
		b = p.warn(append(b, '\n'), set, cell)
	}
	p.out.Write(b)
	p.buf = b
}

// warn tells of values that have no column.
func (p *printer) warn(b []byte, set pdu.ValueSet, cell cell) []byte {
	if p.chosen {
		return b
	}
	for i := range set.Len() {
		if p.column(set.Inst(i)) >= 0 {
			continue
		}
		start := len(b)
		b = append(b, "Warning: value="...)
		var ok bool
		if b, ok = cell(b, i, 1); !ok {
			b = b[:start]
			continue
		}
		b = fmt.Appendf(b, ", but instance=%d is unknown\n", set.Inst(i))
	}
	return b
}

// find is the index of an instance's value, less than 0 if it has none. That it is at a certain index is likely.
func find(set pdu.ValueSet, id pdu.InstID, likely int) int {
	if likely < set.Len() && set.Inst(likely) == id {
		return likely
	}
	for i := range set.Len() {
		if set.Inst(i) == id {
			return i
		}
	}
	return -1
}

// values prints a row of values as they are.
func (p *printer) values(set pdu.ValueSet) {
	p.row(set, func(b []byte, i, width int) ([]byte, bool) {
		a := set.Atom(i, p.desc.Type)
		if p.desc.Type != pdu.TypeFloat && p.desc.Type != pdu.TypeDouble {
			return pmapi.AppendValue(b, a, width), true
		}
		v, err := pdu.As[float64](a)
		if err != nil {
			p.fail("pmExtractValue: %s", tool.Reason(err))
		}
		if v < 0 && p.desc.Sem == pdu.SemCounter {
			return cnum.Pad(append(b, '!'), len(b), width), true
		}
		return p.style.append(b, v, width), true
	})
}
