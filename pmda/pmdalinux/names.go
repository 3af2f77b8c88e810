package pmdalinux

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A kernelName is a name that is read again and again, and seldom another.
type kernelName string

// maxKernelName is more than names of kernels and machines can have.
const maxKernelName = 256

// parse takes the only line of a file.
func (n *kernelName) parse(text []byte) error {
	line, ok := onlyLine(text)
	if !ok {
		return errors.New("/proc/sys/kernel: not one line")
	}
	return n.set(line)
}

// set takes a name.
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

// pcpVersion is the release of PCP whose agent this one stands in for.
const pcpVersion = "6.0.3"

// addNames adds the names of the kernel, the machine and the distribution.
func (l *linux) addNames() {
	name := func(metric string, id pmda.ItemID, g *pmda.Group, n *kernelName, text string) {
		pmda.Register(l.Agent, pmda.Metric[string]{
			Name: metric, ID: id, Group: g, Sem: pdu.SemDiscrete, Text: text, Value: n.value,
		})
	}
	for _, m := range []struct {
		name, file string
		item       int
		text       string
	}{
		{"release", "osrelease", 0, "Release of the kernel, such as 6.1.0-28-amd64"},
		{"version", "version", 1, "Which build of the release the kernel is, and when it was made"},
		{"sysname", "ostype", 2, "Name of the operating system: Linux"},
		{"nodename", "hostname", 4, "Name of this host"},
	} {
		n := new(kernelName)
		name("kernel.uname."+m.name, pmda.Item(12, m.item), l.source("proc/sys/kernel/"+m.file, n.parse), n, m.text)
	}
	machine := new(kernelName)
	read := l.machine(machine)
	g := l.Group(func(context.Context, *pmda.Request) error { return read() })
	name("kernel.uname.machine", pmda.Item(12, 3), g, machine, "Architecture that the kernel was built for, such as x86_64")
	name("hinv.machine", pmda.Item(18, 7), g, machine, "Architecture of the machine, the same as kernel.uname.machine")

	l.addWholeName()
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

// machine reads the architecture. Kernels have a file of it only since 6.1, but all
// tell it of the machine that they run on.
func (l *linux) machine(n *kernelName) (read func() error) {
	if l.root != "/" {
		return n.reader(l.path("proc/sys/kernel/arch"))
	}
	machine := newMachine()
	return func() error {
		name, err := machine()
		if err != nil {
			return err
		}
		return n.set(name)
	}
}

// reader reads the name from a file.
func (n *kernelName) reader(path string) (read func() error) {
	f := file{path: path}
	return func() error {
		text, err := f.read()
		if err != nil {
			return absent(err)
		}
		return n.parse(text)
	}
}

// addWholeName adds what uname -a shows.
func (l *linux) addWholeName() {
	var names [5]kernelName
	var readers [len(names)]func() error
	for i, f := range []string{"ostype", "hostname", "osrelease", "version"} {
		readers[i] = names[i].reader(l.path("proc/sys/kernel/" + f))
	}
	readers[4] = l.machine(&names[4])
	var whole string
	var b []byte
	pmda.Register(l.Agent, pmda.Metric[string]{
		Name: "pmda.uname", ID: pmda.Item(12, 5), Sem: pdu.SemDiscrete,
		Text: "Names of the system, this host, the kernel and the architecture, as uname -a shows them",
		Group: l.Group(func(context.Context, *pmda.Request) error {
			b = b[:0]
			for i, read := range readers {
				if err := read(); err != nil {
					return err
				}
				if i > 0 {
					b = append(b, ' ')
				}
				b = append(b, names[i]...)
			}
			if whole != string(b) {
				whole = string(b)
			}
			return nil
		}),
		Value: single(&whole),
	})
}

// A distribution is what the files in /etc name it. It is another only after an
// upgrade, so that a look once in a while is enough.
type distribution struct {
	l      *linux
	name   string // "" for none
	looked time.Time
}

// value is the Value of the metric.
func (d *distribution) value(context.Context, *pmda.Request, pdu.Instance) (string, error) {
	if now := time.Now(); now.Sub(d.looked) >= lookAgain {
		d.name, d.looked = d.find(), now
	}
	if d.name == "" {
		return "", pdu.ErrAppVersion
	}
	return d.name, nil
}

// find is the first line of the first file that has one.
func (d *distribution) find() string {
	for _, file := range []string{
		"debian_version", "oracle-release", "fedora-release", "redhat-release",
		"slackware-version", "SuSE-release", "lsb-release",
	} {
		line := firstLine(d.l.path("etc/" + file))
		if file == "lsb-release" {
			line = bytes.TrimPrefix(line, []byte("DISTRIB_ID = "))
			line = bytes.TrimPrefix(line, []byte("DISTRIB_ID="))
		}
		switch {
		case len(line) == 0 || len(line) > maxKernelName || bytes.IndexByte(line, 0) >= 0:
		case file == "debian_version":
			return "Debian " + string(line) // which has the number only
		default:
			return string(line)
		}
	}
	return ""
}

// firstLine is the first line of a file, none if it cannot be read.
func firstLine(path string) []byte {
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, 2*maxKernelName))
	if err != nil {
		return nil
	}
	line, _ := cutLine(text)
	return line
}
