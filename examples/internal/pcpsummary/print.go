package pcpsummary

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/pcp-go/pcp/pdu"
)

// indent precedes the lines of an entry after the first.
const indent = "           "

// text returns the value of a metric without instances, or "".
func (s *summary) text(metric string) string {
	if v := s.values[metric]; len(v) == 1 {
		return v[0].text
	}
	return ""
}

// number returns the value of a metric without instances, which may be a text.
func (s *summary) number(metric string) (n int64, ok bool) {
	v := s.values[metric]
	if len(v) != 1 {
		return 0, false
	}
	n, err := pdu.As[int64](v[0].atom)
	if err != nil {
		n, err = strconv.ParseInt(v[0].text, 10, 64)
	}
	return n, err == nil
}

// megabytes returns the value of a metric without instances in megabytes. The metric is a size.
func (s *summary) megabytes(metric string) (n int64, ok bool) {
	v := s.values[metric]
	if len(v) != 1 {
		return 0, false
	}
	a, err := v[0].atom.ConvertUnits(v[0].unit, pdu.SpaceMByte)
	if err != nil {
		return 0, false
	}
	n, err = pdu.As[int64](a)
	return n, err == nil
}

// print prints the summary.
func (s *summary) print(out io.Writer, engines bool) {
	host := cmp.Or(s.text("pmcd.hostname"), s.host, "unknown host")
	fmt.Fprintf(out, "Performance Co-Pilot configuration on %s:\n\n", host)
	if s.archive != "" {
		fmt.Fprintf(out, "  archive: %s\n", s.archive)
	}
	fmt.Fprintf(out, " platform: %s\n", s.text("pmda.uname"))
	fmt.Fprintf(out, " hardware: %s\n", s.hardware())
	fmt.Fprintf(out, " timezone: %s\n", cmp.Or(s.text("pmcd.timezone"), s.zone, "Unknown"))
	if services := s.text("pmcd.services"); services != "" {
		fmt.Fprintf(out, " services: %s\n", services)
	}
	fmt.Fprintf(out, "     pmcd: %s\n", s.collector())
	if agents := s.agents(); agents != "" {
		printList(out, "     pmda", Fill(agents))
	}
	printList(out, " pmlogger", s.loggers())
	printList(out, "     pmie", s.engines(engines))
}

// hardware returns the line about the hardware. Only the amount of memory has no comma after it.
func (s *summary) hardware() string {
	var parts []string
	for _, p := range []struct{ metric, one string }{{"hinv.ncpu", "cpu"}, {"hinv.ndisk", "disk"}, {"hinv.nnode", "node"},
		{"hinv.nrouter", "router"}, {"hinv.nxbow", "xbow"}, {"hinv.ncell", "cell"}} {
		n, ok := s.number(p.metric)
		if !ok || n == 0 {
			continue
		}
		what := p.one
		if types := s.values["hinv.cputype"]; p.one == "cpu" && len(types) > 0 {
			what = types[0].text + " cpu"
		}
		if n > 1 {
			what += "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s,", n, what))
	}
	if memory, ok := s.megabytes("hinv.physmem"); ok && memory != 0 {
		parts = append(parts, fmt.Sprintf("%dMB RAM", memory))
	}
	return strings.Join(parts, " ")
}

// collector returns the version of pmcd and the number of its agents and clients, without this
// client.
func (s *summary) collector() string {
	version, build := cmp.Or(s.text("pmcd.version"), "unknown"), s.text("pmcd.build")
	if build != "" {
		version += "-" + build
	}
	text := "Version " + version + ","
	if n, ok := s.number("pmcd.numagents"); ok {
		text += fmt.Sprintf(" %d %s,", n, plural("agent", n))
	}
	switch n, ok := s.number("pmcd.numclients"); {
	case !ok:
	case n-1 == 0:
		text = strings.TrimSuffix(text, ",")
	default:
		text += fmt.Sprintf(" %d %s", n-1, plural("client", n-1))
	}
	return text
}

func plural(word string, n int64) string {
	if n == 1 {
		return word
	}
	return word + "s"
}

// agents returns the names of the agents. Those with a problem have their status.
func (s *summary) agents() string {
	var names []string
	for _, v := range s.values["pmcd.agent.status"] {
		name := v.name
		if v.text != "0" {
			name += "[" + v.text + "]"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

// A program is a logger or an inference engine.
type program struct {
	inst       pdu.InstID
	host, file string // that it works for, and its archive or log
}

// programs returns the programs that have values of the metrics hosts and files. The primary one
// has two instances, and the instance 0 is left out.
func (s *summary) programs(hosts, files string) (list []program, primary string) {
	primary = "0" // which PCP's command has for none
	for _, f := range s.values[files] {
		if f.inst == 0 {
			primary = f.text
			continue
		}
		for _, h := range s.values[hosts] {
			if h.inst == f.inst {
				list = append(list, program{f.inst, h.text, f.text})
			}
		}
	}
	slices.SortFunc(list, func(a, b program) int { return cmp.Or(cmp.Compare(a.host, b.host), cmp.Compare(a.file, b.file)) })
	return list, primary
}

// loggers returns the sorted lines about loggers.
func (s *summary) loggers() (lines []string) {
	list, primary := s.programs("pmcd.pmlogger.pmcd_host", "pmcd.pmlogger.archive")
	for _, p := range list {
		if p.file == primary {
			lines = append(lines, "primary logger: "+p.file)
		} else {
			lines = append(lines, p.host+": "+p.file)
		}
	}
	slices.Sort(lines)
	return lines
}

// engines returns the lines about inference engines. With whole they include what the engines have
// evaluated.
func (s *summary) engines(whole bool) (lines []string) {
	list, primary := s.programs("pmcd.pmie.pmcd_host", "pmcd.pmie.logfile")
	for _, p := range list {
		who, file := p.host, p.file
		if p.file == primary {
			who = "primary engine"
		}
		config, ok := s.of("pmcd.pmie.configfile", p.inst)
		if !whole || !ok {
			lines = append(lines, who+": "+file)
			continue
		}
		of := func(metric string) string {
			v, _ := s.of(metric, p.inst)
			return v.text
		}
		lines = append(lines, Fill(fmt.Sprintf("%s: %s (%s rules)", who, config.text, of("pmcd.pmie.numrules")))...)
		expected, _ := s.of("pmcd.pmie.eval.expected", p.inst)
		rate, _ := pdu.As[float64](expected.atom)
		lines = append(lines,
			fmt.Sprintf("evaluations true=%s false=%s unknown=%s (actions=%s)", of("pmcd.pmie.eval.true"), of("pmcd.pmie.eval.false"),
				of("pmcd.pmie.eval.unknown"), of("pmcd.pmie.actions")),
			fmt.Sprintf("expected evaluation rate=%.2f rules/sec", rate))
	}
	return lines
}

// of returns the value of an instance.
func (s *summary) of(metric string, inst pdu.InstID) (v value, ok bool) {
	for _, v := range s.values[metric] {
		if v.inst == inst {
			return v, true
		}
	}
	return value{}, false
}

// printList prints lines after a title. Without lines it prints nothing.
func printList(out io.Writer, title string, lines []string) {
	if len(lines) > 0 {
		fmt.Fprintf(out, "%s: %s\n", title, strings.Join(lines, "\n"+indent))
	}
}
