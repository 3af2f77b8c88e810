package pmdalinux

import (
	"bytes"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// mappedNames are the names of the devices dm-0 and so on, in the order of
// /proc/diskstats. They are looked at each time: the next device of a number may
// be another.
type mappedNames struct {
	list []mappedName
	n    int
}

type mappedName struct {
	kernel string
	file   attribute
}

func (m *mappedNames) begin() { m.n = 0 }

// name is the name of the next device, false if there is none.
func (m *mappedNames) name(l *linux, kernel []byte) ([]byte, bool) {
	if m.n == len(m.list) {
		m.list = append(m.list, mappedName{})
	}
	d := &m.list[m.n]
	m.n++
	if d.kernel != string(kernel) {
		d.file.close()
		*d = mappedName{kernel: string(kernel)}
	}
	name, _ := d.file.line(l, d.kernel, "dm/name")
	return name, goodName(name)
}

// arrayLinks are the names of arrays: those of the links to them in a directory.
// They are looked up when an array has come, and now and then.
type arrayLinks struct {
	dir   string
	names map[string][]byte // by the name that the kernel gives
	next  time.Time
}

// lookAgain is how long what is looked up now and then may be old.
const lookAgain = 10 * time.Second

func (a *arrayLinks) begin() {
	if time.Now().After(a.next) {
		clear(a.names)
	}
}

// name is the name of an array.
func (a *arrayLinks) name(kernel []byte) []byte {
	name, ok := a.names[string(kernel)]
	if !ok {
		a.look()
		if name, ok = a.names[string(kernel)]; !ok {
			name = bytes.Clone(kernel)
			a.names[string(kernel)] = name
		}
	}
	return name
}

// look reads the directory. Names that begin with a digit say no more than the
// number does.
func (a *arrayLinks) look() {
	a.next = time.Now().Add(lookAgain)
	if a.names == nil {
		a.names = map[string][]byte{}
	}
	f, err := os.Open(a.dir)
	if err != nil {
		return
	}
	defer f.Close()
	list, _ := f.Readdirnames(maxLinks)
	for _, name := range list {
		if isDigit(name[0]) || !goodName([]byte(name)) {
			continue
		}
		target, err := os.Readlink(filepath.Join(a.dir, name))
		if kernel := filepath.Base(target); err == nil && a.names[kernel] == nil {
			a.names[kernel] = []byte(name)
		}
	}
}

// maxLinks is how many arrays are looked for.
const maxLinks = 4096

// addNames adds what else the devices are known as.
func (d *disks) addNames() {
	for _, m := range []struct {
		class      diskClass
		name, text string
		cluster    int
	}{
		{mapped, "hinv.map.dmname", "The name dm-N that the kernel gives a device of the device mapper", 54},
		{array, "hinv.map.mdname", "The name mdN that the kernel gives an array", 59},
	} {
		r := &d.class[m.class]
		pmda.Register(d.l.Agent, pmda.Metric[string]{
			Name: m.name, ID: pmda.Item(m.cluster, 13), InDom: r.indom, Sem: pdu.SemDiscrete, Text: m.text,
			Values: column(r, func(d *disk) (string, bool) { return d.kernel, true }),
		})
	}
	r := &d.class[wholeDisk]
	pmda.Register(d.l.Agent, pmda.Metric[string]{
		Name: "hinv.map.scsi_id", ID: pmda.Item(0, 103), InDom: r.indom, Sem: pdu.SemDiscrete,
		Text: "The world-wide identifier of each disk, unknown where there is none",
		Help: "It is the one that udev and the device mapper's multipath take: a digit for the kind of the identifier,\nand the identifier.",
		Values: column(r, func(k *disk) (string, bool) {
			id, ok := k.wwid.id(d.l, k.kernel)
			if id == "" {
				id = unknown
			}
			return id, ok
		}),
	})
}

// unknown is the value of what a device does not have.
const unknown = "unknown"

// addScheduler adds the schedulers of disks.
func (d *disks) addScheduler() {
	r := &d.class[wholeDisk]
	pmda.Register(d.l.Agent, pmda.Metric[string]{
		Name: "disk.dev.scheduler", ID: pmda.Item(0, 59), InDom: r.indom, Sem: pdu.SemDiscrete,
		Text:   "What decides on the order of each disk's requests, unknown where nothing does",
		Values: column(r, func(k *disk) (string, bool) { return k.scheduler.name(d.l, k.kernel) }),
	})
}

// A scheduler is what queue/scheduler says last.
type scheduler struct {
	file attribute
	last string
}

// name is the one in brackets, as in "none [mq-deadline] kyber".
func (s *scheduler) name(l *linux, kernel string) (name string, ok bool) {
	line, exists := s.file.line(l, kernel, "queue/scheduler")
	if !exists {
		return unknown, true
	}
	if line == nil {
		return "", false
	}
	_, rest, _ := bytes.Cut(line, []byte("["))
	field, _, closed := bytes.Cut(rest, []byte("]"))
	if !closed || !goodName(field) {
		return unknown, true
	}
	if s.last != string(field) {
		s.last = string(field)
	}
	return s.last, true
}

// A wwid is a world-wide identifier.
type wwid struct {
	file attribute
	text string // of the file, last
	name string // what that means
}

// id is the identifier, empty if the disk has none, not ok if it cannot be read.
func (w *wwid) id(l *linux, kernel string) (name string, ok bool) {
	line, exists := w.file.line(l, kernel, "device/wwid", "wwid")
	if !exists {
		return "", true
	}
	if !goodName(line) {
		return "", line != nil && len(line) == 0 // an empty one says that there is none
	}
	if w.text != string(line) {
		w.text = string(line)
		w.name = w.text
		for digit, kind := range []string{1: "t10.", 2: "eui.", 3: "naa."} {
			if rest, is := bytes.CutPrefix(line, []byte(kind)); kind != "" && is {
				w.name = string(rune('0'+digit)) + string(rest)
			}
		}
	}
	return w.name, true
}
