package pmdalinux

import (
	"context"
	"math"
	"os"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// zramNames are the files that only zram devices have.
var zramNames = [...]string{"disksize", "io_stat", "mm_stat", "bd_stat"}

const (
	zramSize = iota
	zramIO
	zramMemory
	zramBacking
	maxZramFields = 8 // of a file
)

// zramFields are the numbers in one of the files.
type zramFields struct {
	v [maxZramFields]uint64
	n int // how many of them there are
}

// parseZram parses a file that is one line of numbers.
func parseZram(text []byte, f *zramFields) (ok bool) {
	line, one := procfile.OnlyLine(text)
	for f.n = 0; f.n < maxZramFields; f.n++ {
		if f.v[f.n], line, ok = procfile.CutUint(line); !ok {
			break
		}
	}
	return one
}

// A zramMetric is a field of one of the files.
type zramMetric struct {
	name          string
	cluster, item int
	file, field   int
	sem           pdu.Sem
	units         pdu.Units
	times, by     uint64 // converts the field to kilobytes: field * times / by
	text          string
}

// addZram adds the metrics of zramNames.
func (d *disks) addZram() {
	page := uint64(os.Getpagesize()) / 1024
	r := &d.class[zram]
	var files [len(zramNames)]*deviceFiles[zramFields]
	for i, name := range zramNames {
		files[i] = deviceFilesOf(d.l, r, parseZram, blockDir, name)
	}
	for _, m := range []zramMetric{
		{"zram.capacity", 86, 16, zramSize, 0, pdu.SemDiscrete, pdu.SpaceKByte, 1, 1024, "The size of each zram device, before compression"},
		{"zram.io_stat.failed.reads", 87, 0, zramIO, 0, pdu.SemCounter, pdu.UnitCount, 1, 1, "Reads from each zram device that failed"},
		{"zram.io_stat.failed.writes", 87, 1, zramIO, 1, pdu.SemCounter, pdu.UnitCount, 1, 1, "Writes to each zram device that failed"},
		{"zram.io_stat.invalid", 87, 2, zramIO, 2, pdu.SemCounter, pdu.UnitCount, 1, 1, "Requests to each zram device that were not for whole pages"},
		{"zram.io_stat.notify_free", 87, 3, zramIO, 3, pdu.SemCounter, pdu.UnitCount, 1, 1, "Pages that each zram device was told are not needed any more"},
		{"zram.mm_stat.data_size.original", 88, 0, zramMemory, 0, pdu.SemInstant, pdu.SpaceKByte, 1, 1024, "Data in each zram device, before compression"},
		{"zram.mm_stat.data_size.compressed", 88, 1, zramMemory, 1, pdu.SemInstant, pdu.SpaceKByte, 1, 1024, "Data in each zram device, after compression"},
		{"zram.mm_stat.mem.used_total", 88, 2, zramMemory, 2, pdu.SemInstant, pdu.SpaceKByte, 1, 1024, "Memory that each zram device takes, with what it needs to find the data"},
		{"zram.mm_stat.mem.limit", 88, 3, zramMemory, 3, pdu.SemInstant, pdu.SpaceKByte, 1, 1024, "Memory that each zram device may take, 0 for any amount"},
		{"zram.mm_stat.mem.max_used", 88, 4, zramMemory, 4, pdu.SemInstant, pdu.SpaceKByte, 1, 1024, "Most memory that each zram device has taken so far"},
		{"zram.mm_stat.pages.same", 88, 5, zramMemory, 5, pdu.SemCounter, pdu.SpaceKByte, page, 1, "Pages of each zram device that have the same bytes throughout, and take no memory"},
		{"zram.mm_stat.pages.compacted", 88, 6, zramMemory, 6, pdu.SemCounter, pdu.SpaceKByte, page, 1, "Pages that each zram device gave back by moving data together"},
		{"zram.mm_stat.pages.huge", 88, 7, zramMemory, 7, pdu.SemCounter, pdu.SpaceKByte, page, 1, "Pages of each zram device that could not be compressed"},
		{"zram.bd_stat.count", 89, 0, zramBacking, 0, pdu.SemCounter, pdu.SpaceKByte, 4, 1, "Data of each zram device that was put on its backing device"},
		{"zram.bd_stat.reads", 89, 1, zramBacking, 1, pdu.SemCounter, pdu.SpaceKByte, 4, 1, "Data of each zram device read from its backing device"},
		{"zram.bd_stat.writes", 89, 2, zramBacking, 2, pdu.SemCounter, pdu.SpaceKByte, 4, 1, "Data of each zram device written to its backing device"},
	} {
		pmda.Register(d.l.Agent, pmda.Metric[uint64]{
			Name: m.name, ID: pmda.Item(m.cluster, m.item), InDom: r.indom, Sem: m.sem, Units: m.units, Text: m.text,
			Values: func(_ context.Context, _ *pmda.Request, s *pmda.Values[uint64]) error {
				return putRowValues(r, s, pdu.ErrAppVersion, func(k *disk) (uint64, bool) {
					f := files[m.file].get(k.kernel)
					v := f.v.v[m.field]
					return v * m.times / m.by, f.ok && m.field < f.v.n && v <= math.MaxUint64/m.times
				})
			},
		})
	}
}
