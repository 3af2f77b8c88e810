package pmdalinux

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// maxCPU is above the maximum number of a processor.
const maxCPU = 1 << 16

// A cpuTable is a file with a line for each kind of interrupts and a column for each
// processor, below a line that names the processors:
//
//	           CPU0       CPU1
//	 24:          1          0  IO-APIC   5-edge      ACPI:Ged
//	LOC:   17952806   17830258  Local timer interrupts
//	ERR:          0
//
// Processors that are switched off have no column.
type cpuTable struct {
	single func(name, rest []byte) bool // parses lines that have one number; nil if there are none

	head     []byte             // the first line
	cpus     []pdu.InstID       // the processors of the columns
	column   []int              // by processor, -1 for none
	cells    []uint32           // by line and column
	sums     []uint64           // of the columns
	complete bool               // all lines could be parsed, so the sums are complete
	kinds    instances[cpuKind] // the lines

	// cellDomain has an instance for each kind on each processor. There may be a million of them,
	// so they get names at the first request for them.
	cellDomain *pmda.InDom
	cellsUsed  atomic.Bool // cells were requested
	cellsStale bool        // the instances must be named again
	order      []cpuCell   // by ascending ID

	// texts are the descriptions of the kinds for labels, which may be requested during a reading.
	texts    atomic.Pointer[map[string]string]
	newTexts bool
}

// A cpuKind is a line.
type cpuKind struct {
	total uint64
	at    int    // its first cell
	tail  []byte // what follows the numbers
}

// A cpuCell is an instance of a kind on a processor.
type cpuCell struct {
	id           pdu.InstID
	kind, column int32
}

// useCells is the Refresh of cellDomain.
func (t *cpuTable) useCells(context.Context, *pmda.Request) error {
	t.cellsUsed.Store(true)
	return nil
}

// parse parses the file. In containers it may be empty although there are interrupts.
func (t *cpuTable) parse(text []byte) error {
	if len(text) == 0 {
		return pdu.ErrAppVersion
	}
	head, text, _ := procfile.CutLine(text)
	if !bytes.Equal(head, t.head) || len(t.cpus) == 0 {
		t.cellsStale = true
		if err := t.parseHead(head); err != nil {
			t.head, t.cpus = nil, nil
			return err
		}
	}
	clear(t.sums)
	t.complete = !procfile.Truncated(text)
	t.cells = t.cells[:0]
	t.kinds.Begin()
	for line := range procfile.Lines(text) {
		t.complete = t.parseLine(line) && t.complete
	}
	t.cellsStale = t.cellsStale || t.kinds.Changed()
	t.newTexts = t.newTexts || t.kinds.Changed()
	if err := t.kinds.End(); err != nil {
		return err
	}
	if t.newTexts {
		t.publishTexts()
		t.newTexts = false
	}
	if t.cellsStale && t.cellsUsed.Load() {
		if err := t.nameCells(); err != nil {
			return err
		}
		t.cellsStale = false
	}
	return nil
}

// parseHead parses the line that names the processors.
func (t *cpuTable) parseHead(head []byte) error {
	t.head = append(t.head[:0], head...)
	t.cpus, t.column = t.cpus[:0], t.column[:0]
	for field, rest := procfile.CutField(head); len(field) > 0; field, rest = procfile.CutField(rest) {
		digits, ok1 := bytes.CutPrefix(field, []byte("CPU"))
		n, ok2 := procfile.ParseUint(digits)
		if !ok1 || !ok2 || n >= maxCPU {
			return errors.New("the first line names no processors")
		}
		for n >= uint64(len(t.column)) {
			t.column = append(t.column, -1)
		}
		if t.column[n] >= 0 {
			return errors.New("the first line names a processor twice")
		}
		t.column[n] = len(t.cpus)
		t.cpus = append(t.cpus, pdu.InstID(n))
	}
	if len(t.cpus) == 0 {
		return errors.New("no line names processors")
	}
	t.sums = make([]uint64, len(t.cpus))
	return nil
}

