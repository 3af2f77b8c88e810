package collector

import (
	"context"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/connlimit"
	"github.com/pcp-go/pcp/internal/ctxwait"
	"github.com/pcp-go/pcp/pdu"
)

// accept serves the clients of a listener until ctx ends. When the process is out of descriptors,
// it refuses new clients and continues to serve the others.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	defer ctxwait.CloseAfter(ctx, l)()
	s.spare.open()
	defer s.spare.close()
	var logged time.Time // when a failure was logged last
	for {
		var freed bool // the spare descriptor
		conn, err := connlimit.Accept(ctx, l, func(err error) bool {
			if !temporary(err) {
				return false
			}
			if now := time.Now(); now.Sub(logged) >= time.Minute {
				logged = now
				s.log.Warn("cannot accept clients", slog.Any("addr", l.Addr()), slog.Any("err", err))
			}
			freed = outOfDescriptors(err) && s.spare.close()
			return !freed
		})
		switch {
		case err != nil && ctx.Err() != nil:
			return nil
		case freed:
		case err != nil:
			return opError("accept", "", err)
		case s.spare.open():
			s.serveConn(conn)
		default:
			s.refuseConn(conn)
		}
	}
}

// localAddr reports whether only clients of this host can connect to an address.
func localAddr(a net.Addr) bool {
	switch a := a.(type) {
	case *net.UnixAddr:
		return true
	case *net.TCPAddr:
		return a.IP.IsLoopback()
	}
	return false
}

// A spareFile is an open file that reserves a descriptor. When the process is out of descriptors,
// the Server closes the file, so that it can accept the next client and refuse it. Otherwise that
// client would wait at the listener until others disconnect.
type spareFile struct {
	mu   sync.Mutex
	f    *os.File
	none bool // the system has no such file
}

// open opens the file, and reports whether it is open or not needed.
func (s *spareFile) open() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f != nil || s.none {
		return true
	}
	var err error
	if s.f, err = os.Open(os.DevNull); err != nil && !outOfDescriptors(err) {
		s.none = true
	}
	return s.f != nil || s.none
}

// close closes the file, and reports whether it was open.
func (s *spareFile) close() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return false
	}
	s.f.Close()
	s.f = nil
	return true
}

// refuseConn refuses a client that got the descriptor of the spare file, and reopens the file.
func (s *Server) refuseConn(conn net.Conn) {
	conn.SetWriteDeadline(time.Now().Add(refuseTimeout)) // the empty send buffer has room
	pdu.NewConn(conn).Write(0, pdu.Challenge{Code: pdu.ErrConnLimit})
	conn.Close()
	s.spare.open()
}

// serveConn starts to serve a connection. It returns false if the Server has ended.
func (s *Server) serveConn(conn net.Conn) bool {
	s.init()
	c := newClient(s, conn)
	s.startWatchdog.Do(func() { go s.watchdog() })
	s.mu.Lock()
	if s.hasEnded() {
		s.mu.Unlock()
		conn.Close()
		return false
	}
	full := s.clients.len() >= s.limits.clients
	if !full {
		s.clients.add(c)
	}
	s.wg.Add(1)
	s.mu.Unlock()
	go func() {
		defer s.wg.Done()
		if full {
			c.refuse(pdu.ErrConnLimit, "too many clients")
			return
		}
		c.serve()
	}()
	return true
}
