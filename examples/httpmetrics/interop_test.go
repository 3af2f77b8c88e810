package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestTools has clients load the server, and PCP's tools show its metrics: by C's agent, from the
// file, and by the collector in the server. Both have the same values.
func TestTools(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmval", "pmrep")
	tmp := t.TempDir()
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"mmv"}, Env: []string{"PCP_TMP_DIR=" + tmp}})
	if err := os.Mkdir(filepath.Join(tmp, "mmv"), 0o755); err != nil {
		t.Fatal(err)
	}
	web, own := fmt.Sprintf("localhost:%d", pcptest.FreePort(t)), fmt.Sprintf("localhost:%d", pcptest.FreePort(t))
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/httpmetrics"), Args: []string{"-http", web, "-pcp", own},
		Env: []string{"PCP_TMP_DIR=" + tmp}, Addr: web})
	load(t, "http://"+web)

	hosts := []string{pmcd.Host(), own}
	for _, tool := range [][]string{
		{"pminfo", "-dfmtT", "mmv.web"},
		{"pmval", "-r", "-s", "1", "mmv.web.latency.p50"},
		{"pmval", "-r", "-s", "1", "mmv.web.latency.p99"},
		{"pmrep", "-r", "-s", "1", "mmv.web.requests", "mmv.web.in_flight", "mmv.web.latency.p50", "mmv.web.latency.p99"},
	} {
		pcptest.Retry(t, func() string { // the file gets the quantiles every second
			var shown [2]string
			for i, host := range hosts {
				shown[i] = show(t, host, tool)
			}
			if shown[0] != shown[1] {
				return fmt.Sprintf("%s: by the file (-), in process (+):\n%s", strings.Join(tool, " "), cmp.Diff(shown[0], shown[1]))
			}
			return ""
		})
	}
	for _, host := range hosts {
		checkValues(t, show(t, host, []string{"pminfo", "-f", "mmv.web"}))
	}
}

// The load: requests of a route, and those of none.
const (
	clients = 8
	orders  = 100 // of each client
	unknown = 5   // of each client
)

func load(t *testing.T, url string) {
	t.Helper()
	var wg sync.WaitGroup
	for c := range clients {
		wg.Go(func() {
			for i := range orders + unknown {
				path, want := fmt.Sprintf("/order/%d", c), http.StatusOK
				if i >= orders {
					path, want = "/nothing", http.StatusNotFound
				}
				r, err := http.Get(url + path)
				if err != nil {
					t.Error(err)
					return
				}
				r.Body.Close()
				if r.StatusCode != want {
					t.Errorf("%s: status %d", path, r.StatusCode)
				}
			}
		})
	}
	wg.Wait()
}

// show is what a tool prints, without the name of the host. PCP's scripts take the Python of the
// system.
func show(t *testing.T, host string, tool []string) string {
	t.Helper()
	argv := append([]string{tool[0], "-h", host}, tool[1:]...)
	out, errs, status := pcptest.Run(t, []string{"PATH=/usr/bin:" + os.Getenv("PATH")}, "", argv...)
	if status != 0 || errs != "" {
		t.Errorf("%s: exit status %d, %s", strings.Join(argv, " "), status, errs)
	}
	return strings.ReplaceAll(out, host, "HOST")
}

// checkValues compares the values that pminfo shows with the load.
func checkValues(t *testing.T, shown string) {
	t.Helper()
	value := func(metric, instance string) float64 {
		t.Helper()
		_, of, _ := strings.Cut(shown, "\nmmv.web."+metric+"\n")
		of, _, _ = strings.Cut(of, "\n\n")
		m := regexp.MustCompile(`(?m)^ +` + instance + `value (.*)$`).FindStringSubmatch(of)
		if m == nil {
			t.Errorf("no value of %s %s in\n%s", metric, instance, shown)
			return 0
		}
		f, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Error(err)
		}
		return f
	}
	const order, none = `inst \[\d+ or "GET_/order/{id}"\] `, `inst \[\d+ or "none"\] `
	for _, v := range []struct {
		metric, instance string
		want             float64
	}{
		{"in_flight", "", 0},
		{"requests", order, clients * orders}, {"requests", none, clients * unknown},
		{"latency.count", order, clients * orders}, {"latency.count", none, clients * unknown},
	} {
		if got := value(v.metric, v.instance); got != v.want {
			t.Errorf("%s %s is %v, want %v", v.metric, v.instance, got, v.want)
		}
	}
	p50, p99 := value("latency.p50", order), value("latency.p99", order)
	if p50 <= 0 || p99 < p50 || value("latency.sum", order) <= 0 {
		t.Errorf("p50 %v, p99 %v of a positive sum", p50, p99)
	}
}
