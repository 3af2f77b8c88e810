package pminfo

import (
	"fmt"
	"net"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// environment is variables of clients. LIVE is the port of a collector, SILENT of a server that
// greets and says no more, CLOSED of none, and PLACE is the collector's unix socket.
var environment = []struct {
	name, env, host string
	least, most     time.Duration // that the tools take
	ours            string        // a line that only ours prints
}{
	{name: "port", env: "PMCD_PORT=LIVE", host: "127.0.0.1"},
	{name: "ports", env: "PMCD_PORT=CLOSED,LIVE", host: "127.0.0.1"},
	{name: "no collector", env: "PMCD_PORT=CLOSED", host: "127.0.0.1"},
	{name: "port of the host", env: "PMCD_PORT=CLOSED", host: "127.0.0.1:LIVE"},
	{name: "bad port", env: "PMCD_PORT=x", host: "127.0.0.1:LIVE", ours: "pminfo: ignored bad PMCD_PORT = 'x'"},
	{name: "bad second port", env: "PMCD_PORT=LIVE,x", host: "127.0.0.1:LIVE", ours: "pminfo: ignored bad PMCD_PORT = 'LIVE,x'"},
	{name: "socket", env: "PMCD_SOCKET=PLACE", host: "unix:"},
	{name: "socket of local", env: "PMCD_SOCKET=PLACE PMCD_PORT=CLOSED", host: "local:"},
	{name: "port of local", env: "PMCD_SOCKET=/nosuch PMCD_PORT=LIVE", host: "local:"},
	{name: "no socket", env: "PMCD_SOCKET=/nosuch PMCD_PORT=LIVE", host: "unix:"},
	{name: "request", env: "PMCD_REQUEST_TIMEOUT=1", host: "127.0.0.1:SILENT", least: 900 * time.Millisecond, most: 8 * time.Second},
	{name: "request of several ports", env: "PMCD_REQUEST_TIMEOUT=2 PMCD_PORT=CLOSED,SILENT", host: "127.0.0.1", least: 1900 * time.Millisecond, most: 9 * time.Second},
	{name: "bad times", env: "PMCD_REQUEST_TIMEOUT=x PMCD_CONNECT_TIMEOUT=-1", host: "127.0.0.1:LIVE"},
}

// messageOrigin is what libpcp says of where a warning is from.
var messageOrigin = regexp.MustCompile(`(?m)^(\[.*\] pminfo\(\d+\) Warning: (auxconnect\.c:\w+: )?|pminfo: )?(ignored bad )`)

// TestInteropEnvironment checks that environment variables of clients have the same effect on PCP's
// tool and ours. PMCD_CONNECT_TIMEOUT is left out because libpcp 6.0.3 only validates it and always
// waits for 5 s.
func TestInteropEnvironment(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd"}})
	place := strings.NewReplacer("LIVE", fmt.Sprint(pmcd.Port()), "SILENT", silentPort(t), "CLOSED", fmt.Sprint(pcptest.FreePort(t)), "PLACE", pmcd.Socket()).Replace
	ours := pcptest.Build(t, "./examples/pminfo")
	for _, e := range environment {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			env, args := strings.Fields(place(e.env)), []string{"-h", place(e.host), "-f", "pmcd.control.timeout"}
			start := time.Now()
			both := pcptest.RunAll(t, env, append([]string{"pminfo"}, args...), append([]string{ours}, args...))
			if d := time.Since(start); d < e.least || e.most > 0 && d > e.most {
				t.Errorf("took %v, not %v to %v", d, e.least, e.most)
			}
			if line := place(e.ours) + "\n"; e.ours != "" {
				if !strings.Contains(both[1].Stderr, line) {
					t.Errorf("ours does not say %s%s", line, both[1].Stderr)
				}
				both[1].Stderr = strings.Replace(both[1].Stderr, line, "", 1)
			}
			for i := range both {
				both[i].Stderr = messageOrigin.ReplaceAllString(both[i].Stderr, "$3")
			}
			if diff := cmp.Diff(both[0], both[1]); diff != "" {
				t.Errorf("(-PCP +ours):\n%s", diff)
			}
		})
	}
}

// silentPort is the port of a server that greets clients as a collector does, and says no more.
func silentPort(t *testing.T) string {
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var open []net.Conn
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			open = append(open, c)
			c.Write([]byte("\x00\x00\x00\x14\x00\x00\x70\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x01\x0e\x40"))
		}
	})
	t.Cleanup(func() {
		ln.Close()
		serving.Wait()
		for _, c := range open {
			c.Close()
		}
	})
	_, port, _ := net.SplitHostPort(ln.Addr().String())
	return port
}
