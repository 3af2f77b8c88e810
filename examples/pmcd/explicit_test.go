package main

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/build"
	"github.com/pcp-go/pcp/internal/pcpconf"
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

// The option --version is not the usage message.
func TestVersionOption(t *testing.T) {
	var out strings.Builder
	if status := run([]string{"--version"}, &out); status != 0 || out.String() != build.Text("pmcd") {
		t.Errorf("exit status %d, %s", status, out.String())
	}
}
