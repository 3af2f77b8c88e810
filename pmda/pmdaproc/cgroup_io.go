package pmdaproc

import (
	"bytes"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// An ioStat is the numbers of a line of the file io.stat.
type ioStat [6]uint64

var ioStatKeys = [6][]byte{[]byte("rbytes="), []byte("wbytes="), []byte("rios="), []byte("wios="), []byte("dbytes="), []byte("dios=")}

// parse parses the part of a line after the numbers of the device. It returns false unless all
// values are present.
func (s *ioStat) parse(line []byte) bool {
	for i, key := range ioStatKeys {
		field, rest := procfile.CutField(line)
		number, ok := bytes.CutPrefix(field, key)
		v, isNumber := procfile.ParseUint(number)
		if !ok || !isNumber {
			return false
		}
		s[i], line = v, rest
	}
	return true
}

// addIOStat adds the metrics of disk use by groups of version 2.
func (c *cgroups) addIOStat() {
	devices := &blockDevices{file: procfile.File{Path: c.p.path("proc/diskstats")}}
	d := addCgroupPairs(c, 17, "block device", "device_name", "Control groups of version 2, with each block device", "block", cgroupList{}, devices.read, func(d *cgroupPairs[ioStat], g *cgroup) {
		text, _ := d.read(g, "io.stat")
		first := d.rows.Len()
		for line := range procfile.Lines(text) {
			numbers, rest := procfile.CutField(line)
			device, ok := devices.find(numbers)
			var s ioStat
			if !ok || !s.parse(rest) {
				continue
			}
			if row, _ := deviceRow(d, devices, g, first, device); row != nil {
				*row = s
			}
		}
	})
	for i, m := range []struct {
		name, text string
		units      pdu.Units
	}{
		{"rbytes", "Bytes that the group has read from the device", pdu.SpaceByte},
		{"wbytes", "Bytes that the group has written to the device", pdu.SpaceByte},
		{"rios", "Reads of the group from the device", pdu.UnitCount},
		{"wios", "Writes of the group to the device", pdu.UnitCount},
		{"dbytes", "Bytes of the device that the group has said it needs no more", pdu.SpaceByte},
		{"dios", "Times that the group has said that it needs a part of the device no more", pdu.UnitCount},
	} {
		d.addMetric(pmda.Metric[uint64]{Name: "cgroup.io.stat." + m.name, ID: pmda.Item(68, i), Sem: pdu.SemCounter, Units: m.units, Text: m.text},
			func(s *ioStat) (uint64, bool) { return s[i], true })
	}
}
