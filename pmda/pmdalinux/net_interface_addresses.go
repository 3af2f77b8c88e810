package pmdalinux

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"io/fs"
	"net/netip"
	"os"
	"slices"
	"strconv"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/internal/procfile"
)

// addresses are the addresses of an interface or of an address label. An unknown address is empty.
type addresses struct {
	inet, ipv6, scope, hw string
}

// netAddrs are the addresses in /sys/class/net, in /proc/net/if_inet6, and from the kernel through
// netlink.
type netAddrs struct {
	dir   string // sys/class/net
	hw    *deviceFiles[string]
	inet6 *procfile.File // proc/net/if_inet6
	inet4 func(found func(label string, a netip.Addr)) error
	err   error // of inet4

	rows  []addresses
	names []string
	at    map[string]int // index in both by name
	indom *pmda.InDom
	idsOf func(names []string) ([]pdu.InstID, error) // of instances; nil for those of SetNames
}

// addInterfaceAddresses adds the metrics of addresses. They have a separate instance domain because
// labels of addresses need not be names of interfaces.
func (l *linux) addInterfaceAddresses() {
	a := &netAddrs{dir: l.path(netDir), inet6: l.file("proc/net/if_inet6"), at: map[string]int{}}
	if l.isMachine() {
		a.inet4 = inet4Addrs
	} else if l.view != nil && l.view.host.isMachine() {
		a.inet4 = func(found func(string, netip.Addr)) error {
			return l.view.inNamespace("net", func() error { return inet4Addrs(found) })
		}
	}
	a.indom = &pmda.InDom{Serial: pmda.InDomSerial(17), Name: "interface address",
		Text:   "Network interfaces, and labels of their addresses",
		Labels: `{"device_type":"interface","indom_name":"per interface"}`,
	}
	a.indom.Group = l.Group(func(context.Context, *pmda.Request) error { return a.refresh() })
	a.hw = newDeviceFiles(l, a.indom, parseHardware, netDir, "address")
	a.idsOf = l.sharedIDs(a.indom)
	l.Attach(a.indom)
	for item, m := range []struct {
		name, text, help string
		of               func(*addresses) string
	}{
		{"network.interface.inet_addr", "The first IPv4 address of an interface, or under a label of it",
			"There is no value on a copy of another machine's files.",
			func(a *addresses) string { return a.inet }},
		{"network.interface.ipv6_addr", "The last IPv6 address in the kernel's list for an interface, with the bits of its network", "",
			func(a *addresses) string { return a.ipv6 }},
		{"network.interface.ipv6_scope", "How far network.interface.ipv6_addr reaches: Global, Host, Link, Site, Compat or Unknown", "",
			func(a *addresses) string { return a.scope }},
		{"network.interface.hw_addr", "Hardware (MAC) address of an interface", "",
			func(a *addresses) string { return a.hw }},
	} {
		pmda.Register(l.Agent, pmda.Metric[string]{
			Name: m.name, ID: pmda.Item(33, item), InDom: a.indom,
			Sem: pdu.SemDiscrete, Text: m.text, Help: m.help,
			Value: func(_ context.Context, _ *pmda.Request, i pdu.Instance) (string, error) {
				if at, ok := a.at[i.Name]; ok && m.of(&a.rows[at]) != "" {
					return m.of(&a.rows[at]), nil
				}
				if item == 0 && a.err != nil {
					return "", a.err
				}
				return "", pmda.NoValue
			},
		})
	}
}

// refresh reads all addresses. New names get IDs in this order.
func (a *netAddrs) refresh() error {
	clear(a.at)
	a.rows, a.names = a.rows[:0], a.names[:0]
	a.readHardware()
	if a.inet4 != nil {
		a.err = a.inet4(func(label string, addr netip.Addr) {
			if r := a.row(label); r != nil && r.inet == "" {
				r.inet = addr.String()
			}
		})
	}
	if text, err := a.inet6.Read(); err == nil {
		a.parseInet6(text)
	}
	err := a.setInstances()
	a.hw.startReading()
	return err
}

