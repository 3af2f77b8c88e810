package simple_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// BenchmarkRoundTrip fetches the metrics simple.color and simple.numfetch through one C pmcd: in
// turn from PCP's agent and from ours, both on pipes. It reports the median time of each, and the
// median of the quotients of ours and PCP's of each turn.
func BenchmarkRoundTrip(b *testing.B) {
	pcptest.Need(b, "pmcd", "gcc", "make")
	dir, env := pcptest.AgentDir(b, "simple", "")
	logs := b.TempDir()
	line := func(name string, domain int, program string) string {
		return fmt.Sprintf("%s %d pipe binary %s -d %d -l %s", name, domain, program, domain, filepath.Join(logs, name))
	}
	pmcd := pcptest.StartPMCD(b, pcptest.Config{
		Agents: []string{
			line("simple", 253, filepath.Join(dir, "pmdasimple")),
			line("gosimple", 254, pcptest.Build(b, "./examples/simple")),
		},
		PMNS: "root {\n\tsimple\n\tgosimple\n}\n" +
			"simple {\n\tnumfetch 253:0:0\n\tcolor 253:0:1\n}\n" +
			"gosimple {\n\tnumfetch 254:0:0\n\tcolor 254:0:1\n}\n",
		Env: env,
	})
	c, err := pmapi.Dial(b.Context(), pmcd.Host())
	if err != nil {
		b.Fatal(err)
	}
	defer c.Close()
	var res pdu.Result
	fetch := func(d pdu.Domain) time.Duration {
		ids := []pdu.PMID{pdu.MakePMID(d, 0, 0), pdu.MakePMID(d, 0, 1)}
		start := time.Now()
		if err := c.Fetch(b.Context(), ids, &res); err != nil {
			b.Fatal(err)
		}
		took := time.Since(start)
		if res.At(0).Len() != 1 || res.At(1).Len() != 3 {
			b.Fatalf("domain %d: %v", d, res)
		}
		return took
	}
	var theirs, ours, quotients []float64
	for n := 0; b.Loop(); n++ {
		var t, o time.Duration
		if n%2 == 0 {
			t, o = fetch(253), fetch(254)
		} else {
			o, t = fetch(254), fetch(253)
		}
		theirs, ours = append(theirs, float64(t)), append(ours, float64(o))
		quotients = append(quotients, float64(o)/float64(t))
	}
	median := func(v []float64) float64 {
		slices.Sort(v)
		return v[len(v)/2]
	}
	b.ReportMetric(median(theirs), "C-ns")
	b.ReportMetric(median(ours), "Go-ns")
	b.ReportMetric(median(quotients), "Go/C")
}
