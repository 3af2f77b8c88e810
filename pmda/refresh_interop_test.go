package pmda_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmda"
)

// asPolled in the environment makes this test binary an agent with a Polled: it is the name of its
// log.
const asPolled = "GO_TEST_CACHED_AGENT"

// TestPolledProcess is no test but the agent of TestInteropPolled.
func TestPolledProcess(t *testing.T) {
	if os.Getenv(asPolled) == "" {
		t.Skip("the process that TestInteropPolled starts")
	}
	a := &pmda.Agent{Name: "web", Domain: 400}
	reads := uint64(0)
	web := pmda.Every(a, time.Hour, func(context.Context) (uint64, error) { reads++; return reads, nil })
	pmda.Register(a, pmda.Metric[uint64]{Name: "web.reads", Group: web.Group(),
		Value: func(context.Context, *pmda.Request, pdu.Instance) (uint64, error) { return *web.Load(), nil }})
	web.Register("web.refresh", 0)
	os.Args = []string{"pmdaweb", "-l", os.Getenv(asPolled), "-U", currentUser(t)}
	pmda.Main(a)
}

const polledNames = `root { web }
web { reads 400:0:0 refresh }
web.refresh { age 400:0:1 interval 400:0:2 refreshes 400:0:3 failures 400:0:4 }
`

// TestInteropPolled sets the interval with pmstore under PCP's pmcd, and sees the values change and
// get older.
func TestInteropPolled(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	pmcd := pcptest.StartPMCD(t, pcptest.Config{
		Agents: []string{"web 400 pipe binary " + self + " -test.run=^TestPolledProcess$"}, PMNS: polledNames,
		Env: []string{asPolled + "=" + t.TempDir() + "/log"},
	})
	run := func(argv ...string) string {
		out, errs, _ := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", pmcd.Host()}, argv[1:]...)...)
		return out + errs
	}
	value := func(metric, want string) {
		t.Helper()
		pcptest.Retry(t, func() string { // it reads in the background
			if got := run("pminfo", "-f", metric); !strings.Contains(got, want) {
				return got + "not " + want
			}
			return ""
		})
	}
	value("web.reads", "value 1\n")
	value("web.refresh.refreshes", "value 1\n")
	value("web.refresh.failures", "value 0\n")
	value("web.refresh.interval", "value 3600\n")
	for _, bad := range []string{"0", "-1", "1e99"} {
		if got := run("pmstore", "web.refresh.interval", bad); !strings.Contains(got, "Bad input to pmstore") {
			t.Errorf("pmstore %s: %q", bad, got)
		}
	}
	if got, want := run("pmstore", "web.refresh.interval", "0.001"), "web.refresh.interval old value=3600 new value=0.001\n"; got != want {
		t.Errorf("pmstore: %q, want %q", got, want)
	}
	pcptest.Retry(t, func() string {
		if got := run("pminfo", "-f", "web.reads"); strings.Contains(got, "value 1\n") {
			return "the values do not change: " + got
		}
		return ""
	})
	if got := run("pminfo", "-dT", "web.refresh.age"); !strings.Contains(got, "Semantics: instant  Units: sec") || !strings.Contains(got, "Seconds since") {
		t.Errorf("pminfo: %s", got)
	}
}
