package collector

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// defaultLogins is how many logins from an address may fail in a minute unless Limits say so.
	defaultLogins = 100

	// mostLoginAddresses is of how many addresses failed logins are remembered.
	mostLoginAddresses = 4096
)

// failedLogins are those of each address, so that a new connection is no new chance to guess passwords. Other addresses
// are never refused for them: when there are too many, those are forgotten that would be forgotten first anyway.
type failedLogins struct {
	mu    sync.Mutex
	until map[string]time.Time // when all failures of an address are forgotten; each takes its share of a minute
}

// share is how long a failed login counts.
func (f *failedLogins) share(limit int) time.Duration {
	return time.Minute / time.Duration(cmp.Or(limit, defaultLogins))
}

// allowed reports whether a client at an address may log in.
func (f *failedLogins) allowed(address string, limit int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until[address].Sub(now) <= time.Minute-f.share(limit)
}

// add counts a login that has failed. Those that were allowed at the same time count even beyond the limit.
// The empty address has none.
func (f *failedLogins) add(address string, limit int, now time.Time) {
	if address == "" {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	until, known := f.until[address]
	if !known {
		f.makeRoom(now)
	}
	if until.Before(now) {
		until = now
	}
	f.until[address] = until.Add(f.share(limit))
}

// makeRoom forgets addresses if there are too many.
func (f *failedLogins) makeRoom(now time.Time) {
	if f.until == nil {
		f.until = map[string]time.Time{}
	}
	if len(f.until) < mostLoginAddresses {
		return
	}
	first := ""
	for address, until := range f.until {
		if until.Before(now) {
			delete(f.until, address)
		} else if first == "" || until.Before(f.until[first]) {
			first = address
		}
	}
	if len(f.until) >= mostLoginAddresses {
		delete(f.until, first)
	}
}

// loginAddress is where a connection comes from, for failedLogins: a network of 64 bits of IPv6, in which a host may have any address;
// the user of a unix socket. It is empty for this process.
func loginAddress(conn net.Conn) string {
	switch a := conn.RemoteAddr().(type) {
	case *net.TCPAddr:
		ip := a.AddrPort().Addr().Unmap().WithZone("")
		bits := ip.BitLen()
		if ip.Is6() {
			bits = 64
		}
		return netip.PrefixFrom(ip, bits).Masked().String()
	case *net.UnixAddr:
		_, uid, _ := peer(conn)
		return fmt.Sprint("user ", uid)
	}
	return ""
}
