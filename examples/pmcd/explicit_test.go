package main

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/pcptest"
)

// A file that PCP_TLSCONF_PATH names and that cannot be read ends the start: the collector would
// serve without TLS.
func TestMissingTLSConf(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "typo")
	for _, c := range []struct {
		path, config string
		want         string
	}{
		{"", "", ""},
		{missing, "", missing + ": no such file"},
		{missing, "conf", missing + ": no such file"},
		{os.DevNull, "", ""},
	} {
		t.Setenv("PCP_TLSCONF_PATH", c.path)
		d := &daemon{options: &options{}, conf: new(pcpconf.Conf)}
		d.config = c.config
		err := d.loadTLS(io.Discard, slog.New(slog.DiscardHandler))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, configuration %q: %v", c.path, c.config, err)
		}
	}
}

// A collector of another port than the default, and without a configuration file, leaves PCP's own
// unix socket alone: clients expect the collector of the default port there.
func TestSocketOfOtherPort(t *testing.T) {
	for _, c := range []struct {
		ports  []string
		config string
		isPCP  bool
	}{
		{[]string{defaultPort}, "", true},
		{[]string{"4321"}, "", false},
		{[]string{"4321", defaultPort}, "", true},
		{[]string{"4321"}, "conf", true},
	} {
		run, own := pcptest.ShortDir(t), pcptest.ShortDir(t)
		t.Setenv("PCP_RUN_DIR", run)
		t.Setenv("XDG_RUNTIME_DIR", own)
		o := &options{}
		o.ports, o.config = c.ports, c.config
		p, err := o.listenUnix(new(pcpconf.Conf), []requestPort{})
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
			t.Errorf("ports %v, configuration %q: %s, want %s", c.ports, c.config, p.name, want)
		}
	}
}

// The option --version is not the usage message.
func TestVersionOption(t *testing.T) {
	var out strings.Builder
	if status := run([]string{"--version"}, &out); status != 0 || out.String() != build.Text("pmcd") {
		t.Errorf("exit status %d, %s", status, out.String())
	}
}
