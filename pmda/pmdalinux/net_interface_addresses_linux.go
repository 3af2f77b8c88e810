package pmdalinux

import (
	"bytes"
	"net/netip"
	"syscall"
)

// inet4Addrs calls found for each IPv4 address of this machine with its label, which is mostly the
// name of the interface.
func inet4Addrs(found func(label string, a netip.Addr)) error {
	rib, err := syscall.NetlinkRIB(syscall.RTM_GETADDR, syscall.AF_INET)
	if err != nil {
		return err
	}
	messages, err := syscall.ParseNetlinkMessage(rib)
	if err != nil {
		return err
	}
	for _, m := range messages {
		if m.Header.Type != syscall.RTM_NEWADDR {
			continue
		}
		attrs, err := syscall.ParseNetlinkRouteAttr(&m)
		if err != nil {
			return err
		}
		var label string
		var addr netip.Addr
		for _, a := range attrs {
			switch a.Attr.Type {
			case syscall.IFA_LABEL:
				label = string(bytes.TrimRight(a.Value, "\x00"))
			case syscall.IFA_LOCAL:
				addr, _ = netip.AddrFromSlice(a.Value)
			}
		}
		if addr.Is4() {
			found(label, addr)
		}
	}
	return nil
}
