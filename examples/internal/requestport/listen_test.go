package requestport

import (
	"net"
	"path/filepath"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A collector of another port than the default, and without a configuration file, leaves PCP's own
// unix socket alone: clients expect the collector of the default port there.
func TestSocketOfOtherPort(t *testing.T) {
	for _, c := range []struct {
		ports    []string
		embedded bool
		isPCP    bool
	}{
		{[]string{DefaultPort}, true, true},
		{[]string{"4321"}, true, false},
		{[]string{"4321", DefaultPort}, true, true},
		{[]string{"4321"}, false, true},
	} {
		run, own := pcptest.ShortDir(t), pcptest.ShortDir(t)
		t.Setenv("XDG_RUNTIME_DIR", own)
		p, err := (&Config{Ports: c.ports, Embedded: c.embedded, RunDir: run}).listenUnix(nil)
		if err != nil {
			t.Fatal(err)
		}
		if p.Listener == nil {
			t.Skip("the system has no unix sockets")
		}
		defer p.Close()
		dir := own
		if c.isPCP {
			dir = run
		}
		if want := filepath.Join(dir, "pmcd.socket"); p.name != want || p.Addr().(*net.UnixAddr).Name != want {
			t.Errorf("ports %v, embedded %v: %s, want %s", c.ports, c.embedded, p.name, want)
		}
	}
}
