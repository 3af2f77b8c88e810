package pmdalinux

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// An interfaceAttribute is something that /sys tells of each interface. It has a group of
// its own, since what is not asked for is not to be read.
type interfaceAttribute[T any] struct {
	dev   *netDev
	group *pmda.Group
	files interfaceFiles
	vals  []T // by row of dev
	known []bool
}

// newInterfaceAttribute makes one that read finds, false if there is none.
func newInterfaceAttribute[T any](l *linux, dev *netDev, read func(*interfaceFiles) (T, bool)) *interfaceAttribute[T] {
	a := &interfaceAttribute[T]{dev: dev}
	a.files.dir, a.files.virtual = l.path("sys/class/net"), l.path("sys/devices/virtual/net")
	a.group = l.Group(func(context.Context, *pmda.Request) error {
		a.vals, a.known = a.vals[:0], a.known[:0]
		for _, name := range dev.rows.names {
			a.files.name = name
			v, ok := read(&a.files)
			a.vals, a.known = append(a.vals, v), append(a.known, ok)
		}
		return nil
	})
	return a
}

// values makes the Values of a metric out of an attribute, of which it shows what
// of gives, false for nothing.
func values[A any, T pdu.Scalar](a *interfaceAttribute[A], of func(A) (T, bool)) func(context.Context, *pmda.Request, *pmda.Set[T]) error {
	return func(_ context.Context, _ *pmda.Request, s *pmda.Set[T]) error {
		for _, at := range a.dev.rows.order {
			if id := a.dev.rows.ids[at]; a.known[at] && s.Wants(id) {
				if v, ok := of(a.vals[at]); ok {
					s.Put(id, v)
				}
			}
		}
		return nil
	}
}

// itself is for a metric that shows an attribute as it is.
func itself[T any](v T) (T, bool) { return v, true }

// interfaceFiles are the files of an interface.
type interfaceFiles struct {
	dir, virtual string
	name         string
	buf          [64]byte
}