// parseLine parses one line. It skips a line without a number for each processor, and returns false
// if the line is damaged.
func (t *cpuTable) parseLine(line []byte) bool {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	name, more := procfile.CutField(name)
	if tail, _ := procfile.CutField(more); !ok || len(name) == 0 || len(tail) > 0 || bytes.IndexByte(name, 0) >= 0 {
		return len(line) == 0
	}
	at := len(t.cells)
	if t.single != nil && t.single(name, rest) {
		// In a file with indented names, which allow four-digit interrupt numbers, the C agent
		// treats this line as a kind with a count for the first processor only. We do the same to
		// have the same instances.
		if rest, ok = t.cutNumbers(rest, 1); line[0] != ' ' || !ok {
			t.cells = t.cells[:at]
			return line[0] != ' '
		}
		for range t.cpus[1:] {
			t.cells = append(t.cells, 0)
		}
	} else if rest, ok = t.cutNumbers(rest, len(t.cpus)); !ok {
		t.cells = t.cells[:at]
		return string(name) == "FIQ" // ARM does not count FIQ
	}
	t.add(name, rest, at)
	return true
}

// add adds a kind. at is the index of its first cell.
func (t *cpuTable) add(name, tail []byte, at int) {
	var total uint64
	for i, v := range t.cells[at:] {
		total += uint64(v)
		t.sums[i] += uint64(v)
	}
	kind := t.kinds.Row(name)
	kind.total, kind.at = total, at
	if !bytes.Equal(kind.tail, tail) {
		kind.tail = append(kind.tail[:0], tail...)
		t.newTexts = true
	}
}

// cutNumbers appends the first n numbers of a line to the cells and returns the rest of the line.
// On a machine with many processors this is most of the work, so it does not use procfile.CutUint.
func (t *cpuTable) cutNumbers(line []byte, n int) (tail []byte, ok bool) {
	at := 0
	for range n {
		for at < len(line) && line[at] == ' ' {
			at++
		}
		from, v := at, uint64(0)
		for ; at < len(line) && line[at]-'0' <= 9; at++ {
			if v = v*10 + uint64(line[at]-'0'); v > math.MaxUint32 {
				return nil, false
			}
		}
		if at == from || at < len(line) && line[at] != ' ' {
			return nil, false
		}
		t.cells = append(t.cells, uint32(v))
	}
	return line[at:], true
}

// publishTexts makes texts available to labels.
func (t *cpuTable) publishTexts() {
	texts := make(map[string]string, len(t.kinds.Names))
	for i, name := range t.kinds.Names {
		texts[name] = string(bytes.Join(bytes.Fields(t.kinds.Vals[i].tail), []byte(" ")))
	}
	t.texts.Store(&texts)
}

// text returns the description of a kind.
func (t *cpuTable) text(kind string) string {
	if texts := t.texts.Load(); texts != nil {
		return (*texts)[kind]
	}
	return ""
}

// nameCells names the instances of cellDomain, "kind::cpu0" and so on.
func (t *cpuTable) nameCells() error {
	t.order = t.order[:0]
	var all []byte
	ends := make([]int, 0, len(t.cells))
	for kind, name := range t.kinds.Names {
		for column, cpu := range t.cpus {
			all = append(append(all, name...), "::cpu"...)
			all = strconv.AppendInt(all, int64(cpu), 10)
			ends = append(ends, len(all))
			t.order = append(t.order, cpuCell{kind: int32(kind), column: int32(column)})
		}
	}
	names, joined, from := make([]string, len(ends)), string(all), 0
	for i, to := range ends {
		names[i], from = joined[from:to], to
	}
	ids, err := t.cellDomain.SetNames(names...)
	if err != nil {
		t.order = t.order[:0]
		return err
	}
	for i, id := range ids {
		t.order[i].id = id
	}
	slices.SortFunc(t.order, func(a, b cpuCell) int { return cmp.Compare(a.id, b.id) })
	return nil
}

// cellValues is the Values of a metric of the cells.
func (t *cpuTable) cellValues(_ context.Context, _ *pmda.Request, s *pmda.Values[uint32]) error {
	for _, c := range t.order {
		if s.Wants(c.id) {
			s.Put(c.id, t.cells[t.kinds.Vals[c.kind].at+int(c.column)])
		}
	}
	return nil
}

// sum is the Value of a metric of processors: the sum over all kinds.
func (t *cpuTable) sum(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
	if cpu := int(i.ID); t.complete && cpu < len(t.column) && t.column[cpu] >= 0 {
		return t.sums[t.column[cpu]], nil
	}
	return 0, pmda.NoValue
}
