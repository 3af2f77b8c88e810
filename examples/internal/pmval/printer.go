package pmval

import (
	"bufio"
	"fmt"
	"sort"
	"strings"
	"time"

	"github.com/pcp-go/pcp/examples/internal/pcptool"
	"github.com/pcp-go/pcp/examples/internal/pcptool/timecontrol"
	"github.com/pcp-go/pcp/internal/cnum"
	"github.com/pcp-go/pcp/pdu"
)

// A printer prints the report on a metric.
type printer struct {
	*command
	*metric
	out *bufio.Writer

	column   Column
	rates    bool // of a counter
	wrap     bool // a counter that has gone back has passed its greatest value
	host     string
	gone     error // why the metric cannot be found now; nil if it is known
	samples  int   // still to be printed; less than 0 for no end
	interval time.Duration

	archive string    // its name; empty on a collector
	layout  string    // of the timestamp before each row of an archive; empty on a collector
	now     time.Time // of the sample
	mark    bool      // the sample is a mark

	ticks <-chan time.Time // nil if samples do not wait

	control  *timecontrol.Control // nil without -g and -p
	stepping bool                 // a step of its server is to be acknowledged
	moved    bool                 // the sample is not the one after that before

	needLabels bool // no row has been printed yet, or none since a sample without values
	labelled   bool // the labels have been printed once
	labelShift int  // how far the labels stand to the left
	names      map[pdu.PMID]string
	buf        []byte
}

// describe sets the fields that depend on the descriptor of the metric.
func (p *printer) describe() {
	p.rates = p.desc.Sem == pdu.SemCounter && !p.raw
	p.column = p.command.column
	p.column.Width = min(p.column.Width, maxWidth)
}

func (p *printer) isEvents() bool {
	return p.desc.Type == pdu.TypeEvent || p.desc.Type == pdu.TypeHighResEvent
}

// tailWidth is the maximum width of the text after the digits of a number, so that decimal points
// are aligned.
const tailWidth = 3

// printLabels prints the names of the instances above their columns. The first time it also prints
// names that are too long in full, and decides whether the labels of rates are shifted left, above
// the decimal points.
func (p *printer) printLabels() {
	width := p.column.Width
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
		} else if p.rates && p.column.Precision < 0 && (width < tailWidth || longest <= width-tailWidth) {
			p.labelShift = tailWidth
		}
	}
	b := append(p.buf[:0], '\n')
	if len(p.insts) > 0 {
		b = append(b, strings.Repeat(" ", len(p.layout))...)
	}
	for _, i := range p.insts {
		b = p.writeLong(b)
		start, name := len(b), i.Name
		if most := width - p.labelShift; most >= 0 {
			name = name[:min(len(name), most)]
		}
		b = cnum.Pad(append(b, name...), start, width-p.labelShift)
		b = append(b, strings.Repeat(" ", p.labelShift+1)...)
	}
	if len(p.insts) > 0 {
		b = append(b, '\n')
	}
	p.out.Write(b)
	p.buf = b
}

// maxRow is the maximum size of the buffer of a row. An error of one of its values discards the
// buffered part.
const maxRow = 64 << 10

// writeLong writes b if it is long, and returns the rest.
func (p *printer) writeLong(b []byte) []byte {
	if len(b) < maxRow {
		return b
	}
	p.out.Write(b)
	return b[:0]
}

// A cellFunc appends the text of the value at index i of a set. It returns b unchanged if there is
// no value.
type cellFunc func(b []byte, i int, column Column) ([]byte, error)

// printRow prints a cell in each column, and the values of instances without a column below them.
func (p *printer) printRow(set pdu.ValueSet, cell cellFunc) (err error) {
	b := p.appendStamp(p.buf[:0])
	if p.desc.InDom == pdu.NoInDom {
		i := 0
		if set.Len() != 1 {
			i = -1
		}
		if b, err = p.appendCell(b, i, cell); err != nil {
			return err
		}
		b = append(b, '\n')
	} else {
		next := 0
		for _, inst := range p.insts {
			i := indexOf(set, inst.ID, next)
			if i >= 0 {
				next = i + 1
			}
			if b, err = p.appendCell(p.writeLong(b), i, cell); err != nil {
				return err
			}
			b = append(b, ' ')
		}
		if b, err = p.appendWarnings(append(b, '\n'), set, cell); err != nil {
			return err
		}
	}
	p.buf = b
	_, err = p.out.Write(b)
	return err
}

// appendStamp appends the time of the sample in an archive.
func (p *printer) appendStamp(b []byte) []byte {
	if p.layout == "" {
		return b
	}
	return p.now.In(p.Location).AppendFormat(b, p.layout)
}

// appendCell appends the cell of the value at an index. It appends "?" for an index less than 0 and
// for an empty cell.
func (p *printer) appendCell(b []byte, i int, cell cellFunc) ([]byte, error) {
	start := len(b)
	if i >= 0 {
		var err error
		if b, err = cell(b, i, p.column); err != nil {
			return b, err
		}
	}
	if len(b) == start {
		b = p.column.AppendText(b, "?")
	}
	return b, nil
}

// appendWarnings appends a line for each value without a column.
func (p *printer) appendWarnings(b []byte, set pdu.ValueSet, cell cellFunc) (_ []byte, err error) {
	if p.selected {
		return b, nil
	}
	column := p.column
	column.Width = 1
	for i := range set.Len() {
		if _, ok := p.columnOf(set.Inst(i)); ok {
			continue
		}
		b = p.writeLong(b)
		line := len(b)
		b = append(b, "Warning: value="...)
		start := len(b)
		if b, err = cell(b, i, column); err != nil {
			return b, err
		}
		if len(b) == start {
			b = b[:line]
			continue
		}
		b = fmt.Appendf(b, ", but instance=%d is unknown\n", set.Inst(i))
	}
	return b, nil
}

// indexOf returns the index of an instance's value, less than 0 if it has no value. The set is
// sorted by instance. likely is the probable index.
func indexOf(set pdu.ValueSet, id pdu.InstID, likely int) int {
	if likely < set.Len() && set.Inst(likely) == id {
		return likely
	}
	i := sort.Search(set.Len(), func(i int) bool { return set.Inst(i) >= id })
	if i == set.Len() || set.Inst(i) != id {
		return -1
	}
	return i
}

// printValues prints a row of values as they are.
func (p *printer) printValues(set pdu.ValueSet) error {
	return p.printRow(set, func(b []byte, i int, column Column) ([]byte, error) {
		a := set.Atom(i, p.desc.Type)
		if p.desc.Type != pdu.TypeFloat && p.desc.Type != pdu.TypeDouble {
			return pdu.ValueFormat{Width: column.Width}.Append(b, a), nil
		}
		v, err := p.float(a)
		if v < 0 && p.desc.Sem == pdu.SemCounter {
			return column.AppendText(b, "!"), err
		}
		return column.AppendFloat(b, v), err
	})
}

// float converts a value to a floating point number.
func (p *printer) float(a pdu.Atom) (float64, error) {
	v, err := pdu.As[float64](a)
	if err != nil {
		return 0, p.Errorf("pmExtractValue: %w", pcptool.Cause(err))
	}
	return v, nil
}
