package report

import (
	"bufio"
	"time"
)

// stdout is the Printer of text in columns.
type stdout struct {
	table
	w         *bufio.Writer
	formatter formatter
	stamp     timestamp
	now       func() time.Time

	timeWidth int // of the column of times; 0 without
	instWidth int // of the column of instances of swapped reports
	rows      int // of the terminal

	repeat   bool       // the header is repeated
	every    int        // after that many reports
	printed  bool       // a row has been printed
	order    []int32    // of rows
	ordered  []bool     // rows that are in order
	sorting  []sortable // scratch
	line     []byte     // what is being printed
	timeText []byte     // of the sample
}

// defaultSwapWidth is the width of the column of instances if it has no heading.
const defaultSwapWidth = 8

// defaultSeparateWidth is the width of columns below a separate header if there is no other.
const defaultSeparateWidth = 8

func newStdout(w *bufio.Writer, o *Options) Printer {
	p := &stdout{table: table{o: o}, w: w, formatter: newFormatter(o.Delimiter), stamp: newTimestamp(o.TimeFormat), now: time.Now}
	if p.instWidth = runes(o.SwapLabel); p.instWidth == 0 {
		p.instWidth = defaultSwapWidth
	}
	return p
}

func (p *stdout) Start(h *Header) error {
	p.layOut(h)
	p.setRepeat()
	if p.o.Timestamp {
		p.timeWidth = runes(p.stamp.append(nil, p.now().In(h.Location)))
	}
	p.line = appendExtendedHeader(p.line[:0], p.o, h, "", p.now())
	if !p.o.DynamicHeader && !p.o.OverallRank {
		p.appendHeader()
	}
	return p.flush()
}

// setRepeat decides how often the header is repeated.
func (p *stdout) setRepeat() {
	p.every = p.o.RepeatHeader
	p.repeat = p.o.Header && p.every > 0
	if p.every != RepeatAuto {
		return
	}
	p.repeat = p.o.Header && !p.perSample()
	unitLine := 0
	if p.o.UnitInfo {
		unitLine = 1
	}
	if p.o.Swapped {
		p.every = p.rows/max(1, p.layout.distinct) - 1 - unitLine
		return
	}
	p.every = p.rows - 2 - unitLine
	if p.layout.domains {
		p.every--
	}
}

func (p *stdout) Resize(rows int) {
	p.rows = rows
	if p.layout != nil {
		p.setRepeat()
	}
}

func (p *stdout) Update(h *Header) error {
	p.layOut(h)
	p.setRepeat()
	return nil
}

func (p *stdout) Finish() error { return nil }

func (p *stdout) Print(s *Sample) error {
	p.line = p.line[:0]
	p.timeText = p.timeText[:0]
	if p.o.Timestamp {
		p.timeText = p.stamp.append(p.timeText, s.Time.In(p.h.Location))
	}
	changed := p.perSample() && p.follow(s.Values)
	if p.o.DynamicHeader && len(p.layout.columns) == 0 {
		p.appendNoValues()
		return p.flush()
	}
	if changed && p.o.DynamicHeader && p.o.Header || p.repeat && p.reports >= p.every {
		if p.printed || !p.o.DynamicHeader {
			p.line = append(p.line, '\n')
		}
		p.appendHeader()
	}
	p.reports++
	p.printed = true
	p.fill(s.Values)
	if !p.o.Swapped {
		p.line = appendLeft(p.line, p.timeText, p.timeWidth)
		p.appendCells(0)
		return p.flush()
	}
	if len(p.layout.rows) == 0 {
		p.appendNoRows()
	}
	for _, r := range p.sortRows(s.Values) {
		p.appendRowStart(p.layout.rows[r].name)
		p.appendCells(int(r))
	}
	return p.flush()
}

// appendNoValues appends the row of a sample without values below a dynamic header.
func (p *stdout) appendNoValues() {
	width := p.o.Width
	switch {
	case p.o.Swapped:
		width = runes(p.o.SwapLabel)
	case p.o.SeparateHeader && width == 0:
		width = defaultSeparateWidth
	}
	p.line = append(append(p.line, p.timeText...), p.o.Delimiter...) // not padded
	p.line = append(appendRight(p.line, missing, width), '\n')
	p.printed = true
}

// appendNoRows appends the row of a sample without values below a fixed header.
func (p *stdout) appendNoRows() {
	p.appendRowStart(missing)
	for _, c := range p.layout.columns {
		p.line = append(p.line, p.o.Delimiter...)
		p.line = appendRight(p.line, absent, p.h.Metrics[c.metric].Width)
	}
	p.line = append(p.line, '\n')
}

// appendRowStart appends the time and the instance of a row.
func (p *stdout) appendRowStart(name string) {
	p.line = appendLeft(p.line, cut(p.timeText, p.timeWidth), p.timeWidth)
	p.line = append(p.line, p.o.Delimiter...)
	p.line = appendCell(p.line, name, p.instWidth)
}

// appendCells appends the values of a row and ends it.
func (p *stdout) appendCells(row int) {
	owners := p.layout.rows[row].cells
	values := p.grid[row*len(owners):]
	for i, owner := range owners {
		p.line = append(p.line, p.o.Delimiter...)
		width := p.h.Metrics[p.layout.columns[i].metric].Width
		switch v := values[i]; {
		case owner == nobody:
			p.line = appendRight(p.line, absent, width)
		case v == nil:
			p.line = appendRight(p.line, missing, width)
		default:
			p.line = p.formatter.appendValue(p.line, v.Atom, &p.h.Metrics[owner])
		}
	}
	p.line = append(p.line, '\n')
}

// flush writes what has been appended.
func (p *stdout) flush() error {
	_, err := p.w.Write(p.line)
	p.line = p.line[:0]
	return err
}
