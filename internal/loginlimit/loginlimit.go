// Package loginlimit limits how often logins may fail, so that passwords cannot be guessed.
//
// Failures are counted for each pair of an address and a user. So a client that guesses the
// password of one user does not lock out others, even if they share a gateway's address.
package loginlimit

import (
	"net/netip"
	"sync"
	"time"
)

const (
	// PerMinute is how many logins of a user from an address may fail in a minute, by default.
	PerMinute = 100

	// GatewayPerMinute is PerMinute for a gateway's clients. It is lower, so that a gateway refuses
	// a client before the collector refuses the user at the gateway's address.
	GatewayPerMinute = 30

	// maxKeys is for how many pairs of an address and a user failures are remembered.
	maxKeys = 4096

	// maxUser is how many bytes of a user's name count.
	maxUser = 256
)

// A Key identifies the subject of a count of failures.
type Key struct{ address, user string }

// KeyOf returns the key of a user at an address. The empty address is never refused.
func KeyOf(address, user string) Key {
	if address == "" {
		return Key{}
	}
	return Key{address, user[:min(len(user), maxUser)]}
}

// Address returns a client's address for KeyOf. A host may have any address of its IPv6 network of
// 64 bits, so these count as one.
func Address(ip netip.Addr) string {
	if !ip.IsValid() {
		return "unknown"
	}
	ip = ip.Unmap().WithZone("")
	bits := ip.BitLen()
	if ip.Is6() {
		bits = 64
	}
	return netip.PrefixFrom(ip, bits).Masked().String()
}

// Failures counts failed logins. The zero value is ready to use. It is safe for concurrent use.
type Failures struct {
	mu    sync.Mutex
	until map[Key]time.Time // when all failures are forgotten; each takes its share of a minute
}

// Allowed reports whether a login is allowed at a time with a limit of failures per minute.
func (f *Failures) Allowed(k Key, perMinute int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.until[k].Sub(now) <= time.Minute-share(perMinute)
}

// Add counts a failed login. Logins that were allowed at the same time count even beyond the limit.
func (f *Failures) Add(k Key, perMinute int, now time.Time) {
	if k == (Key{}) {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	until, known := f.until[k]
	if !known {
		f.makeRoom(now)
	}
	if until.Before(now) {
		until = now
	}
	f.until[k] = until.Add(share(perMinute))
}

// share is how long a failed login counts.
func share(perMinute int) time.Duration { return time.Minute / time.Duration(perMinute) }

// makeRoom forgets the key that would be forgotten first if there are too many.
func (f *Failures) makeRoom(now time.Time) {
	if f.until == nil {
		f.until = map[Key]time.Time{}
	}
	if len(f.until) < maxKeys {
		return
	}
	var first Key
	for k, until := range f.until {
		if until.Before(now) {
			delete(f.until, k)
		} else if first == (Key{}) || until.Before(f.until[first]) {
			first = k
		}
	}
	if len(f.until) >= maxKeys {
		delete(f.until, first)
	}
}
