package main

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// /metrics is of a format and of a view by what the request asks for; what has parameters of
// pmproxy is as pmproxy has it.
func TestInteropMetrics(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"linux"}})
	port := pcptest.FreePort(t)
	addr := fmt.Sprintf("http://localhost:%d", port)
	pcptest.Start(t, pcptest.Daemon{Path: pcptest.Build(t, "./examples/pmproxy"), Args: []string{"-p", fmt.Sprint(port)}, Addr: addr[len("http://"):], Dir: t.TempDir(),
		Env: []string{"PCP_TLSCONF_PATH=", fmt.Sprint("PMCD_PORT=", pmcd.Port())}})
	const open = "application/openmetrics-text;version=1.0.0,text/plain;q=0.5"
	for _, c := range []struct{ path, accept, kind, has string }{
		{"/metrics", "", "text/plain; version=0.0.4", "\nkernel_all_load{"},
		{"/metrics", open, "application/openmetrics-text; version=1.0.0", "\n# TYPE kernel_all_cpu_user_seconds counter\n"},
		{"/metrics?format=prometheus", open, "text/plain; version=0.0.4", "\nkernel_all_cpu_user_seconds_total{"},
		{"/metrics?view=node", open, "application/openmetrics-text; version=1.0.0", "\nnode_load1 "},
		{"/metrics?view=node", "", "text/plain; version=0.0.4", "\nnode_cpu_seconds_total{"},
		{"/metrics?names=kernel.all.load", open, "application/openmetrics-text; version=1.0.0", "\nkernel_all_load{"},
		{"/metrics?names=kernel.all.load&format=pcp", open, "text/plain; version=0.0.4", "\n# PCP5 kernel.all.load "},
		{"/metrics?view=nosuch", "", "application/json", "no such view: nosuch, but node"},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, addr+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if c.accept != "" {
			r.Header.Set("Accept", c.accept)
		}
		reply, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(reply.Body)
		reply.Body.Close()
		if kind := reply.Header.Get("Content-Type"); err != nil || !strings.HasPrefix(kind, c.kind) || !strings.Contains("\n"+string(body), c.has) {
			t.Errorf("%s, Accept %q: %s, %v:\n%.1000s", c.path, c.accept, kind, err, body)
		}
	}
}
