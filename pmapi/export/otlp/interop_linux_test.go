package otlp_test

import (
	"context"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/export"
	"github.com/pcp-go/pcp/pmapi/export/otlp"
)

// TestInteropAgentRestart: when an agent of C's collector restarts and its counters begin again,
// their start time is not before their last value. Counters never fall without a new start time.
func TestInteropAgentRestart(t *testing.T) {
	pcptest.Need(t, "pmstore")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	c, err := pmapi.Dial(t.Context(), pmcd.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	r := &receiver{}
	e := &otlp.Exporter{Reader: &export.Reader{Context: c, Names: []string{"sample.milliseconds", "pmcd.pdu_in.total"}}, Interval: 20 * time.Millisecond, Client: &http.Client{Transport: r}}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	const counter = "sample.milliseconds"
	points := func() (all []series) {
		r.Mu.Lock()
		defer r.Mu.Unlock()
		for _, p := range r.taken {
			if p.metric == counter && p.value != nil {
				all = append(all, p)
			}
		}
		return all
	}
	until := func(what string, so func([]series) bool) {
		t.Helper()
		for deadline := time.Now().Add(2 * time.Minute); !so(points()); time.Sleep(20 * time.Millisecond) {
			if time.Now().After(deadline) {
				t.Fatalf("no %s, %d values\n%s", what, len(points()), pmcd.Log())
			}
		}
	}
	until("values", func(all []series) bool { return len(all) >= 10 })
	before := len(points())
	var tried time.Time
	until("values of the new agent", func(all []series) bool {
		if all[len(all)-1].start != all[0].start {
			return true
		}
		if time.Since(tried) > 10*time.Second { // if the new agent's first value exceeds the old agent's last one, the reset is invisible
			if _, stderr, status := pcptest.Run(t, nil, "", "pmstore", "-h", pmcd.Host(), "sample.control", "-1"); status != 0 {
				t.Log("pmstore, whose agent ends:", stderr)
			}
			if err := syscall.Kill(pmcd.PID(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			tried = time.Now()
		}
		return false
	})
	seen := len(points())
	until("more values", func(all []series) bool { return len(all) >= seen+10 })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for _, err := range r.Errs {
		t.Error(err)
	}
	last := map[string]series{}
	for _, p := range r.taken {
		monotone(t, last, p)
	}
	all := points()
	for i, p := range all[1:] {
		if p.start != all[i].start && (p.start < all[i].time || number(p.value) >= number(all[i].value)) {
			t.Errorf("%v begins anew after %v", p, all[i])
		}
	}
	t.Logf("%d values, about %d of them before: from %v to %v", len(all), before, all[0], all[len(all)-1])
}
