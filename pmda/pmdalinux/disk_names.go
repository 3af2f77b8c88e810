package pmdalinux

import (
	"bytes"
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/pcp-go/pcp/internal/scan"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// arrayLinks are the names of arrays, which are the names of the links to them in /dev/md. The
// directory is read for a new array, and again after recheckAfter.
type arrayLinks struct {
	dir   string
	names map[string][]byte // by the name that the kernel gives
	next  time.Time         // when to read the directory again
}

// startReading discards expired names.
func (a *arrayLinks) startReading() {
	if time.Now().After(a.next) {
		clear(a.names)
	}
}

// name returns the name of an array.
func (a *arrayLinks) name(kernel []byte) []byte {
	name, ok := a.names[string(kernel)]
	if !ok {
		a.readDirectory()
		if name, ok = a.names[string(kernel)]; !ok {
			name = bytes.Clone(kernel)
			a.names[string(kernel)] = name
		}
	}
	return name
}

// readDirectory reads the directory. It leaves out names that begin with a digit because they are
// only the number of the array.
func (a *arrayLinks) readDirectory() {
	a.next = time.Now().Add(recheckAfter)
	if a.names == nil {
		a.names = map[string][]byte{}
	}
	f, err := os.Open(a.dir)
	if err != nil {
		return
	}
	defer f.Close()
	list, _ := f.Readdirnames(maxEntries)
	for _, name := range list {
		if scan.IsDigit(name[0]) || !validName([]byte(name)) {
			continue
		}
		target, err := os.Readlink(filepath.Join(a.dir, name))
		if kernel := filepath.Base(target); err == nil && a.names[kernel] == nil {
			a.names[kernel] = []byte(name)
		}
	}
}

// maxEntries is the maximum number of directory entries that are read.
const maxEntries = 4096

// addNames adds the metrics of devices' other names and of their schedulers.
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
			Values: rowValues(r, func(d *disk) (string, bool) { return d.kernel, true }),
		})
	}
	r := &d.class[wholeDisk]
	ids := deviceFilesOf(d.l, r, parseWWID, blockDir, wwidNames...)
	pmda.Register(d.l.Agent, pmda.Metric[string]{
		Name: "hinv.map.scsi_id", ID: pmda.Item(0, 103), InDom: r.indom, Sem: pdu.SemDiscrete,
		Text: "The world-wide identifier of each disk, unknown where there is none",
		Help: "It is the one that udev and the device mapper's multipath take: a digit for the kind of the identifier,\nand the identifier.",
		Values: valuesByName(r, func(disk string) (string, bool) {
			id, ok := wwidOf(ids, disk)
			return cmp.Or(id, unknown), ok
		}),
	})
	schedulers := deviceFilesOf(d.l, r, parseScheduler, blockDir, schedulerName)
	pmda.Register(d.l.Agent, pmda.Metric[string]{
		Name: "disk.dev.scheduler", ID: pmda.Item(0, 59), InDom: r.indom, Sem: pdu.SemDiscrete,
		Text:   "What decides on the order of each disk's requests, unknown where nothing does",
		Values: valuesByName(r, func(disk string) (string, bool) { return schedulerOf(schedulers, disk) }),
	})
}

// blockDir has a directory for each block device.
const blockDir = "sys/block"

// unknown is the value of a text that a device lacks.
const unknown = "unknown"

const schedulerName = "queue/scheduler"

// parseScheduler finds the scheduler in brackets, as in "none [mq-deadline] kyber".
func parseScheduler(text []byte, name *string) bool {
	line, ok := procfile.OnlyLine(text)
	_, rest, _ := bytes.Cut(line, []byte("["))
	field, _, closed := bytes.Cut(rest, []byte("]"))
	if !closed || !validName(field) {
		*name = unknown
	} else if *name != string(field) {
		*name = string(field)
	}
	return ok
}

// schedulerOf returns the scheduler of a disk.
func schedulerOf(files *deviceFiles[string], disk string) (name string, ok bool) {
	f := files.get(disk)
	if f.absent {
		return unknown, true
	}
	return f.v, f.ok
}

// A wwid is the world-wide identifier of a disk. It is empty for a disk without one.
type wwid struct {
	text string // the text of the file
	name string // the identifier in it
}

var wwidNames = []string{"device/wwid", "wwid"}

// wwidOf returns the identifier of a disk, empty if the disk has no identifier, and not ok if its
// file cannot be read.
func wwidOf(files *deviceFiles[wwid], disk string) (name string, ok bool) {
	f := files.get(disk)
	switch {
	case f.absent, f.ok && f.v.name == unknown:
		return "", true
	case !f.ok:
		return "", false
	}
	return f.v.name, true
}

// parseWWID converts an identifier such as naa.5000c500 to one such as 35000c500.
func parseWWID(text []byte, w *wwid) bool {
	if len(text) == 0 || len(text) == 1 && text[0] == '\n' {
		*w = wwid{}
		return true
	}
	before := w.text
	if !parseName(text, &w.text) {
		return false
	}
	if w.text == before {
		return true
	}
	w.name = w.text
	for digit, kind := range []string{1: "t10.", 2: "eui.", 3: "naa."} {
		if rest, is := strings.CutPrefix(w.text, kind); kind != "" && is {
			w.name = strconv.Itoa(digit) + rest
		}
	}
	return true
}
