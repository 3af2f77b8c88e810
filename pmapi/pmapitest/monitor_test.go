package pmapitest_test

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
	"github.com/pcp-go/pcp/pmda"
	"github.com/pcp-go/pcp/pmda/collector"
)

// alarms returns the times when the load is above a limit or unknown.
func alarms(ctx context.Context, c *pmapi.Context, limit float64) (at []string) {
	g := c.Group()
	load := pmapi.Add[float64](g, "kernel.all.load", pmapi.Instance("1 minute"))
	for now := range g.Every(ctx, time.Second) {
		if v, err := load.Value(); err != nil || v > limit {
			at = append(at, now.Format(time.TimeOnly))
		}
	}
	return at
}

// TestAlarms tests a monitor with values that are a function of time, and with an error.
func TestAlarms(t *testing.T) {
	src := &pmapitest.Source{Start: noon, End: noon.Add(5 * time.Second)}
	pmapitest.Add(src, pmapitest.Metric[float64]{
		Name: "kernel.all.load", InDom: src.InDom("1 minute", "5 minute", "15 minute"),
		Value: func(now time.Time, _ pdu.Instance) (float64, error) {
			if now.Equal(noon) {
				return 0, pdu.ErrPMDANotReady
			}
			return now.Sub(noon).Seconds(), nil
		},
	})
	got := alarms(t.Context(), src.Context(), 3)
	if want := []string{"12:00:00", "12:00:04", "12:00:05"}; !slices.Equal(got, want) {
		t.Errorf("alarms at %q, want %q", got, want)
	}
}

// TestAlarmsWithCollector tests the same monitor together with a collector and an agent, in
// memory. All time in the bubble is virtual.
func TestAlarmsWithCollector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		a := &pmda.Agent{Name: "kernel", Domain: 400}
		loads := a.AddInDom("loads", "1 minute", "5 minute", "15 minute")
		pmda.Register(a, pmda.Metric[float64]{
			Name: "kernel.all.load", InDom: loads,
			Value: func(context.Context, *pmda.Request, pdu.Instance) (float64, error) {
				return time.Since(begin).Seconds(), nil
			},
		})
		srv := &collector.Server{}
		defer srv.Close()
		if err := srv.Add(a); err != nil {
			t.Fatal(err)
		}
		c, err := pmapi.Local(t.Context(), srv)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		ctx, cancel := context.WithTimeout(t.Context(), 5500*time.Millisecond)
		defer cancel()
		got := alarms(ctx, c, 3.5)
		at := func(sec time.Duration) string { return begin.Add(sec * time.Second).Format(time.TimeOnly) }
		if want := []string{at(4), at(5)}; !slices.Equal(got, want) {
			t.Errorf("alarms at %q, want %q", got, want)
		}
	})
}

// outages returns the names of the hosts that are not up, each once.
func outages(ctx context.Context, f *pmapi.Fleet[*pmapi.Item[float64]]) (hosts []string) {
	for tick := range f.Every(ctx, time.Second) {
		for _, r := range tick.Rows {
			if r.Status.State != pmapi.HostUp && !slices.Contains(hosts, r.Host) {
				hosts = append(hosts, r.Host)
			}
		}
	}
	return hosts
}

// TestOutages tests a monitor of many hosts. A minute of virtual time passes at once.
func TestOutages(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hosts := pmapitest.NewFleet(100, func(i int, src *pmapitest.Source) {
			pmapitest.Add(src, pmapitest.Metric[float64]{Name: "load"}).Set(float64(i))
		})
		f := &pmapi.Fleet[*pmapi.Item[float64]]{
			Items: func(g *pmapi.Group) *pmapi.Item[float64] {
				return pmapi.Add[float64](g, "load")
			},
		}
		if err := hosts.AddTo(f); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(1500*time.Millisecond, hosts.Host("host42").Hang)
		time.AfterFunc(3500*time.Millisecond, func() { hosts.Host("host7").Stop(nil) })
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if got := outages(ctx, f); !slices.Equal(got, []string{"host42", "host7"}) {
			t.Errorf("outages of %q", got)
		}
	})
}

// TestPackageComment checks that the tests in the package comment are those of this file.
func TestPackageComment(t *testing.T) {
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("monitor_test.go")
	if err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(string(doc), "//\tfunc ")[1:]
	if len(blocks) < 3 {
		t.Errorf("the package comment has %d functions", len(blocks))
	}
	for _, block := range blocks {
		body, _, _ := strings.Cut("func "+block, "\n//\t}\n")
		body = strings.ReplaceAll(strings.ReplaceAll(body, "\n//\t", "\n"), "\n//\n", "\n\n") + "\n}\n"
		if !strings.Contains(string(code), body) {
			t.Errorf("not in monitor_test.go:\n%s", body)
		}
	}
}
