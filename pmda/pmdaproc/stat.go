package pmdaproc

import (
	"bytes"
	"unsafe"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A stat is the contents of the file stat of a process.
type stat struct {
	comm  string
	state byte
	name  string                 // of the state
	n     [statFields + 1]uint64 // the fields by their numbers in proc(5), negative ones as two's complements
}

// Numbers of fields.
const (
	statTTY     = 7
	statTTYPgrp = 8
	statStart   = 22
	statVsize   = 23
	statRSS     = 24
	statPolicy  = 41
	statFields  = 44 // the last that is used
)

var statKind = &kind[stat]{statFile, clusters{8, 52}, func(t *table, p *process, to *stat) error {
	text, err := t.files.readKept(p.id, statFile, "stat")
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return pdu.ErrValue
	}
	c := &p.files[statFile]
	if c.isNew(text) && !to.parse(text) {
		c.parsed = 0
		return pdu.ErrValue
	}
	if t.files.foreign && t.files.isOwn(p.id) {
		to.hideAddresses()
		c.parsed = 0
	}
	p.label.noteComm(to.comm, to.n[statStart])
	return nil
}}

// parse parses the text of a file. It fails if the state is missing. Missing fields are 0.
func (s *stat) parse(text []byte) bool {
	from, to := bytes.IndexByte(text, '('), bytes.LastIndexByte(text, ')')
	if from < 0 || to < from {
		return false
	}
	setString(&s.comm, text[from+1:to])
	state, rest := procfile.CutField(text[to+1:])
	if len(state) != 1 {
		return false
	}
	if s.state = state[0]; s.name != string(state) {
		s.name = string(state)
	}
	clear(s.n[:])
	rest, _, _ = procfile.CutLine(rest)
	for i := 4; i <= statFields && len(rest) > 0; i++ {
		s.n[i], rest = cutSigned(rest)
	}
	return true
}

// cutSigned parses the number at the start of line after blanks and returns the rest of line. A
// negative number is its two's complement. Text that is not a number is 0.
func cutSigned(line []byte) (v uint64, rest []byte) {
	at := 0
	for at < len(line) && line[at] == ' ' {
		at++
	}
	from := at
	for at < len(line) && line[at]-'0' <= 9 {
		v = v*10 + uint64(line[at]-'0')
		at++
	}
	if at-from < 19 && (at == len(line) || line[at] == ' ') {
		return v, line[at:] // as most numbers are not negative
	}
	for at < len(line) && line[at] != ' ' {
		at++
	}
	return parseSigned(line[from:at]), line[at:]
}

// hideAddresses clears the fields that the kernel shows only to the user of a process.
func (s *stat) hideAddresses() {
	for i := 26; i <= 30; i++ {
		s.n[i] = 0
	}
	s.n[35] = 0
}

// parseSigned parses a decimal number. A negative number is its two's complement. Text that is not
// a number is 0.
func parseSigned(field []byte) uint64 {
	amount, negative := bytes.CutPrefix(field, []byte("-"))
	v, ok := procfile.ParseUint(amount)
	switch {
	case !ok:
		return 0
	case negative:
		return -v
	}
	return v
}

// addStat adds the metrics of the file stat, and those that are in its clusters.
func (p *proc) addStat() {
	p.addStatTexts()
	p.addStatNumbers()
	p.addStatTimes()
}

// statText adds a text metric of stat.
func (p *proc) statText(item int, name string, sem pdu.Sem, text string, value func(*stat) string) {
	addRows(p, statKind, row[stat, string]{item, name, sem, 0, text, func(s *stat) (string, error) { return value(s), nil }})
}

func (p *proc) addStatTexts() {
	c := statKind.clusters
	addProcessMetric(p, c, 0, pmda.Metric[uint32]{Name: "psinfo.pid", Sem: pdu.SemDiscrete, Text: "ID of the process"},
		func(_ *table, p *process) (uint32, error) { return uint32(p.id), nil })
	p.statText(1, "psinfo.cmd", pdu.SemDiscrete, "Name that the kernel has for the process, that of its program at first",
		func(s *stat) string { return s.comm })
	p.statText(2, "psinfo.sname", pdu.SemInstant, "State of the process, such as R if it runs", func(s *stat) string { return s.name })
	p.statText(39, "psinfo.ttyname", pdu.SemDiscrete, "Terminal that controls the process, ? without one",
		func(s *stat) string { return p.ttys.name(p, s.n[statTTY]) })
	p.statText(48, "psinfo.policy_s", pdu.SemInstant, "How the process is scheduled, by name", func(s *stat) string { return policyName(s.n[statPolicy]) })
	addProcessMetric(p, c, 41, pmda.Metric[string]{Name: "psinfo.psargs", Sem: pdu.SemDiscrete, Text: "Command line of the process",
		Help: "The arguments of the process, with blanks between them, as far as they fit into 4095 bytes\nwith the process's ID; in parentheses the kernel's name of one that has none."},
		func(t *table, p *process) (string, error) { return t.names(p).psargs, nil })
	addProcessMetric(p, c, 47, pmda.Metric[string]{Name: "psinfo.environ", Text: "Environment that the process was started with",
		Help: "The variables have blanks between them. It is empty if the client may not see it."},
		func(t *table, p *process) (string, error) { return t.environ(p), nil })
	addProcessMetric(p, c, 40, pmda.Metric[string]{Name: "psinfo.wchan_s", Text: "Function of the kernel that the process waits in"},
		func(t *table, p *process) (string, error) {
			v, err := wchanKind.of(t, p)
			return *v, err
		})
}

