package collector

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestReplyWaits checks that a client that does not read its replies is disconnected and counted as
// slow, and that its reply counts as delayed. Replies of a client that reads them do not.
func TestReplyWaits(t *testing.T) {
	s := &Server{WriteTimeout: 100 * time.Millisecond, Logger: slog.New(slog.DiscardHandler)}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	served := make(chan error)
	go func() { served <- s.Serve(ctx, ln) }()
	defer func() {
		end()
		<-served
	}()
	good := collectortest.DialTCP(t, ln.Addr().String()).Hello()
	for range 20 {
		good.Request(pdu.DescReq{PMID: pdu.MakePMID(2, 0, 0)})
	}
	if n, slow := s.waits.Count(), s.slow.Load(); n != 0 || slow != 0 {
		t.Errorf("%d replies have waited for a client that takes them, %d clients were stopped", n, slow)
	}
	slow := collectortest.DialTCP(t, ln.Addr().String()).Hello()
	slow.Net.SetDeadline(time.Now().Add(time.Minute))
	request := pdu.Fetch{PMIDs: make([]pdu.PMID, 2000)}
	for i := range request.PMIDs {
		request.PMIDs[i] = pdu.MakePMID(2, 0, 20)
	}
	for slow.Conn.Write(1, request) == nil { // until it is disconnected
	}
	collectortest.Eventually(t, "count of clients that were stopped", func() bool { return s.slow.Load() == 1 })
	if s.waits.Count() != 1 || s.waits.Max() <= 0 {
		t.Errorf("%d replies have waited, %v at most", s.waits.Count(), s.waits.Max())
	}
}