// line is the only line of a file, valid until the next; none if there is no such
// file, or none that can be read.
func (i *interfaceFiles) line(file string) []byte {
	if !filepath.IsLocal(i.name) || strings.ContainsAny(i.name, `/\`) {
		return nil
	}
	f, err := os.Open(filepath.Join(i.dir, i.name, file))
	if err != nil {
		return nil
	}
	defer f.Close()
	n, _ := f.Read(i.buf[:])
	line, _, ok := wholeLine(i.buf[:n])
	if !ok {
		return nil
	}
	return line
}

// has is whether the interface has one of some files, or directories. It is not ok
// if nothing is known of the interface.
func (i *interfaceFiles) has(paths ...string) (has uint32, ok bool) {
	if !filepath.IsLocal(i.name) || strings.ContainsAny(i.name, `/\`) {
		return 0, false
	}
	if _, err := os.Stat(filepath.Join(i.dir, i.name)); err != nil {
		return 0, false
	}
	for _, path := range paths {
		if _, err := os.Stat(path); err == nil {
			return 1, true
		}
	}
	return 0, true
}

// state is whether an interface works.
type state struct{ up, running uint32 }

// addInterfaceAttributes adds the metrics of what /sys tells of each interface.
func (l *linux) addInterfaceAttributes(dev *netDev) {
	mtu := newInterfaceAttribute(l, dev, func(f *interfaceFiles) (uint32, bool) { return parseUint32(f.line("mtu")) })
	speed := newInterfaceAttribute(l, dev, readSpeed)
	duplex := newInterfaceAttribute(l, dev, readDuplex)
	works := newInterfaceAttribute(l, dev, readState)
	kind := newInterfaceAttribute(l, dev, func(f *interfaceFiles) (uint32, bool) { return parseUint32(f.line("type")) })
	wireless := newInterfaceAttribute(l, dev, func(f *interfaceFiles) (uint32, bool) {
		return f.has(filepath.Join(f.dir, f.name, "wireless"), filepath.Join(f.dir, f.name, "phy80211"))
	})
	virtual := newInterfaceAttribute(l, dev, func(f *interfaceFiles) (uint32, bool) {
		return f.has(filepath.Join(f.virtual, f.name))
	})
	l.addInterfaceSpeed(speed)
	for _, m := range []pmda.Metric[uint32]{
		{Name: "mtu", ID: pmda.Item(3, 21), Units: pdu.SpaceByte, Group: mtu.group, Values: values(mtu, itself),
			Text: "Bytes that a packet of an interface has at most"},
		{Name: "duplex", ID: pmda.Item(3, 24), Sem: pdu.SemDiscrete, Group: duplex.group, Values: values(duplex, itself),
			Text: "1 for an interface that sends or receives, 2 for one that does both at a time",
			Help: "There is no value where the driver does not tell, as that of most virtual interfaces."},
		{Name: "up", ID: pmda.Item(3, 25), Group: works.group,
			Values: values(works, func(s state) (uint32, bool) { return s.up, true }),
			Text:   "1 for an interface that is switched on, 0 for one that is not"},
		{Name: "running", ID: pmda.Item(3, 26), Group: works.group,
			Values: values(works, func(s state) (uint32, bool) { return s.running, true }),
			Text:   "1 for an interface that is switched on and connected, else 0"},
		{Name: "wireless", ID: pmda.Item(3, 28), Sem: pdu.SemDiscrete, Group: wireless.group, Values: values(wireless, itself),
			Text: "1 for an interface to a wireless network, else 0"},
		{Name: "type", ID: pmda.Item(3, 29), Sem: pdu.SemDiscrete, Group: kind.group, Values: values(kind, itself),
			Text: "Kind of hardware of an interface, by the numbers of the ARP protocol",
			Help: "1 is Ethernet and what behaves like it, 772 the loopback interface; the kernel's if_arp.h has them all."},
		{Name: "virtual", ID: pmda.Item(3, 30), Sem: pdu.SemDiscrete, Group: virtual.group, Values: values(virtual, itself),
			Text: "1 for an interface without a device of its own, else 0"},
	} {
		m.Name, m.InDom = "network.interface."+m.Name, dev.rows.indom
		pmda.Register(l.Agent, m)
	}
}

// addInterfaceSpeed adds the two metrics of how fast interfaces are.
func (l *linux) addInterfaceSpeed(speed *interfaceAttribute[uint64]) {
	const help = "There is no value while the speed is not known, as of interfaces that are\n" +
		"not connected, and of most virtual ones."
	pmda.Register(l.Agent, pmda.Metric[float32]{
		Name: "network.interface.speed", ID: pmda.Item(3, 22), InDom: speed.dev.rows.indom, Group: speed.group,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceMByte | pdu.PerSec,
		Text: "Megabytes, of 1048576 bytes, that an interface can send in a second", Help: help,
		Values: values(speed, func(bytes uint64) (float32, bool) { return float32(bytes) / (1 << 20), true }),
	})
	pmda.Register(l.Agent, pmda.Metric[uint64]{
		Name: "network.interface.baudrate", ID: pmda.Item(3, 23), InDom: speed.dev.rows.indom, Group: speed.group,
		Sem: pdu.SemDiscrete, Units: pdu.SpaceByte | pdu.PerSec,
		Text: "Bytes that an interface can send in a second", Help: help,
		Values: values(speed, itself),
	})
}

// readSpeed is the speed in bytes per second. The kernel has it in megabits, and
// -1 or, in older ones, the same without its sign if it does not know. The C agent
// takes that for a number.
func readSpeed(f *interfaceFiles) (uint64, bool) {
	mbit, ok := parseUint32(f.line("speed"))
	return uint64(mbit) * (1e6 / 8), ok && mbit != 0 && mbit != 1<<32-1
}

func readDuplex(f *interfaceFiles) (uint32, bool) {
	switch string(f.line("duplex")) {
	case "half":
		return 1, true
	case "full":
		return 2, true
	}
	return 0, false
}

// readState finds whether an interface works. Its flags in /sys lack the one that
// it is running, which the kernel works out of the operational state when a program
// asks by ioctl.
func readState(f *interfaceFiles) (state, bool) {
	hex, ok := bytes.CutPrefix(f.line("flags"), []byte("0x"))
	if !ok {
		return state{}, false
	}
	flags, ok := parseHex(hex)
	if !ok {
		return state{}, false
	}
	const up = 0x1
	if flags&up == 0 {
		return state{}, true
	}
	switch string(f.line("operstate")) {
	case "":
		return state{}, false
	case "up", "unknown":
		return state{up: 1, running: 1}, true
	}
	return state{up: 1}, true
}
