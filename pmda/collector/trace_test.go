package collector_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// TestTraceFromTheStart checks that Server.Trace sets the metrics that control the trace.
func TestTraceFromTheStart(t *testing.T) {
	for bits, want := range map[collector.Trace]string{0: "0 0 0", 1: "1 0 0", 2: "0 1 0", 3: "1 1 0", 256: "0 0 1", 259: "1 1 1", 4: "0 0 0"} {
		b := collector.NewFixture(t, &collector.Server{Trace: bits})
		got := strings.Join(slices.Concat(b.Fetch("control.traceconn"), b.Fetch("control.tracepdu"), b.Fetch("control.tracenobuf")), " ")
		if got != want {
			t.Errorf("Trace %d: %s, want %s", bits, got, want)
		}
	}
}

// TestTraceOfConnections checks that the trace has the events of clients and agents.
func TestTraceOfConnections(t *testing.T) {
	b := collector.NewFixture(t, &collector.Server{})
	b.Store("control.traceconn", 1)
	b.Store("control.tracepdu", 1)
	if err := b.Add(collectortest.EmptyAgent("a", 7)); err != nil {
		t.Fatal(err)
	}
	conn, err := b.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	conn.SetDeadline(time.Now().Add(time.Minute))
	if err := fetchOver(conn, []pdu.PMID{b.PMID("pid"), b.PMID("version")}); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	collectortest.Eventually(t, "end of the client", func() bool { return b.NumClients() == 0 })
	want := []string{"",
		"->PMCD event trace: starting at TIME",
		"->         Add PMDA: domain=7, DSO",
		"->         New client: [0] addr=in-process, fd=-1, seq=0",
		"->         Xmit: ERROR PDU, fd=-1, err=0: No error",
		"->         Recv: CREDS PDU, fd=-1, numcreds=1",
		"->         Recv: PROFILE PDU, fd=-1",
		"->         Recv: FETCH PDU, fd=-1, numpmid=2",
		"->         Xmit: FETCH PDU, fd=-1, numpmid=2",
		"->         Recv: RESULT PDU, fd=-1, numpmid=1",
		"->         Xmit: ERROR PDU, fd=-1, err=0: No error",
		"->         End client: [0] fd=-1", ""}
	got := b.Dumped()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	b.Log.Take()
	if err := b.Remove(7); err != nil {
		t.Fatal(err)
	}
	if log := collector.Untimed(strings.Join(b.Log.Take(), "\n")); !strings.Contains(log, "->         Drop PMDA: domain=7, DSO") {
		t.Errorf("no dump when an agent has gone: %q", log)
	}
}