// environ returns the environment of a process, empty if it cannot be read. It is valid until the
// next file is read.
func (t *table) environ(p *process) string {
	text, err := t.files.readOnce(p.id, "environ") // readOnce may fill the buffer
	if err != nil || len(text) == 0 {
		return ""
	}
	text = text[:len(text)-1]
	for i, c := range text {
		if c == 0 {
			text[i] = ' '
		}
	}
	return borrowed(text)
}

// borrowed returns a text as a string that is valid until the next file is read. The reply copies
// it before that.
func borrowed(text []byte) string { return unsafe.String(unsafe.SliceData(text), len(text)) }

var wchanKind = &kind[string]{wchanFile, statKind.clusters, func(t *table, p *process, to *string) error {
	text, err := t.files.readKept(p.id, wchanFile, "wchan")
	if err != nil {
		return err
	}
	setString(to, text)
	return nil
}}

// policyName returns the name of a scheduling policy.
func policyName(policy uint64) string {
	names := [...]string{"NORMAL", "FIFO", "RR", "BATCH", "?", "IDLE", "DEADLN"}
	if policy < uint64(len(names)) {
		return names[policy]
	}
	return "?"
}

// A statRow is a metric of a field of stat.
type statRow struct {
	item, field int
	name        string
	sem         pdu.Sem
	units       pdu.Units
	text        string
}

// statNumbers are the fields whose low 32 bits are metrics.
var statNumbers = []statRow{
	{3, 4, "psinfo.ppid", pdu.SemDiscrete, 0, "ID of the parent process"},
	{4, 5, "psinfo.pgrp", pdu.SemDiscrete, 0, "ID of the process group"},
	{5, 6, "psinfo.session", pdu.SemDiscrete, 0, "ID of the session"},
	{6, statTTY, "psinfo.tty", pdu.SemDiscrete, 0, "Device number of the terminal that controls the process, 0 without one"},
	{8, 9, "psinfo.flags", pdu.SemDiscrete, 0, "Flags that the kernel has for the process, bit by bit"},
	{9, 10, "psinfo.minflt", pdu.SemCounter, pdu.UnitCount, "Page faults that needed no reading from a disk"},
	{10, 11, "psinfo.cmin_flt", pdu.SemCounter, pdu.UnitCount, "Page faults without reading of children that have ended"},
	{11, 12, "psinfo.maj_flt", pdu.SemCounter, pdu.UnitCount, "Page faults that had to read from a disk"},
	{12, 13, "psinfo.cmaj_flt", pdu.SemCounter, pdu.UnitCount, "Page faults with reading of children that have ended"},
	{20, 21, "psinfo.it_real_value", pdu.SemDiscrete, 0, "Time to the next alarm of an interval timer, 0 on kernels since 2.6.17"},
	{25, 26, "psinfo.start_code", pdu.SemDiscrete, 0, "Address of the program's beginning, its low 32 bits"},
	{26, 27, "psinfo.end_code", pdu.SemDiscrete, 0, "Address of the program's end, its low 32 bits"},
	{27, 28, "psinfo.start_stack", pdu.SemDiscrete, 0, "Address of the stack's beginning, its low 32 bits"},
	{28, 29, "psinfo.esp", pdu.SemDiscrete, 0, "Stack pointer of the process, its low 32 bits"},
	{29, 30, "psinfo.eip", pdu.SemDiscrete, 0, "Instruction pointer of the process, its low 32 bits"},
	{30, 31, "psinfo.signal", pdu.SemDiscrete, 0, "Signals that are pending, by the bits of the first 32"},
	{31, 32, "psinfo.blocked", pdu.SemDiscrete, 0, "Signals that are blocked, by the bits of the first 32"},
	{32, 33, "psinfo.sigignore", pdu.SemDiscrete, 0, "Signals that are ignored, by the bits of the first 32"},
	{33, 34, "psinfo.sigcatch", pdu.SemDiscrete, 0, "Signals that are caught, by the bits of the first 32"},
	{35, 36, "psinfo.nswap", pdu.SemCounter, pdu.UnitCount, "Pages swapped out, which kernels since 2.6 do not count"},
	{36, 37, "psinfo.cnswap", pdu.SemCounter, pdu.UnitCount, "Pages swapped out of children, which kernels since 2.6 do not count"},
	{37, 38, "psinfo.exit_signal", pdu.SemDiscrete, 0, "Signal that the parent gets when the process ends"},
	{38, 39, "psinfo.processor", pdu.SemInstant, 0, "Processor that the process ran on last"},
	{42, 40, "psinfo.rt_priority", pdu.SemInstant, 0, "Priority among processes of real-time scheduling, 0 of others"},
	{43, statPolicy, "psinfo.policy", pdu.SemInstant, 0, "How the process is scheduled, by number"},
}

