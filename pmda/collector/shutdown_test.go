package collector_test

import (
	"context"
	"io"
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestShutdown checks that Shutdown refuses new clients and disconnects idle ones. Busy clients
// stay until its context ends.
func TestShutdown(t *testing.T) {
	t.Parallel()
	s := collectortest.CloseAtEnd(t, new(collector.Server))
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := ln.Addr().String()
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), ln) }()
	idle, active := collectortest.DialTCP(t, addr).Hello(), collectortest.DialTCP(t, addr).Hello()
	const numAgents = pdu.PMID(2<<22 | 0<<10 | 1)
	fetch := func() bool {
		if active.Conn.Write(0, pdu.Fetch{PMIDs: []pdu.PMID{numAgents}}) != nil {
			return false
		}
		_, _, err := active.Read()
		return err == nil
	}
	if !fetch() {
		t.Fatal("no values")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Shutdown(ctx) }()
	gone := make(chan error, 1)
	go func() {
		_, err := io.Copy(io.Discard, idle.Net)
		gone <- err
	}()
	for waiting := true; waiting; {
		select {
		case err := <-gone:
			if waiting = false; err != nil {
				t.Error(err)
			}
		default:
			if !fetch() {
				t.Fatal("a client that goes on was disconnected")
			}
		}
	}
	if c, err := net.Dial("tcp", addr); err == nil {
		c.Close()
		t.Error("a client has connected")
	}
	select {
	case <-ended:
		t.Error("Shutdown has not waited")
	default:
	}
	cancel()
	for fetch() { // until the Server has seen it
	}
	for _, c := range []chan error{ended, served} {
		select {
		case err := <-c:
			if err != nil {
				t.Error(err)
			}
		case <-time.After(time.Minute):
			t.Fatal("no end")
		}
	}
}