// setInstances gives the names to the instance domain.
func (a *netAddrs) setInstances() error {
	if a.idsOf == nil {
		_, err := a.indom.SetNames(a.names...)
		return err
	}
	ids, err := a.idsOf(a.names)
	if err != nil {
		return err
	}
	var list []pdu.Instance
	for i, id := range ids {
		if id != pdu.NoInst {
			list = append(list, pdu.Instance{ID: id, Name: a.names[i]})
		}
	}
	slices.SortFunc(list, func(a, b pdu.Instance) int { return cmp.Compare(a.ID, b.ID) })
	_, err = a.indom.SetInstances(list...)
	return err
}

// row returns the row of a name, nil for an invalid instance name.
func (a *netAddrs) row(name string) *addresses {
	if !pmda.ValidInstanceName(name) || shortName(name) != name {
		return nil
	}
	at, ok := a.at[name]
	if !ok {
		at = len(a.rows)
		a.at[name] = at
		a.rows, a.names = append(a.rows, addresses{}), append(a.names, name)
	}
	return &a.rows[at]
}

// readHardware reads the hardware addresses, in the order of the directory.
func (a *netAddrs) readHardware() {
	open := os.Open
	if a.hw.l.view != nil {
		open = a.hw.l.openSys
	}
	dir, err := open(a.dir)
	if err != nil {
		return
	}
	defer dir.Close()
	list, _ := dir.ReadDir(-1)
	for _, e := range list {
		if e.Type()&(fs.ModeDir|fs.ModeSymlink) == 0 {
			continue // the file bonding_masters
		}
		r := a.row(e.Name())
		if r == nil {
			continue
		}
		if f := a.hw.get(e.Name()); f.ok {
			r.hw = f.v
		}
	}
}

// parseHardware parses hexadecimal bytes separated by colons.
func parseHardware(text []byte, v *string) bool {
	if !parseName(text, v) {
		return false
	}
	for i, c := range []byte(*v) {
		if digit := '0' <= c && c <= '9' || 'a' <= c && c <= 'f'; digit == (i%3 == 2) || i%3 == 2 && c != ':' {
			return false
		}
	}
	return len(*v)%3 == 2
}

// parseInet6 parses lines of an address, the index of the interface, the prefix length, the scope
// and flags, all in hexadecimal, and the name of the interface.
func (a *netAddrs) parseInet6(text []byte) {
	for line := range procfile.Lines(text) {
		var fields [6][]byte
		for i := range fields {
			fields[i], line = procfile.CutField(line)
		}
		var addr [16]byte
		if n, err := hex.Decode(addr[:], fields[0][:min(len(fields[0]), 2*len(addr))]); err != nil || n != len(addr) || len(fields[0]) != 2*n {
			continue
		}
		prefix, err := strconv.ParseUint(string(fields[2]), 16, 8)
		if err != nil || prefix > 128 {
			continue
		}
		scope, err := strconv.ParseUint(string(fields[3]), 16, 8)
		if err != nil || len(bytes.Trim(line, " \t")) > 0 {
			continue
		}
		if r := a.row(string(fields[5])); r != nil {
			r.ipv6 = inet6Text(addr) + "/" + strconv.FormatUint(prefix, 10)
			r.scope = scopeText(scope)
		}
	}
}

// inet6Text formats an address as C programs do. Go formats addresses that contain an IPv4 address
// differently.
func inet6Text(b [16]byte) string {
	if [12]byte(b[:12]) == [12]byte{} && (b[12] != 0 || b[13] != 0) {
		return "::" + netip.AddrFrom4([4]byte(b[12:])).String()
	}
	return netip.AddrFrom16(b).String()
}

// scopeText returns the name of a scope, which has a number of the kernel's ipv6.h.
func scopeText(scope uint64) string {
	switch scope {
	case 0x00:
		return "Global"
	case 0x10:
		return "Host"
	case 0x20:
		return "Link"
	case 0x40:
		return "Site"
	case 0x80:
		return "Compat"
	}
	return "Unknown"
}
