package pmdaproc

import (
	"bytes"
	"context"
	"errors"
	"syscall"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addDescriptors adds the number of open files, which is the number of entries of a directory.
func (p *proc) addDescriptors() {
	k := &kind[uint32]{fdFile, clusters{51, 59}, func(t *table, p *process, to *uint32) error {
		n, err := t.files.countEntries(p.id, "fd")
		*to = uint32(n)
		return err
	}}
	addRows(p, k, row[uint32, uint32]{0, "fd.count", pdu.SemInstant, pdu.UnitCount, "Files that the process has open",
		func(n *uint32) (uint32, error) { return *n, nil }})
}

// addLinks adds the targets of links. They are empty if the client may not see them.
func (p *proc) addLinks() {
	link := func(index int, c clusters, name, file, text string) {
		k := &kind[string]{index, c, func(t *table, p *process, to *string) error {
			target, _ := t.files.link(p.id, file)
			setString(to, target)
			return nil
		}}
		addProcessMetric(p, c, 0, pmda.Metric[string]{Name: name, Sem: pdu.SemDiscrete, Text: text, Help: "It is empty if the client may not see it."},
			func(t *table, p *process) (string, error) {
				target, err := k.of(t, p)
				return *target, err
			})
	}
	link(exeLink, clusters{69, 71}, "psinfo.exe", "exe", "Path of the program that the process executes")
	link(cwdLink, clusters{72, 73}, "psinfo.cwd", "cwd", "Current directory of the process")
}

// addSecurityLabel adds the label that a security module has given a process.
func (p *proc) addSecurityLabel() {
	addProcessMetric(p, clusters{12, 55}, 0, pmda.Metric[string]{Name: "psinfo.labels", Text: "Label of a security module such as SELinux"},
		func(t *table, p *process) (string, error) {
			if t.unlabelled == t.n {
				return "", pmda.NoValue
			}
			text, err := t.files.readOnce(p.id, "attr/current")
			if errors.Is(err, syscall.EINVAL) { // the kernel has no security module that labels processes
				t.unlabelled = t.n
			}
			if err != nil {
				return "", valueError(err)
			}
			if len(text) == 0 {
				return "", pdu.ErrValue
			}
			return string(text[:len(text)-1]), nil
		})
}

// An autogroup is a line such as "/autogroup-12 nice 5".
type autogroup struct {
	id   uint32
	nice int32
}

// addAutogroup adds the metrics of autogroups, the scheduling groups of sessions.
func (p *proc) addAutogroup() {
	c := clusters{74, 75}
	for _, t := range []*table{p.processes, p.hot} {
		cluster := c.all
		if t == p.hot {
			cluster = c.hot
		}
		pmda.Register(p.Agent, pmda.Metric[uint32]{Name: t.prefix + "autogroup.enabled", ID: pmda.Item(cluster, 0), Group: t.group,
			Text: "Whether sessions are scheduled as groups",
			Value: func(context.Context, *pmda.Request, pdu.Instance) (uint32, error) {
				if !t.view.access {
					return 0, pdu.ErrPermission
				}
				return truth(p.hasAutogroups(t)), nil
			}})
	}
	k := &kind[autogroup]{autogroupFile, c, func(t *table, at *process, to *autogroup) error {
		if !p.hasAutogroups(t) {
			return pmda.NoValue
		}
		text, err := t.files.readOnce(at.id, "autogroup")
		if err == nil {
			to.parse(text)
		}
		return err
	}}
	addRows(p, k, row[autogroup, uint32]{1, "autogroup.id", pdu.SemDiscrete, 0, "Number of the group that the process is scheduled with",
		func(a *autogroup) (uint32, error) { return a.id, nil }})
	addRows(p, k, row[autogroup, int32]{2, "autogroup.nice", pdu.SemInstant, 0, "Nice value of the group that the process is scheduled with",
		func(a *autogroup) (int32, error) { return a.nice, nil }})
}

// hasAutogroups reports whether the kernel has autogroups, as found in this reading.
func (p *proc) hasAutogroups(t *table) bool {
	if t.autogroups.reading != t.n {
		text, err := readLimited(p.path("proc/sys/kernel/sched_autogroup_enabled"), 16)
		t.autogroups.reading, t.autogroups.on = t.n, err == nil && string(bytes.TrimSpace(text)) == "1"
	}
	return t.autogroups.on
}

// parse parses the line. For an empty line the values are 0.
func (a *autogroup) parse(text []byte) {
	*a = autogroup{}
	line, _, _ := procfile.CutLine(text)
	name, rest := procfile.CutField(line)
	_, number, _ := bytes.Cut(name, []byte("-"))
	id, _ := procfile.ParseUint32(number)
	_, rest = procfile.CutField(rest)
	nice, _ := procfile.CutField(rest)
	a.id, a.nice = id, int32(parseSigned(nice))
}
