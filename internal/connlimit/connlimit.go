// Package connlimit limits how many connections are open at a time, so that those of one client do
// not use up what others need. Beyond the limit an idle connection is closed for a new one.
package connlimit

import (
	"net"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/loginlimit"
)

// Conns are the open connections of a listener. Its zero value allows none. The exported fields are
// set before the first call. It is safe for concurrent use.
type Conns struct {
	// Max limits all connections, and MaxPerHost those of one address. 0 in MaxPerHost means Max.
	Max, MaxPerHost int
	// IdleTime is how long a connection has to be idle before it can be closed for a new one.
	IdleTime time.Duration

	mu    sync.Mutex
	all   map[*Conn]struct{}
	hosts map[string]int
}

// A Conn is one of the Conns. A new one is idle.
type Conn struct {
	of   *Conns
	conn net.Conn
	host string

	// The lock of Conns guards these.
	busy bool
	used time.Time // when it was last busy, or was added
}

// Add adds a connection. If there are too many, it closes one of the address with the most
// connections: the one that has been idle longest. It returns nil if no connection is idle. The
// caller then closes the new connection.
func (s *Conns) Add(conn net.Conn) *Conn {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all, s.hosts = map[*Conn]struct{}{}, map[string]int{}
	}
	c := &Conn{of: s, conn: conn, host: Host(conn), used: time.Now()}
	ofHost := s.MaxPerHost > 0 && s.hosts[c.host] >= s.MaxPerHost
	if ofHost || len(s.all) >= s.Max {
		idlest := s.idlest(c, ofHost)
		if idlest == nil {
			return nil
		}
		s.remove(idlest)
		_ = idlest.conn.Close() // its user gets the error
	}
	s.all[c] = struct{}{}
	s.hosts[c.host]++
	return c
}

// idlest returns the connection to close for a new one, of the same host if ofHost is true.
func (s *Conns) idlest(added *Conn, ofHost bool) (idlest *Conn) {
	since := added.used.Add(-s.IdleTime)
	for c := range s.all {
		switch n := s.hosts[c.host]; {
		case c.busy, c.used.After(since), ofHost && c.host != added.host:
		case idlest == nil, n > s.hosts[idlest.host], n == s.hosts[idlest.host] && c.used.Before(idlest.used):
			idlest = c
		}
	}
	return idlest
}

// Used says that something has just arrived on the connection.
func (c *Conn) Used() { c.SetBusy(false) }

// SetBusy says whether the connection is busy, which keeps it from being closed, or idle from now.
func (c *Conn) SetBusy(busy bool) {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.busy, c.used = busy, time.Now()
}

// Remove removes the connection. It may be called again.
func (c *Conn) Remove() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.remove(c)
}

func (s *Conns) remove(c *Conn) {
	if _, ok := s.all[c]; !ok {
		return
	}
	delete(s.all, c)
	if s.hosts[c.host]--; s.hosts[c.host] == 0 {
		delete(s.hosts, c.host)
	}
}

// Host returns what stands for the address of a connection. It is the same for all addresses that
// one host may choose, and empty for a unix socket.
func Host(conn net.Conn) string {
	if a, ok := conn.RemoteAddr().(*net.TCPAddr); ok {
		return loginlimit.Address(a.AddrPort().Addr())
	}
	return ""
}
