package collector_test

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
	"github.com/pcp-go/pcp/pmda/collector/internal/collectortest"
)

// A logBuffer holds the log of a collector.
type logBuffer struct{ pcptest.LogBuffer }

// matching counts the lines that match a pattern, and adds up the numbers in its group, if any.
func (b *logBuffer) matching(t *testing.T, pattern string) (lines, sum int) {
	t.Helper()
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(b.String(), -1) {
		lines++
		if len(m) > 1 {
			n, err := strconv.Atoi(m[1])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return lines, sum
}

// TestLogLimit has clients break the protocol and agents fail 1,000 times in 250 s. The log must
// have the first lines of each reason, the number of the others, and later reasons.
func TestLogLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := new(logBuffer)
		s := &collector.Server{Logger: slog.New(slog.NewTextHandler(log, nil))}
		n := 0
		flaps := &pmda.Agent{Name: "flaps", Domain: 12} // logs to the Server's Logger
		pmda.Register(flaps, pmda.Metric[int32]{Name: "flaps.now", Value: func(context.Context, *pmda.Request, pdu.Instance) (int32, error) {
			if n%2 == 0 {
				return 0, nil
			}
			return 0, fmt.Errorf("port %d", n)
		}})
		collectortest.Add(t, s, flaps,
			&collectortest.Agent{Name: "panics", Domain: 10, Failing: func() error { panic(fmt.Sprint("at ", n)) }},
			&collectortest.Agent{Name: "late", Domain: 11, Failing: func() error { panic("at last") }})
		idle := collectortest.Connect(t, s)
		const times = 1000
		for range times {
			n++
			bad := collectortest.Connect(t, s)
			// The length is less than that of a header.
			bad.SendBytes([]byte{0, 0, 0, byte(n%11 + 1), 0, 0, 0, 0, 0, 0, 0, 0})
			bad.ReceiveAll()
			s.EndPanicPause(10)
			idle.Code(pdu.DescReq{PMID: pdu.MakePMID(10, 0, 1)})
			idle.RoundTrip(pdu.Fetch{PMIDs: []pdu.PMID{pdu.MakePMID(12, 0, 0)}})
			time.Sleep(250 * time.Millisecond)
		}
		idle.Code(pdu.DescReq{PMID: pdu.MakePMID(11, 0, 1)})
		for _, tt := range []struct {
			pattern string
			times   int
		}{
			{`msg="client closed.*length`, times},
			{`msg="agent panicked.* agent=panics `, times},
			{`msg="no value.* agent=flaps metric=flaps.now `, times / 2},
		} {
			if lines, _ := log.matching(t, tt.pattern); lines < 12 || lines > 24 {
				t.Errorf("%d lines match %s", lines, tt.pattern)
			}
		}
		if lines, _ := log.matching(t, `msg="agent panicked" agent=late`); lines != 1 {
			t.Errorf("%d lines of the agent that failed last", lines)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for _, tt := range []struct {
			what  string
			times int
		}{{"client closed", times}, {"agent panicked", times + 1}, {"no value", times / 2}} {
			lines, _ := log.matching(t, `msg="`+tt.what+`" `)
			if _, more := log.matching(t, `msg="`+tt.what+`: (\d+) more of this kind in the last \d+ s" `); lines+more != tt.times {
				t.Errorf("%q: %d lines and %d that were counted, want %d in all", tt.what, lines, more, tt.times)
			}
		}
		if t.Failed() {
			t.Log(strings.ReplaceAll(log.String(), "\\n", " "))
		}
	})
}

// TestLogOfTrace checks that the event trace is logged completely.
func TestLogOfTrace(t *testing.T) {
	log := new(logBuffer)
	s := collectortest.CloseAtEnd(t, &collector.Server{
		Logger: slog.New(slog.NewTextHandler(log, nil)), Trace: collector.TracePDUs | collector.TraceUnbuffered,
	})
	c := collectortest.Connect(t, s)
	for range 50 {
		c.Code(pdu.DescReq{PMID: pdu.MakePMID(2, 0, 0)})
	}
	if lines, _ := log.matching(t, `Recv: DESC_REQ PDU`); lines != 50 {
		t.Errorf("%d of 50 requests are in the log", lines)
	}
}
