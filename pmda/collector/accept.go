package collector

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// accept takes clients from a listener until ctx ends. When the process is out of
// descriptors, clients are refused; existing ones go on.
func (s *Server) accept(ctx context.Context, l net.Listener) error {
	stop := context.AfterFunc(ctx, func() { l.Close() })
	defer stop()
	defer l.Close()
	s.spare.take()
	defer s.spare.give()
	var delay time.Duration
	var told time.Time
	for {
		conn, err := l.Accept()
		if err == nil {
			delay = 0
			if s.spare.take() {
				s.serveConn(conn)
			} else {
				s.turnAway(conn)
			}
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		if !temporary(err) {
			return fmt.Errorf("collector: accept on %v: %w", l.Addr(), err)
		}
		if now := time.Now(); now.Sub(told) >= time.Minute {
			told = now
			s.Logger.Warn("cannot accept clients", slog.Any("addr", l.Addr()), slog.Any("err", err))
		}
		if outOfDescriptors(err) && s.spare.give() {
			continue
		}
		delay = min(max(2*delay, 5*time.Millisecond), time.Second)
		select {
		case <-time.After(delay):
		case <-ctx.Done():
			return nil
		}
	}
}

// A spare is a descriptor that is held beside those of clients. If there are no
// others, it is given up for the next client, who is told that there are none:
// otherwise that client would wait at the listener for ever.
type spare struct {
	mu   sync.Mutex
	f    *os.File
	none bool // the system has no such thing
}

// take reports whether the spare is held, by now or before.
func (s *spare) take() bool {
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

// give reports whether the spare was held.
func (s *spare) give() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.f == nil {
		return false
	}
	s.f.Close()
	s.f = nil
	return true
}

// turnAway refuses a client that has got the spare descriptor, and takes that back.
func (s *Server) turnAway(conn net.Conn) {
	conn.SetWriteDeadline(time.Now().Add(refuseTimeout)) // no client is so slow, since nothing was sent before
	pdu.NewConn(conn).Write(0, pdu.Challenge{Code: pdu.ErrConnLimit})
	conn.Close()
	s.spare.take()
}

// serveConn starts to serve a connection; false if the Server has ended.
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
	full := s.clients.len() >= s.MaxClients
	if !full {
		s.clients.enter(c)
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
