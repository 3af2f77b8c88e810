package pmdaproc

import (
	"bytes"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A status is the contents of the file status of a process.
type status struct {
	uids, gids [4]uint32 // real, effective, saved, file system
	n          [statusNumbers]uint64
	texts      [statusTexts]string
	has        [statusLines]bool // which lines there are
}

// Lines of the file: first those with a number, then those with a text.
const (
	statusThreads = iota
	statusVoluntary
	statusInvoluntary
	statusNgid
	statusTgid
	statusEnvID
	statusVMSize
	statusVMLock
	statusVMRSS
	statusVMData
	statusVMStack
	statusVMExe
	statusVMLib
	statusVMSwap
	statusVMPeak
	statusVMPin
	statusVMHWM
	statusVMPTE
	statusNumbers

	statusPending = iota - 1
	statusBlocked
	statusIgnored
	statusCaught
	statusCPUs
	statusNSTgid
	statusNSPid
	statusNSPgid
	statusNSSid
	statusLines
	statusTexts = statusLines - statusNumbers
)

// statusIndex maps the names of lines to their indices.
var statusIndex = map[string]int{
	"Threads": statusThreads, "voluntary_ctxt_switches": statusVoluntary, "nonvoluntary_ctxt_switches": statusInvoluntary,
	"Ngid": statusNgid, "Tgid": statusTgid, "envID": statusEnvID,
	"VmSize": statusVMSize, "VmLck": statusVMLock, "VmRSS": statusVMRSS, "VmData": statusVMData, "VmStk": statusVMStack,
	"VmExe": statusVMExe, "VmLib": statusVMLib, "VmSwap": statusVMSwap, "VmPeak": statusVMPeak, "VmPin": statusVMPin,
	"VmHWM": statusVMHWM, "VmPTE": statusVMPTE,
	"SigPnd": statusPending, "SigBlk": statusBlocked, "SigIgn": statusIgnored, "SigCgt": statusCaught,
	"Cpus_allowed_list": statusCPUs,
	"NStgid":            statusNSTgid, "NSpid": statusNSPid, "NSpgid": statusNSPgid, "NSsid": statusNSSid,
}

var statusKind = &kind[status]{statusFile, clusters{24, 56}, func(t *table, p *process, to *status) error {
	text, err := t.files.readKept(p.id, statusFile, "status")
	if err != nil {
		return err
	}
	if len(text) == 0 {
		return pdu.ErrValue
	}
	if p.files[statusFile].isNew(text) {
		to.parse(text)
	}
	return nil
}}

// parse parses the text of a file. Missing numbers are 0: an ended process has no memory.
func (s *status) parse(text []byte) {
	s.uids, s.gids, s.n = [4]uint32{}, [4]uint32{}, [statusNumbers]uint64{}
	s.has = [statusLines]bool{}
	for line := range procfile.Lines(text) {
		name, rest, ok := bytes.Cut(line, colon)
		if !ok {
			continue
		}
		switch string(name) {
		case "Uid":
			parseIDs(&s.uids, rest)
			continue
		case "Gid":
			parseIDs(&s.gids, rest)
			continue
		}
		at, ok := statusIndex[string(name)]
		if !ok {
			continue
		}
		if at < statusNumbers {
			s.n[at], _, s.has[at] = procfile.CutUint(rest)
			continue
		}
		s.has[at] = true
		setString(&s.texts[at-statusNumbers], commas(bytes.TrimSpace(rest)))
	}
}

var colon = []byte(":")

// parseIDs parses the IDs of a line.
func parseIDs(to *[4]uint32, rest []byte) {
	var v uint64
	for i := range to {
		v, rest, _ = procfile.CutUint(rest)
		to[i] = uint32(v)
	}
}

// commas replaces the blanks between words by commas, in place.
func commas(b []byte) []byte {
	to := b[:0]
	for i, c := range b {
		switch {
		case c != ' ' && c != '\t':
			to = append(to, c)
		case b[i+1] != ' ' && b[i+1] != '\t': // b ends with another character
			to = append(to, ',')
		}
	}
	return to
}

// addStatus adds the metrics of the file status.
func (p *proc) addStatus() {
	p.addIDs()
	p.addStatusTexts()
	p.addStatusNumbers()
	p.addStatusMemory()
}

// addIDs adds the users and groups of processes.
func (p *proc) addIDs() {
	for i, which := range []struct{ prefix, text string }{
		{"", "Real"}, {"e", "Effective"}, {"s", "Saved"}, {"fs", "File system's"},
	} {
		id := func(item int, name, text string, value func(*status) uint32) {
			addRows(p, statusKind, row[status, uint32]{item, "id." + which.prefix + name, pdu.SemDiscrete, 0, which.text + " " + text + " of the process",
				func(s *status) (uint32, error) { return value(s), nil }})
		}
		name := func(item int, name, text string, value func(*status) string) {
			addRows(p, statusKind, row[status, string]{item, "id." + which.prefix + name, pdu.SemDiscrete, 0, "Name of the " + text,
				func(s *status) (string, error) { return value(s), nil }})
		}
		id(i, "uid", "user ID", func(s *status) uint32 { return s.uids[i] })
		id(i+4, "gid", "group ID", func(s *status) uint32 { return s.gids[i] })
		name(i+8, "uid_nm", "user with the ID of proc.id."+which.prefix+"uid", func(s *status) string { return p.users.user(s.uids[i]) })
		name(i+12, "gid_nm", "group with the ID of proc.id."+which.prefix+"gid", func(s *status) string { return p.users.group(s.gids[i]) })
	}
}

// addStatusTexts adds the text metrics.
func (p *proc) addStatusTexts() {
	text := func(item, at int, name string, sem pdu.Sem, missing error, help string) {
		addRows(p, statusKind, row[status, string]{item, name, sem, 0, help, func(s *status) (string, error) {
			if !s.has[at] {
				return "", missing
			}
			return s.texts[at-statusNumbers], nil
		}})
	}
	text(16, statusPending, "psinfo.signal_s", pdu.SemInstant, nil, "Signals that are pending, as a hexadecimal number")
	text(17, statusBlocked, "psinfo.blocked_s", pdu.SemInstant, nil, "Signals that are blocked, as a hexadecimal number")
	text(18, statusIgnored, "psinfo.sigignore_s", pdu.SemInstant, nil, "Signals that are ignored, as a hexadecimal number")
	text(19, statusCaught, "psinfo.sigcatch_s", pdu.SemInstant, nil, "Signals that are caught, as a hexadecimal number")
	text(31, statusCPUs, "psinfo.cpusallowed", pdu.SemInstant, pdu.ErrAppVersion, "Processors that the process may run on")
	text(37, statusNSTgid, "namespaces.tgid", pdu.SemDiscrete, pdu.ErrAppVersion, "IDs of the process in its namespaces, from the outermost")
	text(38, statusNSPid, "namespaces.pid", pdu.SemDiscrete, pdu.ErrAppVersion, "IDs of the process or thread in its namespaces, from the outermost")
	text(39, statusNSPgid, "namespaces.pgid", pdu.SemDiscrete, pdu.ErrAppVersion, "IDs of the process group in its namespaces, from the outermost")
	text(40, statusNSSid, "namespaces.sid", pdu.SemDiscrete, pdu.ErrAppVersion, "IDs of the session in its namespaces, from the outermost")
}

// statusNumber adds a metric of a 32-bit number. missing is its error if the line is missing.
func (p *proc) statusNumber(item, at int, name string, sem pdu.Sem, units pdu.Units, missing error, text string) {
	addRows(p, statusKind, row[status, uint32]{item, name, sem, units, text, func(s *status) (uint32, error) {
		if !s.has[at] {
			return 0, missing
		}
		return uint32(s.n[at]), nil
	}})
}

// addStatusNumbers adds the numeric metrics.
func (p *proc) addStatusNumbers() {
	p.statusNumber(28, statusThreads, "psinfo.threads", pdu.SemInstant, 0, nil, "Threads of the process")
	p.statusNumber(29, statusVoluntary, "psinfo.vctxsw", pdu.SemInstant, 0, nil, "Times that the process has given up the processor by itself")
	p.statusNumber(30, statusInvoluntary, "psinfo.nvctxsw", pdu.SemInstant, 0, nil, "Times that the processor was taken away from the process")
	p.statusNumber(32, statusNgid, "psinfo.ngid", pdu.SemDiscrete, 0, pdu.ErrAppVersion, "Group of processes that share memory among nodes, 0 for none")
	p.statusNumber(41, statusTgid, "psinfo.tgid", pdu.SemDiscrete, 0, pdu.ErrAppVersion, "ID of the process that a thread belongs to")
	p.statusNumber(42, statusEnvID, "namespaces.envid", pdu.SemDiscrete, 0, pdu.ErrAppVersion, "ID of the OpenVZ container of the process")
}

// addStatusMemory adds the metrics of memory, in KB.
func (p *proc) addStatusMemory() {
	kb := func(item, at int, name, text string) {
		p.statusNumber(item, at, name, pdu.SemInstant, pdu.SpaceKByte, nil, text)
	}
	kb(20, statusVMSize, "memory.vmsize", "Virtual memory of the process")
	kb(21, statusVMLock, "memory.vmlock", "Memory that is locked, and never swapped out")
	kb(22, statusVMRSS, "memory.vmrss", "Main memory that the process has")
	kb(23, statusVMData, "memory.vmdata", "Virtual memory for data")
	kb(24, statusVMStack, "memory.vmstack", "Virtual memory for the stack")
	kb(25, statusVMExe, "memory.vmexe", "Virtual memory of the program's code")
	kb(26, statusVMLib, "memory.vmlib", "Virtual memory of the code of libraries")
	kb(27, statusVMSwap, "memory.vmswap", "Memory of the process that is swapped out")
	kb(33, statusVMPeak, "memory.vmpeak", "Most virtual memory that the process has had")
	kb(34, statusVMPin, "memory.vmpin", "Memory that is pinned: it stays where it is in main memory")
	kb(35, statusVMHWM, "memory.vmhwm", "Most main memory that the process has had")
	kb(36, statusVMPTE, "memory.vmpte", "Memory for the page tables of the process")
	sum := func(item int, name, text string, value func(*status) uint64) {
		addRows(p, statusKind, row[status, uint64]{item, name, pdu.SemInstant, pdu.SpaceKByte, text, func(s *status) (uint64, error) { return value(s), nil }})
	}
	real := func(s *status) uint64 { return s.n[statusVMRSS] + s.n[statusVMSwap] }
	sum(43, "memory.vmreal", "Memory of the process, in main memory or swapped out", real)
	sum(44, "memory.vmnonlib", "Memory of the process but for the code of libraries, in main memory or swapped out",
		func(s *status) uint64 { return real(s) - min(real(s), s.n[statusVMLib]) })
}
