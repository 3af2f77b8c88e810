package proxy_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pmapi"
	"github.com/pcp-go/pcp/pmapi/proxy"
)

// TestInteropDialogue sends the same bytes to PCP's pmproxy and to ours, and compares the replies.
func TestInteropDialogue(t *testing.T) {
	theirs := pcptest.StartPMProxy(t)
	ours, _ := start(t, &proxy.Proxy{Allow: anywhere})
	collector := pcptest.Serve(t, echo)
	host, port, _ := net.SplitHostPort(collector)
	for _, addr := range []string{theirs, ours} { // both lines at once; the collector speaks first
		c := dial(t, addr)
		io.WriteString(c, greeting+host+" "+port+"\n")
		expect(t, c, answer+"hello ")
		io.WriteString(c, "request")
		expect(t, c, "request")
	}
	for _, said := range [][]string{
		{"pmproxy-client 2\n"},
		{"pmproxy-client x\n"},
		{"pmproxy-client 1\r\n"},
		{"pxx /metrics HTTP/1.0\r\n\r\n"},
		{greeting, host + " 1\n"},
		{greeting, "nosuch.invalid 1\n"},
		{greeting, host + " 99999\n"},
	} {
		var got [2]string
		for i, addr := range []string{theirs, ours} {
			c := dial(t, addr)
			for k, s := range said {
				if _, err := io.WriteString(c, s); err != nil {
					t.Fatal(err)
				}
				if k == 0 && len(said) > 1 {
					expect(t, c, answer)
				}
			}
			b, _ := io.ReadAll(c) // a reset connection is as good as one that has ended
			got[i] = string(b)
		}
		if got[0] != got[1] {
			t.Errorf("%q: pmproxy %q, ours %q", said, got[0], got[1])
		}
	}
}

// TestInteropClients has C's pminfo and our client use both proxies.
func TestInteropClients(t *testing.T) {
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	ours, _ := start(t, &proxy.Proxy{Allow: anywhere})
	direct := fmt.Sprintf("127.0.0.1:%d", pmcd.Port())
	out := func(spec string) string {
		stdout, stderr, status := pcptest.Run(t, nil, "", "pminfo", "-h", spec, "-dmtf", "sample.bin", "sample.long")
		if status != 0 {
			t.Errorf("%s: %s", spec, stderr)
		}
		return stdout
	}
	want := out(direct)
	for _, p := range []string{pcptest.StartPMProxy(t), ours} {
		if diff := cmp.Diff(want, out(direct+"@"+p)); diff != "" {
			t.Errorf("through %s (-direct +proxy):\n%s", p, diff)
		}
		c, err := pmapi.Dial(t.Context(), direct+"@"+p)
		if err != nil {
			t.Fatal(err)
		}
		if names, err := c.Children(t.Context(), "sample"); err != nil || len(names) < 10 {
			t.Errorf("%s: %v, %v", p, names, err)
		}
		c.Close()
	}
}

// BenchmarkInteropPass sends requests through PCP's pmproxy and through ours, in turn. It reports
// the requests per second of both, and how many times faster ours is.
func BenchmarkInteropPass(b *testing.B) {
	const requests, size = 500, 1 << 10
	collector := pcptest.Serve(b, func(c net.Conn) { io.Copy(c, c) })
	ours, _ := start(b, &proxy.Proxy{Allow: anywhere})
	clients := [2]net.Conn{through(b, dial(b, pcptest.StartPMProxy(b)), collector), through(b, dial(b, ours), collector)}
	var took [2]time.Duration
	request, reply := []byte(strings.Repeat("x", size)), make([]byte, size)
	for range b.N {
		for i, c := range clients {
			began := time.Now()
			for range requests {
				if _, err := c.Write(request); err != nil {
					b.Fatal(err)
				}
				if _, err := io.ReadFull(c, reply); err != nil {
					b.Fatal(err)
				}
			}
			took[i] += time.Since(began)
		}
	}
	n := float64(b.N * requests)
	b.ReportMetric(n/took[0].Seconds(), "pmproxy/s")
	b.ReportMetric(n/took[1].Seconds(), "ours/s")
	b.ReportMetric(took[0].Seconds()/took[1].Seconds(), "ratio")
}
