package pmdalinux

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// A sysFile is a file of a device below /sys. It stays open, so that reading it
// allocates nothing.
type sysFile struct {
	path   string
	f      *os.File
	absent bool      // there is no such file
	tried  time.Time // to open it
}

// maxSysFile is how long such files are at most: a page.
const maxSysFile = 4096

// sysFileAgain is how long a file that is not there is left alone. Most of those
// never come; a driver that is loaded brings others.
const sysFileAgain = 10 * time.Second

// read reads the file into a buffer of maxSysFile bytes. It is not ok if the file
// is not there or tells nothing now.
func (s *sysFile) read(buf []byte) (text []byte, ok bool) {
	if s.f == nil {
		now := time.Now()
		if now.Sub(s.tried) < sysFileAgain {
			return nil, false
		}
		s.tried = now
		f, err := os.Open(s.path)
		s.absent = errors.Is(err, fs.ErrNotExist)
		if err != nil {
			return nil, false
		}
		s.f = f
	}
	n, err := s.f.ReadAt(buf, 0)
	if err != io.EOF { // or longer than such a file may be
		s.f.Close()
		s.f, s.tried = nil, time.Time{}
		return nil, false
	}
	return buf[:n], true
}

// uint reads a file that has one number.
func (s *sysFile) uint(buf []byte) (uint64, bool) {
	text, ok := s.read(buf)
	if !ok {
		return 0, false
	}
	line, rest := cutLine(text)
	v, more, ok := cutUint(line)
	more, _ = cutField(more)
	return v, ok && len(more) == 0 && len(rest) == 0
}

// sysFiles are the files that have the same name for each instance. They are for
// the metrics of one group.
type sysFiles struct {
	dir, name string // the instance is between them
	of        map[pdu.InstID]*sysFile
	buf       []byte
}

// sysFiles makes those of an instance domain, whose devices have directories in dir.
func (l *linux) sysFiles(dir, name string) *sysFiles {
	return &sysFiles{dir: l.path(dir), name: name, of: map[pdu.InstID]*sysFile{}, buf: make([]byte, maxSysFile)}
}

// file is that of an instance.
func (s *sysFiles) file(i pdu.Instance) *sysFile {
	f := s.of[i.ID]
	if f == nil {
		f = &sysFile{path: filepath.Join(s.dir, i.Name, filepath.FromSlash(s.name))}
		s.of[i.ID] = f
	}
	return f
}

// uint is the number in the file of an instance.
func (s *sysFiles) uint(i pdu.Instance) (uint64, bool) { return s.file(i).uint(s.buf) }

const cpuDir, nodeDir = "sys/devices/system/cpu", "sys/devices/system/node"

// addCPUFiles adds the metrics of the files that each processor has.
func (l *linux) addCPUFiles() {
	l.addOnline("hinv.cpu.online", 0, l.cpus, cpuDir, "Whether the processor is switched on: 1, or 0 if not")
	l.addOnline("hinv.node.online", 1, l.nodes, nodeDir, "Whether the node is switched on: 1, or 0 if not")
	for _, m := range []struct {
		name, file string
		item       int
		units      pdu.Units
		text       string
	}{
		{"core.count", "core_throttle_count", 2, pdu.UnitCount,
			"How often the core was slowed down because it was too hot"},
		{"core.time", "core_throttle_total_time_ms", 3, pdu.TimeMSec,
			"Time that the core was slowed down because it was too hot"},
		{"package.count", "package_throttle_count", 4, pdu.UnitCount,
			"How often the package with the processor was slowed down because it was too hot"},
		// The unit is that of the C agent; it counts milliseconds all the same.
		{"package.time", "package_throttle_total_time_ms", 5, pdu.UnitCount,
			"Milliseconds that the package with the processor was slowed down because it was too hot"},
	} {
		files := l.sysFiles(cpuDir, "thermal_throttle/"+m.file)
		pmda.Register(l.Agent, pmda.Metric[uint64]{
			Name: "hinv.cpu.thermal_throttle." + m.name, ID: pmda.Item(55, m.item), InDom: l.cpus, Group: l.Group(nil),
			Sem: pdu.SemCounter, Units: m.units, Text: m.text,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint64, error) {
				v, ok := files.uint(i)
				if !ok {
					return 0, pmda.NoValue
				}
				return v, nil
			},
		})
	}
	l.addFrequencies()
}

// addOnline adds whether devices are switched on. One that cannot be switched off
// has no file to tell.
func (l *linux) addOnline(name string, item int, d *pmda.InDom, dir, text string) {
	files := l.sysFiles(dir, "online")
	pmda.Register(l.Agent, pmda.Metric[uint32]{
		Name: name, ID: pmda.Item(55, item), InDom: d, Group: l.Group(nil), Text: text,
		Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (uint32, error) {
			v, ok := files.uint(i)
			switch {
			case !ok && files.file(i).absent:
				return 1, nil
			case !ok || v > 1:
				return 0, pmda.NoValue
			}
			return uint32(v), nil
		},
	})
}
