package pmdalinux

import (
	"bytes"
	"context"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A cpuInfo is the contents of /proc/cpuinfo, whose format depends on the architecture. Usually
// each processor has a paragraph that begins with its number. Some architectures list all numbers
// first, and the lines after them hold for all processors. On others the lines before the first
// number hold for all processors.
type cpuInfo struct {
	cpus   []cpuModel // the first n are of this reading
	n      int
	at     map[pdu.InstID]int
	common cpuModel
}

// A cpuModel is the information about one processor.
type cpuModel struct {
	texts           [cpuTexts]cpuText
	clock, bogomips optional[float32]
	cache, align    optional[uint32]
}

// The texts of a processor.
const (
	cpuVendor = iota
	cpuModelNumber
	cpuModelName
	cpuStepping
	cpuFlags
	cpuTexts
)

// A cpuText reuses its memory in each reading.
type cpuText struct {
	text    string
	ok, bad bool // ok: found in this reading; bad: malformed
}

// maxCPUText is the maximum length of a text in bytes, several times that of today's flags.
const maxCPUText = 16 << 10

// cpuKeys are prefixes of lines in lower case. The first matching prefix counts.
var cpuKeys = []struct {
	prefix string
	set    func(m *cpuModel, value []byte, before *cpuModel)
}{
	{"model name", setText(cpuModelName)},
	{"hardware", setText(cpuModelName)},
	{"model", setText(cpuModelNumber)},
	{"cpu model", setText(cpuModelNumber)},
	{"cpu variant", setText(cpuModelNumber)},
	{"vendor", setText(cpuVendor)},
	{"cpu implementer", setText(cpuVendor)},
	{"step", setText(cpuStepping)},
	{"cpu revision", setText(cpuStepping)},
	{"revision", setText(cpuStepping)},
	{"features", setText(cpuFlags)},
	{"flags", setText(cpuFlags)},
	{"cache size", func(m *cpuModel, value []byte, _ *cpuModel) { setSize(&m.cache, value) }},
	{"cache_align", func(m *cpuModel, value []byte, _ *cpuModel) { setSize(&m.align, value) }},
	{"bogo", func(m *cpuModel, value []byte, _ *cpuModel) { setDecimal(&m.bogomips, value, 1) }},
	{"cpu mhz", func(m *cpuModel, value []byte, _ *cpuModel) { setDecimal(&m.clock, value, 1) }},
	{"cycle frequency", func(m *cpuModel, value []byte, _ *cpuModel) { setDecimal(&m.clock, value, 1e6) }},
}

// setText returns a function that sets a text from a line, unless an earlier line has set it. A
// processor with the same text as the previous one shares its string.
func setText(which int) func(m *cpuModel, value []byte, before *cpuModel) {
	return func(m *cpuModel, value []byte, before *cpuModel) {
		t := &m.texts[which]
		if which == cpuFlags {
			value = bytes.TrimRight(value, " ")
		}
		if t.ok {
			return
		}
		t.ok, t.bad = true, len(value) > maxCPUText || bytes.IndexByte(value, 0) >= 0
		if t.bad {
			return
		}
		switch {
		case t.text == string(value):
		case before != nil && before.texts[which].text == string(value):
			t.text = before.texts[which].text
		default:
			t.text = string(value)
		}
	}
}

// setSize sets a number from a line with a whole number, without a unit or in KB. Zero means that
// the kernel does not know the number.
func setSize(to *optional[uint32], value []byte) {
	field, rest := procfile.CutField(value)
	unit, _ := procfile.CutField(rest)
	if v, ok := procfile.ParseUint32(field); ok && v > 0 && (len(unit) == 0 || string(unit) == "KB") {
		*to = optional[uint32]{v, true}
	}
}

// setDecimal sets a number from a line with a decimal number in a unit. Zero means that the kernel
// does not know the number.
func setDecimal(to *optional[float32], value []byte, unit float64) {
	if v, _, ok := procfile.CutDecimal(value); ok && float32(v/unit) > 0 {
		*to = optional[float32]{float32(v / unit), true}
	}
}

// parse parses the file.
func (c *cpuInfo) parse(text []byte) error {
	c.n = 0
	clear(c.at)
	c.common.reset()
	first := 0       // a line applies to processors from this one on
	numbers := false // the line before had the number of a processor
	for line := range procfile.Lines(text) {
		key, value, ok := bytes.Cut(line, colon)
		if !ok {
			continue
		}
		key, value = bytes.TrimRight(key, " \t"), bytes.TrimPrefix(value, blank)
		if id, ok := processorNumber(key, value); ok {
			if !numbers {
				first, numbers = c.n, true
			}
			c.startProcessor(id)
			continue
		}
		numbers = false
		c.set(key, value, first)
	}
	return nil
}

var colon, blank = []byte(":"), []byte(" ")

// processorNumber returns the number in lines like "processor : 3" and "processor 3: version = FF".
func processorNumber(key, value []byte) (pdu.InstID, bool) {
	const word = "processor"
	if !foldPrefix(key, word) {
		return 0, false
	}
	digits, _ := procfile.CutField(key[len(word):])
	if len(digits) == 0 {
		digits, _ = procfile.CutField(value)
	}
	n, ok := procfile.NumberAfter(digits, "")
	return pdu.InstID(n), ok
}

// foldPrefix reports whether text begins with prefix, ignoring case. prefix is in lower case.
func foldPrefix(text []byte, prefix string) bool {
	if len(text) < len(prefix) {
		return false
	}
	for i := range len(prefix) {
		c := text[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != prefix[i] {
			return false
		}
	}
	return true
}

// startProcessor starts the lines of a processor.
func (c *cpuInfo) startProcessor(id pdu.InstID) {
	if c.n == len(c.cpus) {
		c.cpus = append(c.cpus, cpuModel{})
	}
	c.cpus[c.n].reset()
	if _, again := c.at[id]; !again {
		c.at[id] = c.n
	}
	c.n++
}

// reset clears the model for a new reading.
func (m *cpuModel) reset() {
	for i := range m.texts {
		m.texts[i].ok, m.texts[i].bad = false, false
	}
	*m = cpuModel{texts: m.texts}
}

// set applies a line to the processors from first on, or to all processors if none has been listed
// yet.
func (c *cpuInfo) set(key, value []byte, first int) {
	for _, k := range cpuKeys {
		if !foldPrefix(key, k.prefix) {
			continue
		}
		if c.n == 0 {
			k.set(&c.common, value, nil)
		}
		for at := first; at < c.n; at++ {
			k.set(&c.cpus[at], value, &c.cpus[max(at-1, 0)])
		}
		return
	}
}

// of returns what the file says about one processor, and about all. If the file numbers no
// processors, both results are the latter. It is not ok if the file numbers processors but lacks
// this one.
func (c *cpuInfo) of(id pdu.InstID) (own, common *cpuModel, ok bool) {
	if c.n == 0 {
		return &c.common, &c.common, true
	}
	at, ok := c.at[id]
	if !ok {
		return nil, nil, false
	}
	return &c.cpus[at], &c.common, true
}

// text makes the Value of a metric with a text: the first of several texts that the file has for a
// processor, or "unknown".
func (c *cpuInfo) text(which ...int) func(context.Context, *pmda.Request, pdu.Instance) (string, error) {
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
		own, common, ok := c.of(i.ID)
		if !ok {
			return "", pmda.NoValue
		}
		for _, w := range which {
			for _, m := range [...]*cpuModel{own, common} {
				if t := &m.texts[w]; t.bad {
					return "", pmda.NoValue
				} else if t.ok {
					return t.text, nil
				}
			}
		}
		return "unknown", nil
	}
}

// cpuNumber makes the Value of a metric with a number. If the file lacks the number, it comes from
// other, which may be nil.
func cpuNumber[T pdu.Scalar](c *cpuInfo, of func(*cpuModel) optional[T], other func(cpu string) optional[T]) func(context.Context, *pmda.Request, pdu.Instance) (T, error) {
	return func(_ context.Context, _ *pmda.Request, i pdu.Instance) (T, error) {
		var v optional[T]
		if own, common, ok := c.of(i.ID); ok {
			if v = of(own); !v.ok {
				v = of(common)
			}
		}
		if !v.ok && other != nil {
			v = other(i.Name)
		}
		return v.result()
	}
}

// addCPUInfo adds the metrics of /proc/cpuinfo. On ARM the file has no frequencies.
func (l *linux) addCPUInfo(f *frequencies) {
	c := &cpuInfo{at: map[pdu.InstID]int{}}
	g := l.fileGroup("proc/cpuinfo", c.parse)
	for _, m := range []struct {
		name  string
		item  int
		text  string
		which []int
	}{
		{"hinv.cpu.vendor", 1, "Who made the processor; on ARM the number of the maker", []int{cpuVendor}},
		{"hinv.cpu.model", 2, "Number of the model of the processor within its family", []int{cpuModelNumber, cpuModelName}},
		{"hinv.cpu.stepping", 3, "Revision of the model of the processor", []int{cpuStepping}},
		{"hinv.cpu.model_name", 9, "Name of the model of the processor", []int{cpuModelName, cpuModelNumber}},
		{"hinv.cpu.flags", 10, "What the processor is capable of, a word for each feature", []int{cpuFlags}},
	} {
		pmda.Register(l.Agent, pmda.Metric[string]{
			Name: m.name, ID: pmda.Item(18, m.item), InDom: l.cpus, Group: g, Sem: pdu.SemDiscrete,
			Text: m.text, Value: c.text(m.which...),
		})
	}
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "hinv.cpu.clock", ID: pmda.Item(18, 0), InDom: l.cpus, Group: g, Sem: pdu.SemDiscrete,
		Units: pdu.PerUSec, // MHz
		Text:  "Frequency of the processor in MHz",
		Help:  "On most machines it is that of the moment, where the processor runs slower to save power.",
		Value: cpuNumber(c, func(m *cpuModel) optional[float32] { return m.clock }, f.present),
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.cpu.cache", ID: pmda.Item(18, 4), InDom: l.cpus, Group: g, Sem: pdu.SemDiscrete,
		Units: pdu.SpaceKByte,
		Text:  "Size of the cache that /proc/cpuinfo tells for the processor",
		Value: cpuNumber(c, func(m *cpuModel) optional[uint32] { return m.cache }, nil),
	})
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "hinv.cpu.bogomips", ID: pmda.Item(18, 5), InDom: l.cpus, Group: g, Sem: pdu.SemDiscrete,
		Text:  "How fast the processor counts down when the kernel waits, in millions per second",
		Help:  "It tells little about the speed of programs: do not compare processors by it.",
		Value: cpuNumber(c, func(m *cpuModel) optional[float32] { return m.bogomips }, nil),
	})
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: "hinv.cpu.cache_alignment", ID: pmda.Item(18, 11), InDom: l.cpus, Group: g, Sem: pdu.SemDiscrete,
		Text:  "Bytes of a line of the processor's cache, to which data are aligned",
		Value: cpuNumber(c, func(m *cpuModel) optional[uint32] { return m.align }, nil),
	})
}