// statSigned are the fields that are signed metrics.
var statSigned = []statRow{
	{17, 18, "psinfo.priority", pdu.SemInstant, 0, "Priority of the process, lower numbers first"},
	{18, 19, "psinfo.nice", pdu.SemInstant, 0, "Nice value of the process"},
}

// addStatNumbers adds the metrics that are fields of stat.
func (p *proc) addStatNumbers() {
	for _, m := range statNumbers {
		addRows(p, statKind, row[stat, uint32]{m.item, m.name, m.sem, m.units, m.text, func(s *stat) (uint32, error) { return uint32(s.n[m.field]), nil }})
	}
	for _, m := range statSigned {
		addRows(p, statKind, row[stat, int32]{m.item, m.name, m.sem, m.units, m.text, func(s *stat) (int32, error) { return int32(s.n[m.field]), nil }})
	}
	addRows(p, statKind, row[stat, uint32]{7, "psinfo.tty_pgrp", pdu.SemDiscrete, 0, "ID of the process group in the foreground of the terminal",
		func(s *stat) (uint32, error) {
			if int64(s.n[statTTYPgrp]) < 0 {
				return 0, pmda.NoValue
			}
			return uint32(s.n[statTTYPgrp]), nil
		}})
	kb := func(item, field int, name, text string, scale func(uint64) uint64) {
		addRows(p, statKind, row[stat, uint64]{item, name, pdu.SemInstant, pdu.SpaceKByte, text, func(s *stat) (uint64, error) { return scale(s.n[field]), nil }})
	}
	toKB := func(v uint64) uint64 { return v / 1024 }
	kb(22, statVsize, "psinfo.vsize", "Virtual memory of the process", toKB)
	kb(23, statRSS, "psinfo.rss", "Main memory that the process has", p.pages)
	kb(24, 25, "psinfo.rss_rlim", "Main memory that the process may have", toKB)
	addRows(p, statKind, row[stat, uint64]{34, "psinfo.wchan", pdu.SemDiscrete, 0, "Whether the process waits in the kernel, or the address where",
		func(s *stat) (uint64, error) { return s.n[35], nil }})
}

// statTicks are the fields that count clock ticks.
var statTicks = []statRow{
	{13, 14, "psinfo.utime", pdu.SemCounter, pdu.TimeMSec, "Time that the process has run as a user"},
	{14, 15, "psinfo.stime", pdu.SemCounter, pdu.TimeMSec, "Time that the process has run in the kernel"},
	{15, 16, "psinfo.cutime", pdu.SemCounter, pdu.TimeMSec, "Time that children which have ended have run as a user"},
	{16, 17, "psinfo.cstime", pdu.SemCounter, pdu.TimeMSec, "Time that children which have ended have run in the kernel"},
	{21, statStart, "psinfo.start_time", pdu.SemDiscrete, pdu.TimeMSec, "When the process was started, from the start of the machine"},
	{44, 42, "psinfo.delayacct_blkio_time", pdu.SemCounter, pdu.TimeMSec, "Time that the process has waited for disks"},
	{45, 43, "psinfo.guest_time", pdu.SemCounter, pdu.TimeMSec, "Time that the process has run virtual processors"},
	{46, 44, "psinfo.cguest_time", pdu.SemCounter, pdu.TimeMSec, "Time that children which have ended have run virtual processors"},
}

// addStatTimes adds the metrics that are times.
func (p *proc) addStatTimes() {
	for _, m := range statTicks {
		addRows(p, statKind, row[stat, uint64]{m.item, m.name, m.sem, m.units, m.text, func(s *stat) (uint64, error) { return p.milliseconds(s.n[m.field]), nil }})
	}
}

// milliseconds converts clock ticks to milliseconds.
func (p *proc) milliseconds(ticks uint64) uint64 {
	hz := p.hertz()
	return ticks/hz*1000 + ticks%hz*1000/hz
}
