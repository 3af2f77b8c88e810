package collector

import (
	"log/slog"
	"net"
	"sync"

	"github.com/pcp-go/pcp/pmda/internal/access"
)

// An admission holds what the access rules allow a client, and the connection limits that the
// client counts against. The Server applies the rules when the client connects, when its CREDS
// arrive, and, on another goroutine, when the rules change.
type admission struct {
	mu      sync.Mutex // held while rules are applied
	host    verdict
	account verdict
	known   bool // CREDS have arrived: the account rules apply
	failed  bool // the latest CREDS have failed: everything is denied
	gone    bool // the client no longer counts
}

// A verdict is the result of the host rules or of the account rules for one client.
type verdict struct {
	denied  access.Ops
	release func() // stops counting the client; nil if it does not count
}

// check applies rules. It first stops counting the client, so that the client does not use up its
// own limit.
func (v *verdict) check(rules func() (access.Ops, func(), error)) (err error) {
	v.clear()
	v.denied, v.release, err = rules()
	return err
}

// clear stops counting the client.
func (v *verdict) clear() {
	if v.release != nil {
		v.release()
		v.release = nil
	}
}

// checkHost applies the access rules for hosts. A client in this process counts as
// one on a unix socket, or on a port if it is anonymous.
func (c *client) checkHost() error {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	return c.checkHostLocked()
}

func (c *client) checkHostLocked() error {
	addr := c.conn.RemoteAddr()
	if local, ok := c.conn.(inProcess); ok {
		addr = &net.UnixAddr{Net: "unix"}
		if local.anonymous {
			addr = &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}
		}
	}
	defer c.updateDenied()
	return c.admission.host.check(func() (access.Ops, func(), error) { return c.s.access.Load().CheckHost(addr) })
}

// checkAccount applies the access rules for users and groups.
func (c *client) checkAccount() error {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.admission.known = true
	return c.checkAccountLocked()
}

func (c *client) checkAccountLocked() error {
	info := c.info.Load()
	defer c.updateDenied()
	return c.admission.account.check(func() (access.Ops, func(), error) {
		return c.s.access.Load().CheckAccount(info.UID, info.GID, c.s.CredsRequired)
	})
}

func (c *client) updateDenied() {
	denied := c.admission.host.denied | c.admission.account.denied
	if c.admission.failed {
		denied = access.OpAll
	}
	c.denied.Store(uint32(denied))
}

// recheck applies new access rules. A client that they refuse gets an error and is disconnected.
func (c *client) recheck() {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	if c.admission.gone {
		return
	}
	err := c.checkHostLocked()
	if err == nil && c.admission.known {
		if e := c.checkAccountLocked(); !c.admission.failed { // later CREDS may succeed
			err = e
		}
	}
	if err != nil {
		c.s.log.Warn("client refused", slog.Any("addr", c.conn.RemoteAddr()), slog.Any("err", err))
		c.disconnect(failure(err))
	}
}

// endAdmission stops counting the client permanently: new access rules do not count it again.
func (c *client) endAdmission() {
	c.admission.mu.Lock()
	defer c.admission.mu.Unlock()
	c.admission.gone = true
	c.admission.host.clear()
	c.admission.account.clear()
}
