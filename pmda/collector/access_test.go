package collector_test

import (
	"errors"
	"net"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestAccessAfterAdd checks that SetAccess works after Add, and that the Server refuses to serve if
// Server.Access is changed after Add.
func TestAccessAfterAdd(t *testing.T) {
	withAgent := func() *collector.Server {
		s := collectortest.CloseAtEnd(t, &collector.Server{})
		if err := s.Add(collectortest.EmptyAgent("a", 100)); err != nil {
			t.Fatal(err)
		}
		return s
	}
	nobody := rules(t, `disallow ".*" : all; disallow ":*" : all; disallow "unix:" : all;`)
	dial := func(s *collector.Server) error {
		n, err := s.DialContext(t.Context(), "", "")
		if err != nil {
			return err
		}
		defer n.Close()
		_, err = pdu.ClientHello(pdu.NewConn(n), 1, 0)
		return err
	}
	s := withAgent()
	s.SetAccess(nobody)
	if err := dial(s); !errors.Is(err, pdu.ErrPermission) {
		t.Errorf("a client that is not allowed: %v, want %v", err, pdu.ErrPermission)
	}
	s = withAgent()
	s.Access = nobody
	if err := dial(s); !errors.Is(err, collector.ErrLateAccess) {
		t.Errorf("a client in this process: %v, want %v", err, collector.ErrLateAccess)
	}
	ln := newFakeListener()
	if err := s.Serve(t.Context(), ln); !errors.Is(err, collector.ErrLateAccess) {
		t.Errorf("Serve: %v, want %v", err, collector.ErrLateAccess)
	}
	if _, err := ln.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

func TestWriteAccess(t *testing.T) {
	s := collectortest.CloseAtEnd(t, &collector.Server{Access: rules(t, `allow "unix:": maximum 3 connections;`)})
	collectortest.Connect(t, s)
	var b strings.Builder
	if err := s.WriteAccess(&b); err != nil {
		t.Fatal(err)
	}
	const row = "\n          1     3 /                                       /                                         1 unix:\n"
	if !strings.Contains(b.String(), row) {
		t.Errorf("no row %q in\n%s", row, &b)
	}
	s.SetAccess(nil)
	b.Reset()
	s.WriteAccess(&b)
	if got := strings.Count(b.String(), "access list empty"); got != 3 {
		t.Errorf("tables of nothing: got\n%s", &b)
	}
}
