package pmdalinux

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A kernelName is the name of a kernel, machine or host. It allocates only when it changes.
type kernelName string

// maxKernelName is above the maximum length of names of kernels and machines.
const maxKernelName = 256

// parse sets the name to the only line of a file.
func (n *kernelName) parse(text []byte) error {
	line, ok := procfile.OnlyLine(text)
	if !ok {
		return errors.New("/proc/sys/kernel: not one line")
	}
	return n.set(line)
}

// set sets the name.
func (n *kernelName) set(name []byte) error {
	if len(name) > maxKernelName || bytes.IndexByte(name, 0) >= 0 {
		return errors.New("/proc/sys/kernel: not a name")
	}
	if string(*n) != string(name) {
		*n = kernelName(name)
	}
	return nil
}

// value is the Value of a metric.
func (n *kernelName) value(context.Context, *pmda.Request, pdu.Instance) (string, error) {
	return string(*n), nil
}

// pcpVersion is the release of PCP whose agent has the same metrics.
const pcpVersion = build.PCP

// kernelNames are the names of unameMetrics, in their order.
type kernelNames [5]kernelName

// unameMetrics are the metrics of the fields of uname(2) in the order of uname -a, with the files
// below /proc/sys/kernel. Kernels have a file for the architecture only since 6.1.
var unameMetrics = [len(kernelNames{})]struct {
	name, file string
	item       int
	text       string
}{
	{"kernel.uname.sysname", "ostype", 2, "Name of the operating system: Linux"},
	{"kernel.uname.nodename", "hostname", 4, "Name of this host"},
	{"kernel.uname.release", "osrelease", 0, "Release of the kernel, such as 6.1.0-28-amd64"},
	{"kernel.uname.version", "version", 1, "Which build of the release the kernel is, and when it was made"},
	{"kernel.uname.machine", "arch", 3, "Architecture that the kernel was built for, such as x86_64"},
}

// machineName is the index of the architecture in kernelNames.
const machineName = len(kernelNames{}) - 1

// addNames adds the names of the kernel, the machine and the distribution.
func (l *linux) addNames() {
	l.addUnames()
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "pmda.version", ID: pmda.Item(12, 6), Sem: pdu.SemDiscrete,
		Text:  "Release of PCP whose Linux agent has the same metrics",
		Value: func(context.Context, *pmda.Request, pdu.Instance) (string, error) { return pcpVersion, nil },
	})
	d := distribution{l: l}
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "kernel.uname.distro", ID: pmda.Item(12, 7), Group: l.Group(nil), Sem: pdu.SemDiscrete,
		Text:  "Name and release of the distribution of Linux, from a file in /etc",
		Value: d.value,
	})
}

// addUnames adds the fields of uname(2). The host name of a container differs from the machine's.
func (l *linux) addUnames() {
	names, groups := new(kernelNames), [len(kernelNames{})]*pmda.Group{}
	if l.isMachine() || l.view != nil && l.view.host.isMachine() {
		l.addUname(names, &groups)
	} else {
		l.addUnameFiles(names, &groups)
	}
	for i, m := range unameMetrics {
		pmda.Register(l.Agent, pmda.Metric[string]{
			Name: m.name, ID: pmda.Item(12, m.item), Group: groups[i], Sem: pdu.SemDiscrete, Text: m.text, Value: names[i].value,
		})
	}
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "hinv.machine", ID: pmda.Item(18, 7), Group: groups[machineName], Sem: pdu.SemDiscrete,
		Text:  "Architecture of the machine, the same as kernel.uname.machine",
		Value: names[machineName].value,
	})
}

// addUname makes the group that reads the names of this machine with uname(2).
func (l *linux) addUname(names *kernelNames, groups *[len(kernelNames{})]*pmda.Group) {
	uname, all := newUname(), new(joined)
	read := func() error { return uname(names) }
	g := l.Group(func(context.Context, *pmda.Request) error {
		if l.view == nil {
			if err := read(); err != nil {
				return err
			}
		} else if err := l.view.inNamespace("uts", read); err != nil {
			return err
		}
		all.join(names)
		return nil
	})
	for i := range groups {
		groups[i] = g
	}
	l.addJoined(all, g)
}

// addUnameFiles makes the groups that read the names of another machine from its files.
func (l *linux) addUnameFiles(names *kernelNames, groups *[len(kernelNames{})]*pmda.Group) {
	var files [len(kernelNames{})]*procfile.File
	for i, m := range unameMetrics {
		file := "proc/sys/kernel/" + m.file
		groups[i], files[i] = l.fileGroup(file, names[i].parse), l.file(file)
	}
	own, all := new(kernelNames), new(joined)
	l.addJoined(all, l.Group(func(context.Context, *pmda.Request) error {
		for i, f := range files {
			text, err := f.Read()
			if err != nil {
				return absent(err)
			}
			if err := own[i].parse(text); err != nil {
				return err
			}
		}
		all.join(own)
		return nil
	}))
}

// joined is the joined names, separated by blanks.
type joined struct {
	text string
	b    []byte
}

func (j *joined) join(names *kernelNames) {
	j.b = j.b[:0]
	for i, name := range names {
		if i > 0 {
			j.b = append(j.b, ' ')
		}
		j.b = append(j.b, name...)
	}
	if j.text != string(j.b) {
		j.text = string(j.b)
	}
}

// addJoined adds the metric of the output of uname -a, which g sets.
func (l *linux) addJoined(j *joined, g *pmda.Group) {
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "pmda.uname", ID: pmda.Item(12, 5), Sem: pdu.SemDiscrete, Group: g,
		Text:  "Names of the system, this host, the kernel and the architecture, as uname -a shows them",
		Value: valueOf(&j.text),
	})
}

// A distribution is the name of the Linux distribution in the files in /etc. They are read again
// after recheckAfter.
type distribution struct {
	l    *linux
	name string    // "" for none
	read time.Time // when the files were read last
}

// value is the Value of the metric.
func (d *distribution) value(context.Context, *pmda.Request, pdu.Instance) (string, error) {
	if now := time.Now(); now.Sub(d.read) >= recheckAfter {
		d.name, d.read = d.find(), now
	}
	if d.name == "" {
		return "", pdu.ErrAppVersion
	}
	return d.name, nil
}

// find returns the first line of the first file that has one.
func (d *distribution) find() string {
	for _, file := range []string{
		"debian_version", "oracle-release", "fedora-release", "redhat-release",
		"slackware-version", "SuSE-release", "lsb-release", "amazon-linux-release", "os-release",
	} {
		text := fileStart(d.l.path("etc/" + file))
		line, _, _ := bytes.Cut(text, []byte("\n"))
		switch file {
		case "lsb-release":
			line = bytes.TrimPrefix(line, []byte("DISTRIB_ID = "))
			line = bytes.TrimPrefix(line, []byte("DISTRIB_ID="))
		case "os-release": // almost every distribution has this file
			_, line, _ = bytes.Cut(append([]byte("\n"), text...), []byte("\nPRETTY_NAME="))
			line, _, _ = bytes.Cut(line, []byte("\n"))
			line = bytes.Trim(line, `"'`)
		}
		switch {
		case len(line) == 0 || len(line) > maxKernelName || bytes.IndexByte(line, 0) >= 0:
		case file == "debian_version":
			return "Debian " + string(line) // the file has only the number
		default:
			return string(line)
		}
	}
	return ""
}

// fileStart returns the start of a file, nil if it cannot be read.
func fileStart(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*maxKernelName))
	if err != nil {
		return nil
	}
	return text
}
