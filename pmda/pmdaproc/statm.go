package pmdaproc

import (
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A numberLine has the numbers of a file with one line. Missing numbers are 0.
type numberLine [7]uint64

// numberFile makes the kind of such a file.
func numberFile(index int, c clusters, name string) *kind[numberLine] {
	return &kind[numberLine]{index, c, func(t *table, p *process, to *numberLine) error {
		text, err := t.files.readKept(p.id, index, name)
		if err != nil {
			return err
		}
		if len(text) == 0 {
			return pdu.ErrValue
		}
		to.parse(text)
		return nil
	}}
}

// parse parses the first line of a text.
func (n *numberLine) parse(text []byte) {
	clear(n[:])
	line, _, _ := procfile.CutLine(text)
	procfile.CutUints(line, n[:])
}

// number makes the Value of a metric of a number in the line.
func number(at int) func(*numberLine) (uint64, error) {
	return func(n *numberLine) (uint64, error) { return n[at], nil }
}

var statmKind = numberFile(statmFile, clusters{9, 53}, "statm")

// addStatm adds the metrics of the file statm and that of maps in its clusters.
func (p *proc) addStatm() {
	for i, m := range []struct{ name, text string }{
		{"memory.size", "Virtual memory of the process"},
		{"memory.rss", "Main memory that the process has"},
		{"memory.share", "Main memory of the process that files or other processes have too"},
		{"memory.textrss", "Memory of the program's code"},
		{"memory.librss", "Memory of libraries, 0 on kernels since 2.6"},
		{"memory.datrss", "Memory for data and the stack"},
		{"memory.dirty", "Memory that was changed, 0 on kernels since 2.6"},
	} {
		addRows(p, statmKind, row[numberLine, uint32]{i, m.name, pdu.SemInstant, pdu.SpaceKByte, m.text,
			func(n *numberLine) (uint32, error) { return uint32(p.pages(n[i])), nil }})
	}
	addProcessMetric(p, statmKind.clusters, 7, pmda.Metric[string]{Name: "memory.maps", Text: "Mappings of memory, a line for each",
		Help: "It is empty if the client may not see it."},
		func(t *table, p *process) (string, error) {
			text, err := t.files.readAll(p.id, "maps")
			if err != nil || len(text) == 0 {
				return "", nil
			}
			return borrowed(text[:len(text)-1]), nil
		})
}

var schedstatKind = numberFile(schedstatFile, clusters{31, 57}, "schedstat")

// addSchedstat adds the metrics of the file schedstat.
func (p *proc) addSchedstat() {
	addRows(p, schedstatKind,
		row[numberLine, uint64]{0, "schedstat.cpu_time", pdu.SemCounter, pdu.TimeNSec, "Time that the process has run", number(0)},
		row[numberLine, uint64]{1, "schedstat.run_delay", pdu.SemCounter, pdu.TimeNSec, "Time that the process has waited for a processor", number(1)},
		row[numberLine, uint64]{2, "schedstat.pcount", pdu.SemCounter, pdu.UnitCount, "Times that the process was given a processor", number(2)})
}

var oomKind = numberFile(oomFile, clusters{62, 63}, "oom_score")

// addOOM adds the metric of the file oom_score.
func (p *proc) addOOM() {
	addRows(p, oomKind, row[numberLine, uint32]{0, "psinfo.oom_score", pdu.SemInstant, 0, "How likely the process is to be killed when memory is short",
		func(n *numberLine) (uint32, error) { return uint32(n[0]), nil }})
}
