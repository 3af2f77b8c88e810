package pmdaproc

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// ttyNames caches the names of terminals.
type ttyNames struct {
	once    sync.Once
	drivers []ttyDriver

	mu    sync.Mutex
	names map[uint64]string // by device number
}

// A ttyDriver is a line of /proc/tty/drivers.
type ttyDriver struct {
	path     string // without /dev/
	major    uint32
	from, to uint32 // the minor numbers
	single   bool   // only one terminal, named path
}

// maxTTYs is the maximum number of cached names.
const maxTTYs = 4096

// name returns the name of the terminal with a device number, such as pts/3, or ? if it is unknown.
func (n *ttyNames) name(p *proc, device uint64) string {
	if device == 0 {
		return "?"
	}
	n.once.Do(func() {
		text, _ := readLimited(p.path("proc/tty/drivers"), maxFile)
		n.drivers = parseDrivers(text)
	})
	n.mu.Lock()
	defer n.mu.Unlock()
	name, ok := n.names[device]
	if !ok {
		if n.names == nil || len(n.names) >= maxTTYs {
			n.names = map[uint64]string{}
		}
		name = n.find(uint32(device))
		n.names[device] = name
	}
	return name
}

// find returns the name of the device. Bits 8 to 19 of its number are the major number, the others
// the minor number.
func (n *ttyNames) find(device uint32) string {
	major, minor := device>>8&0xfff, device&0xff|device>>12&0xfff00
	at := slices.IndexFunc(n.drivers, func(d ttyDriver) bool { return d.major == major })
	if at >= 0 {
		d := n.drivers[at]
		switch {
		case d.single && minor == d.from:
			return d.path
		case !d.single && d.from <= minor && minor <= d.to:
			return d.path + "/" + strconv.FormatUint(uint64(minor), 10)
		}
	}
	for _, dir := range []string{"/dev/pts", "/dev"} {
		if name := findDevice(dir, major, minor); name != "" {
			return strings.TrimPrefix(name, "/dev/")
		}
	}
	return "?"
}

// parseDrivers parses /proc/tty/drivers.
func parseDrivers(text []byte) (drivers []ttyDriver) {
	for line := range procfile.Lines(text) {
		_, rest := procfile.CutField(line) // the name of the driver
		path, rest := procfile.CutField(rest)
		major, rest := procfile.CutField(rest)
		minors, _ := procfile.CutField(rest)
		d := ttyDriver{path: strings.TrimPrefix(string(path), "/dev/")}
		from, to, isRange := bytes.Cut(minors, []byte("-"))
		var ok [3]bool
		d.major, ok[0] = procfile.ParseUint32(major)
		d.from, ok[1] = procfile.ParseUint32(from)
		d.to, ok[2], d.single = d.from, true, !isRange
		if isRange {
			d.to, ok[2] = procfile.ParseUint32(to)
		}
		if ok == [3]bool{true, true, true} {
			drivers = append(drivers, d)
		}
	}
	return drivers
}

// findDevice finds a character device in a directory.
func findDevice(dir string, major, minor uint32) string {
	list, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range list {
		if e.Type()&os.ModeCharDevice == 0 {
			continue
		}
		path := filepath.Join(dir, e.Name())
		if isDevice(path, major, minor) {
			return path
		}
	}
	return ""
}
