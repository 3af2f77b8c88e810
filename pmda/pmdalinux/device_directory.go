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

// A deviceDirectory lists the devices of a directory below /sys in the kernel's order. The C agent
// numbers them in this order. It reads the directory again after recheckAfter.
type deviceDirectory struct {
	l        *linux
	rows     instances[struct{}]
	dir      string
	stats    string                 // the directory of statistics that a device has
	isDevice func(name string) bool // whether a name is that of such a device
	next     time.Time              // when to list it again
}

// newDeviceDirectory attaches an instance domain of the devices in a directory.
func (l *linux) newDeviceDirectory(d *pmda.InDom, dir, stats string, isDevice func(name string) bool) *deviceDirectory {
	s := &deviceDirectory{l: l, dir: dir, stats: stats, isDevice: isDevice}
	s.rows.indom = d
	d.Group = l.Group(s.refresh)
	l.Attach(d)
	return s
}

// refresh starts a reading of the devices' files.
func (s *deviceDirectory) refresh(context.Context, *pmda.Request) error {
	if now := time.Now(); !now.Before(s.next) {
		if err := s.list(); err != nil {
			return err
		}
		s.next = now.Add(recheckAfter)
	}
	return s.rows.End()
}

// list lists the directory.
func (s *deviceDirectory) list() error {
	dir := s.l.path(s.dir)
	var names []string
	f, err := os.Open(dir)
	if err == nil {
		names, err = f.Readdirnames(maxEntries)
		f.Close()
	}
	if err != nil && err != io.EOF && !errors.Is(err, fs.ErrNotExist) { // missing without a driver
		return err
	}
	s.rows.Begin()
	for _, name := range names {
		if !s.isDevice(name) || !validName([]byte(name)) {
			continue
		}
		if stats, err := os.Stat(filepath.Join(dir, name, s.stats)); err == nil && stats.IsDir() {
			s.rows.Row([]byte(name))
		}
	}
	return nil
}

// A deviceFileMetric is a metric of a file that each device has.
type deviceFileMetric struct {
	name, file string
	item       int
	sem        pdu.Sem
	units      pdu.Units
	text       string
}

// addMetrics adds metrics of files that each device has.
func (s *deviceDirectory) addMetrics(cluster int, parse func([]byte, *uint64) bool, list []deviceFileMetric) {
	for _, m := range list {
		files := deviceFilesOf(s.l, &s.rows, parse, s.dir, s.stats+"/"+m.file)
		pmda.Register(s.l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(cluster, m.item), InDom: s.rows.indom, Sem: m.sem, Units: m.units, Text: m.text,
			Values: valuesByName(&s.rows, func(device string) (uint64, bool) {
				f := files.get(device)
				return f.v, f.ok
			}),
		})
	}
}
