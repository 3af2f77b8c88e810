package report

import (
	"bufio"
	"bytes"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// csv is the Printer of comma-separated values.
type csv struct {
	table
	w         *bufio.Writer
	stamp     timestamp
	zone      string // that follows times
	delimiter []byte
	last      time.Time // of the sample before
	line      []byte    // what is being printed
}

func newCSV(w *bufio.Writer, o *Options) Printer {
	columns := *o
	columns.Swapped = false
	return &csv{table: table{o: &columns}, w: w, stamp: newTimestamp(o.TimeFormat), delimiter: []byte(o.Delimiter)}
}

func (p *csv) Start(h *Header) error {
	p.layOut(h)
	if p.o.ExtendedCSV {
		p.zone = " " + zoneText(h.Start.In(h.Location))
	}
	p.line = appendExtendedHeader(p.line[:0], p.o, h, "#", time.Now())
	if !p.o.DynamicHeader {
		p.appendHeader()
	}
	return p.flush()
}

func (p *csv) Update(h *Header) error {
	p.layOut(h)
	return nil
}

func (p *csv) Resize(int) {}

func (p *csv) Finish() error { return nil }

func (p *csv) Rank([]Ranked) error { return nil }

func (p *csv) Print(s *Sample) error {
	p.line = p.line[:0]
	if p.o.DynamicHeader {
		changed := p.follow(s.Values)
		repeat := p.o.RepeatHeader > 0 && p.reports >= p.o.RepeatHeader
		if (changed || repeat) && len(p.layout.columns) > 0 {
			p.appendHeader()
		}
	}
	p.reports++
	p.appendTime(s.Time)
	p.fill(s.Values)
	for i, c := range p.layout.columns {
		p.line = append(p.line, p.delimiter...)
		if p.grid[i] == nil {
			continue
		}
		start := len(p.line)
		p.appendValue(p.grid[i].Atom, p.h.Metrics[c.metric].Precision)
		if p.o.IncludeLabels { // PCP's pmrep has the value in the column of the labels, too
			end := len(p.line)
			p.line = append(p.line, p.delimiter...)
			p.line = append(p.line, p.line[start:end]...)
		}
	}
	p.line = append(p.line, '\n')
	return p.flush()
}

// appendTime appends what a row begins with.
func (p *csv) appendTime(t time.Time) {
	if p.o.ExtendedCSV {
		interval := 0.0
		if !p.last.IsZero() {
			interval = math.RoundToEven(t.Sub(p.last).Seconds())
		}
		p.last = t
		p.line = append(append(p.line, p.h.Host...), p.delimiter...)
		p.line = append(strconv.AppendInt(p.line, int64(interval), 10), p.delimiter...)
	}
	p.line = append(p.stamp.append(p.line, t.In(p.h.Location)), p.zone...)
}

// appendValue appends a value.
func (p *csv) appendValue(a pdu.Atom, precision int) {
	switch a.Type {
	case pdu.TypeString:
		p.line = append(p.line, '"')
		delimiter := p.delimiter
		if len(bytes.TrimSpace(delimiter)) == 0 {
			delimiter = nil // strings may have blanks
		}
		p.appendClean(a.Bytes(), delimiter, '_')
		p.line = append(p.line, '"')
	case pdu.TypeFloat, pdu.TypeDouble:
		p.line = appendFixed(p.line, real(a), precision)
	default:
		p.line = a.AppendTo(p.line)
	}
}

// appendFixed appends a number with a fixed number of digits after the decimal point.
func appendFixed(b []byte, v float64, precision int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return append(b, special(v)...)
	}
	return strconv.AppendFloat(b, v, 'f', precision, 64)
}

// appendClean appends a text with another byte in the place of delimiters, and with blanks in that
// of newlines and quotes.
func (p *csv) appendClean(s, delimiter []byte, instead byte) {
	for len(s) > 0 {
		switch {
		case len(delimiter) > 0 && bytes.HasPrefix(s, delimiter):
			p.line, s = append(p.line, instead), s[len(delimiter):]
		case s[0] == '\n' || s[0] == '"':
			p.line, s = append(p.line, ' '), s[1:]
		default:
			p.line, s = append(p.line, s[0]), s[1:]
		}
	}
}

// appendHeader appends the header if the options request one.
func (p *csv) appendHeader() {
	p.reports = 0
	if !p.o.Header {
		return
	}
	if p.o.ExtendedCSV {
		p.line = append(p.line, "Host,Interval,"...) // with commas, whatever the delimiter is
	}
	p.line = append(p.line, "Time"...)
	instead := ","
	if p.o.Delimiter == instead {
		instead = ";"
	}
	for _, c := range p.layout.columns {
		m := &p.h.Metrics[c.metric]
		name := m.Name
		if !m.Singular() && p.o.InstInfo {
			name += "-" + c.inst.Name
		}
		p.line = append(append(p.line, p.delimiter...), '"')
		p.appendClean([]byte(name), p.delimiter, ' ')
		p.line = append(p.line, '"')
		if p.o.IncludeLabels {
			text := labelText(m, c.inst.ID)
			if p.o.Delimiter != "" {
				text = strings.ReplaceAll(text, p.o.Delimiter, instead)
			}
			p.line = append(append(p.line, p.delimiter...), '"')
			p.line = append(append(p.line, text...), '"')
		}
	}
	p.line = append(p.line, '\n')
}

// flush writes what has been appended.
func (p *csv) flush() error {
	_, err := p.w.Write(p.line)
	p.line = p.line[:0]
	return err
}
