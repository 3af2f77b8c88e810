//go:build !linux

package pmdalinux

import "net/netip"

// inet4Addrs has nobody to ask: an agent without the files of a Linux has a Root.
func inet4Addrs(func(label string, a netip.Addr)) error { return nil }
