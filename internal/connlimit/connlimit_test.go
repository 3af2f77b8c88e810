package connlimit_test

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
)

// A fake is a connection from an address.
type fake struct {
	net.Conn
	from   string
	closed bool
}

func (f *fake) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.ParseIP(f.from)} }
func (f *fake) Close() error         { f.closed = true; return nil }

// Beyond the limit the connection of the address with the most connections is closed that has been
// idle longest, and a new one is refused if none is idle.
func TestConns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := &connlimit.Conns{Max: 4, MaxPerHost: 3, IdleTime: time.Second}
		add := func(from string) (*fake, *connlimit.Conn) {
			f := &fake{from: from}
			c := s.Add(f)
			time.Sleep(time.Second)
			return f, c
		}
		a1, c1 := add("192.0.2.1")
		a2, _ := add("192.0.2.1")
		a3, _ := add("192.0.2.1")
		c1.SetBusy(true)
		a4, _ := add("192.0.2.1") // of one address: a2 gives way
		b1, _ := add("192.0.2.2")
		b2, _ := add("192.0.2.2") // of all: a3 gives way
		for i, got := range []bool{!a1.closed, a2.closed, a3.closed, !a4.closed, !b1.closed, !b2.closed} {
			if !got {
				t.Errorf("connection %d is in the wrong state", i)
			}
		}
		c1.SetBusy(false)
		c1.Remove()
		c1.Remove()
		x, _ := add("192.0.2.3")
		s.Add(&fake{from: "192.0.2.2"}) // b1 gives way
		if !b1.closed || x.closed {
			t.Error("the idlest connection of the address with the most was not closed")
		}
		s.IdleTime = time.Hour
		if s.Add(&fake{from: "192.0.2.4"}) != nil {
			t.Error("no connection is idle, and one more was added")
		}
	})
}
