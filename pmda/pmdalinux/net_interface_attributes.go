package pmdalinux

import (
	"bytes"
	"math"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addInterfaceAttributes adds the metrics of the files of each interface below /sys.
func (l *linux) addInterfaceAttributes(dev *netDev) {
	number := func(name string) func(string) (uint32, bool) {
		files := deviceFilesOf(l, &dev.rows, procfile.ParseNumber, netDir, name)
		return func(dev string) (uint32, bool) {
			f := files.get(dev)
			return uint32(f.v), f.ok && f.v <= math.MaxUint32
		}
	}
	exists := deviceFilesOf[struct{}](l, &dev.rows, nil, netDir, "")
	has := func(dir string, names ...string) func(string) (uint32, bool) {
		files := deviceFilesOf[struct{}](l, &dev.rows, nil, dir, names...)
		return func(dev string) (uint32, bool) {
			if files.get(dev).absent {
				return 0, !exists.get(dev).absent
			}
			return 1, !exists.get(dev).absent
		}
	}
	inVirtual := has(virtualNetDir, "")
	virtual := deviceFilesOf[struct{}](l, &dev.rows, nil, virtualNetDir, "")
	duplex := deviceFilesOf(l, &dev.rows, parseName, netDir, "duplex")
	flags := deviceFilesOf(l, &dev.rows, parseFlags, netDir, "flags")
	operates := deviceFilesOf(l, &dev.rows, parseName, netDir, "operstate")
	l.addInterfaceSpeed(dev, number("speed"))
	for _, m := range []struct {
		name       string
		item       int
		sem        pdu.Sem
		units      pdu.Units
		text, help string
		of         func(dev string) (uint32, bool)
	}{
		{"network.interface.mtu", 21, pdu.SemInstant, pdu.SpaceByte, "Bytes that a packet of an interface has at most", "", number("mtu")},
		{"network.interface.duplex", 24, pdu.SemDiscrete, 0, "1 for an interface that sends or receives, 2 for one that does both at a time",
			"There is no value where the driver does not tell, as that of most virtual interfaces.",
			func(dev string) (uint32, bool) { return duplexOf(duplex.get(dev)) }},
		{"network.interface.up", 25, pdu.SemInstant, 0, "1 for an interface that is switched on, 0 for one that is not", "",
			func(dev string) (uint32, bool) { return flags.get(dev).v & isUp, flags.get(dev).ok }},
		{"network.interface.running", 26, pdu.SemInstant, 0, "1 for an interface that is switched on and connected, else 0", "",
			func(dev string) (uint32, bool) { return running(flags.get(dev), operates, dev) }},
		{"network.interface.wireless", 28, pdu.SemDiscrete, 0, "1 for an interface to a wireless network, else 0", "",
			has(netDir, "wireless", "phy80211")},
		{"network.interface.type", 29, pdu.SemDiscrete, 0, "Kind of hardware of an interface, by the numbers of the ARP protocol",
			"1 is Ethernet and what behaves like it, 772 the loopback interface; the kernel's if_arp.h has them all.", number("type")},
		{"network.interface.virtual", 30, pdu.SemDiscrete, 0, "1 for an interface without a device of its own, else 0", "",
			func(dev string) (uint32, bool) {
				if virtual.get(".").absent { // old kernels have no such directory
					return 0, false
				}
				return inVirtual(dev)
			}},
	} {
		pmda.Register(l.Agent, pmda.Metric[uint32]{
			Name: m.name, ID: pmda.Item(3, m.item), InDom: dev.rows.indom, Sem: m.sem, Units: m.units,
			Text: m.text, Help: m.help, Values: valuesByName(&dev.rows, m.of),
		})
	}
}

// netDir has a directory for each interface, virtualNetDir for each virtual one, such as lo.
const (
	netDir        = "sys/class/net"
	virtualNetDir = "sys/devices/virtual/net"
)

// addInterfaceSpeed adds the two metrics of the speed of interfaces. The file is in megabits per
// second. -1, or 4294967295 in older kernels, is an unknown speed. The C agent exports that number.
func (l *linux) addInterfaceSpeed(dev *netDev, mbit func(dev string) (uint32, bool)) {
	const help = "There is no value while the speed is not known, as of interfaces that are\n" +
		"not connected, and of most virtual ones."
	bytes := func(dev string) (uint64, bool) {
		v, ok := mbit(dev)
		return uint64(v) * (1e6 / 8), ok && v != 0 && v != math.MaxUint32
	}
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "network.interface.speed", ID: pmda.Item(3, 22), InDom: dev.rows.indom,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceMByte | pdu.PerSec,
		Text: "Megabytes, of 1048576 bytes, that an interface can send in a second", Help: help,
		Values: valuesByName(&dev.rows, func(dev string) (float32, bool) {
			v, ok := bytes(dev)
			return float32(v) / (1 << 20), ok
		}),
	})
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "network.interface.baudrate", ID: pmda.Item(3, 23), InDom: dev.rows.indom,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceByte | pdu.PerSec,
		Text: "Bytes that an interface can send in a second", Help: help,
		Values: valuesByName(&dev.rows, bytes),
	})
}

// duplexOf converts the text of the file duplex to a number.
func duplexOf(f *deviceFile[string]) (uint32, bool) {
	switch f.v {
	case "half":
		return 1, f.ok
	case "full":
		return 2, f.ok
	}
	return 0, false
}

// isUp is the flag IFF_UP.
const isUp = 1

// parseFlags parses flags such as 0x1003.
func parseFlags(text []byte, v *uint32) bool {
	line, ok := procfile.OnlyLine(text)
	digits, is := bytes.CutPrefix(line, []byte("0x"))
	flags, isHex := procfile.ParseHex(digits)
	*v = uint32(flags)
	return ok && is && isHex
}

// running reports whether an interface works. The flags in /sys lack IFF_RUNNING. For ioctl the
// kernel derives it from the operational state.
func running(flags *deviceFile[uint32], operates *deviceFiles[string], dev string) (uint32, bool) {
	if !flags.ok || flags.v&isUp == 0 {
		return 0, flags.ok
	}
	switch state := operates.get(dev); state.v {
	case "up", "unknown":
		return 1, state.ok
	default:
		return 0, state.ok
	}
}
