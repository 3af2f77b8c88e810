package pmval

import (
	"bufio"
	"bytes"
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/changing"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/pmapitest"
)

var update = flag.Bool("update", false, "write the golden files of TestChangingSource")

// reportOf returns what is printed about a metric of a source that changes, with a line for each
// step of its script.
func reportOf(t *testing.T, metric string) string {
	var out bytes.Buffer
	synctest.Test(t, func(t *testing.T) {
		ctx := context.Background()
		src := changing.New()
		pc := src.Context()
		defer pc.Close()
		c := newCommand("pmval")
		steps := changing.Steps()
		c.Samples = len(steps)
		m, err := c.find(ctx, pc, pmapi.MetricSpec{Metric: metric})
		if err != nil {
			t.Fatal(err)
		}
		p := c.printer(ctx, m)
		p.out = bufio.NewWriter(&out)
		ticks := make(chan time.Time)
		p.ticks = ticks
		ended := make(chan struct{})
		go func() {
			for _, step := range steps {
				synctest.Wait()
				fmt.Fprintf(&out, "-- %s\n", step.Name)
				step.Do(src)
				select {
				case ticks <- time.Now():
				case <-ended:
					return
				}
			}
		}()
		if err := p.printHeader(); err != nil {
			t.Fatal(err)
		}
		if err := p.printReports(ctx); err != nil {
			t.Error(err)
		}
		p.out.Flush()
		close(ended)
	})
	return out.String()
}

// TestChangingSource reports metrics of a source that changes. When a name stands for another
// metric, there is a new header.
func TestChangingSource(t *testing.T) {
	for _, metric := range []string{changing.Latency, changing.Requests, changing.Queue} {
		got, golden := reportOf(t, metric), "testdata/changing/"+metric
		if *update {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", metric, diff)
		}
	}
}

// TestInstancesGone reports an instance of a metric that has no instances any more. The report
// ends with the reason.
func TestInstancesGone(t *testing.T) {
	ctx := t.Context()
	src := &pmapitest.Source{Start: changing.Start}
	m := pmapitest.Add(src, pmapitest.Metric[int32]{Name: "app.n", InDom: src.InDom("a")})
	m.Set(1)
	pc := src.Context()
	defer pc.Close()
	c := newCommand("pmval")
	found, err := c.find(ctx, pc, pmapi.MetricSpec{Metric: "app.n", Instances: []string{"a"}})
	if err != nil {
		t.Fatal(err)
	}
	p := c.printer(ctx, found)
	p.out = bufio.NewWriter(io.Discard)
	d := m.Desc()
	d.InDom = pdu.NoInDom
	m.SetDesc(d)
	err = p.printReports(ctx)
	if want := "pmval: app.n: singular metrics do not have instances"; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}
