package pmdalinux

import (
	"bytes"
	"context"
	"errors"
	"math"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/pmdalinux/internal/procfile"
)

// maxCPU is more than any number of a processor.
const maxCPU = 1 << 16

// A cpuTable is what a file tells of kinds of interrupts, a line each, and
// processors, a column each, below a line that names those:
//
//	           CPU0       CPU1
//	 24:          1          0  IO-APIC   5-edge      ACPI:Ged
//	LOC:   17952806   17830258  Local timer interrupts
//	ERR:          0
//
// The processors that are not running have no column.
type cpuTable struct {
	special func(name, rest []byte) bool // takes lines that have one number; or nil

	head   []byte             // the first line
	cpus   []pdu.InstID       // the processors of the columns
	column []int              // by processor, -1 for none
	cells  []uint32           // by line and column
	sums   []uint64           // of the columns
	whole  bool               // all lines are understood, so that the sums are of all kinds
	kinds  instances[cpuKind] // the lines

	// each has the instances of the kinds on each processor. There may be a million:
	// they are not named before somebody asks for them.
	each   *pmda.InDom
	wanted atomic.Bool
	stale  bool
	order  []cpuCell // by ascending ID

	// texts are what is said of the kinds, for labels: they are asked for at any time.
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

// want is the Refresh of each.
func (t *cpuTable) want(context.Context, *pmda.Request) error {
	t.wanted.Store(true)
	return nil
}

// parse reads the file. One that is empty hides what there is, as in containers.
func (t *cpuTable) parse(text []byte) error {
	if len(text) == 0 {
		return pdu.ErrAppVersion
	}
	head, text, _ := procfile.CutLine(text)
	if !bytes.Equal(head, t.head) || len(t.cpus) == 0 {
		t.stale = true
		if err := t.parseHead(head); err != nil {
			t.head, t.cpus = nil, nil
			return err
		}
	}
	clear(t.sums)
	t.whole = !procfile.Truncated(text)
	t.cells = t.cells[:0]
	t.kinds.Begin()
	for line := range procfile.Lines(text) {
		t.whole = t.line(line) && t.whole
	}
	t.stale = t.stale || t.kinds.Changed()
	t.newTexts = t.newTexts || t.kinds.Changed()
	if err := t.kinds.end(); err != nil {
		return err
	}
	if t.newTexts {
		t.tell()
		t.newTexts = false
	}
	if t.stale && t.wanted.Load() {
		if err := t.name(); err != nil {
			return err
		}
		t.stale = false
	}
	return nil
}

// parseHead reads the line that names the processors.
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
		return errors.New("there is no line that names processors")
	}
	t.sums = make([]uint64, len(t.cpus))
	return nil
}

// line reads one line. If it has not a number for each processor, it is left out.
// It is false if that is not to be.
func (t *cpuTable) line(line []byte) bool {
	name, rest, ok := bytes.Cut(line, []byte(":"))
	name, more := procfile.CutField(name)
	if tail, _ := procfile.CutField(more); !ok || len(name) == 0 || len(tail) > 0 || bytes.IndexByte(name, 0) >= 0 {
		return len(line) == 0
	}
	at := len(t.cells)
	if t.special != nil && t.special(name, rest) {
		// Where the names are indented, which they are if numbers of interrupts may
		// have four digits, the C agent takes this for a kind that only the first
		// processor has. So do we, that the instances are the same.
		if rest, ok = t.numbers(rest, 1); line[0] != ' ' || !ok {
			t.cells = t.cells[:at]
			return line[0] != ' '
		}
		for range t.cpus[1:] {
			t.cells = append(t.cells, 0)
		}
	} else if rest, ok = t.numbers(rest, len(t.cpus)); !ok {
		t.cells = t.cells[:at]
		return string(name) == "FIQ" // which ARM does not count
	}
	t.add(name, rest, at)
	return true
}

// add takes in a kind with the cells from one on.
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

// numbers appends the first n numbers of a line to the cells, and returns what
// follows them. It is most of the work on a machine with many processors, which is
// why it does not use cutUint.
func (t *cpuTable) numbers(line []byte, n int) (tail []byte, ok bool) {
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

// tell makes the texts.
func (t *cpuTable) tell() {
	texts := make(map[string]string, len(t.kinds.Names))
	for i, name := range t.kinds.Names {
		texts[name] = string(bytes.Join(bytes.Fields(t.kinds.Vals[i].tail), []byte(" ")))
	}
	t.texts.Store(&texts)
}

// text is what is said of a kind.
func (t *cpuTable) text(kind string) string {
	if texts := t.texts.Load(); texts != nil {
		return (*texts)[kind]
	}
	return ""
}

// name names the instances of each, "kind::cpu0" and so on.
func (t *cpuTable) name() error {
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
	if _, err := t.each.SetNames(names...); err != nil {
		return err
	}
	place := make(map[string]int, len(names))
	for i, name := range names {
		place[name] = i
	}
	unordered := slices.Clone(t.order)
	for i, instance := range t.each.Instances() {
		t.order[i] = unordered[place[instance.Name]]
		t.order[i].id = instance.ID
	}
	return nil
}

// values are those of each.
func (t *cpuTable) values(_ context.Context, _ *pmda.Request, s *pmda.Values[uint32]) error {
	for _, c := range t.order {
		if s.Wants(c.id) {
			s.Put(c.id, t.cells[t.kinds.Vals[c.kind].at+int(c.column)])
		}
	}
	return nil
}

// sum is the Value of a metric of processors: all kinds together, unknown if one is.
func (t *cpuTable) sum(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
	if cpu := int(i.ID); t.whole && cpu < len(t.column) && t.column[cpu] >= 0 {
		return t.sums[t.column[cpu]], nil
	}
	return 0, pmda.NoValue
}
