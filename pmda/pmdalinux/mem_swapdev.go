package pmdalinux

import (
	"math"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// A swapDevice is a line of /proc/swaps.
type swapDevice struct {
	size, used uint32 // in kilobytes
	priority   int32
}

// addSwapDevices adds the metrics of /proc/swaps.
func (l *linux) addSwapDevices() {
	devices := &instances[swapDevice]{indom: &pmda.InDom{Serial: pmda.InDomSerial(6), Name: "swap device",
		Text:   "Partitions and files that memory is swapped to, by their paths",
		Labels: `{"device_type":["block","memory"],"indom_name":"per swap device"}`}}
	g := l.fileGroup("proc/swaps", func(text []byte) error { return parseSwaps(devices, text) })
	devices.indom.Group = g
	l.Attach(devices.indom)
	for _, m := range []struct {
		item       int
		name, text string
		sem        pdu.Sem
		of         func(*swapDevice) (uint32, bool)
	}{
		{0, "swapdev.free", "Swap space of a device that is not in use", pdu.SemInstant,
			func(d *swapDevice) (uint32, bool) { return d.size - d.used, d.used <= d.size }},
		{1, "swapdev.length", "Swap space of a device", pdu.SemDiscrete, func(d *swapDevice) (uint32, bool) { return d.size, true }},
		{2, "swapdev.maxswap", "The most swap space that a device can have: on Linux, what it has", pdu.SemDiscrete,
			func(d *swapDevice) (uint32, bool) { return d.size, true }},
		{3, "swapdev.vlength", "Swap space of a device that is promised but not there: on Linux, 0", pdu.SemDiscrete,
			func(d *swapDevice) (uint32, bool) { return 0, true }},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(6, m.item), InDom: devices.indom, Sem: m.sem, Units: pdu.SpaceKByte,
			Text: m.text, Values: rowValues(devices, m.of),
		})
	}
	pmda.Register(l.Agent, pmda.Metric[int32]{
		Name: "swapdev.priority", ID: pmda.Item(6, 4), InDom: devices.indom,
		Text:   "Priority of a swap device: the highest is filled first, equal ones in turn",
		Values: rowValues(devices, func(d *swapDevice) (int32, bool) { return d.priority, true }),
	})
}

// parseSwaps parses lines like "/dev/sda2  partition  1048572  0  -2".
func parseSwaps(devices *instances[swapDevice], text []byte) error {
	devices.Begin()
	for line := range procfile.Lines(text) {
		name, rest := procfile.CutField(line)
		if len(name) == 0 || name[0] != '/' {
			continue // the title
		}
		_, rest = procfile.CutField(rest)
		size, rest, ok1 := procfile.CutUint(rest)
		used, rest, ok2 := procfile.CutUint(rest)
		field, _ := procfile.CutField(rest)
		priority, err := strconv.ParseInt(string(field), 10, 32)
		if !ok1 || !ok2 || err != nil || max(size, used) > math.MaxUint32 {
			continue
		}
		*devices.Row(name) = swapDevice{uint32(size), uint32(used), int32(priority)}
	}
	return devices.End()
}
