package pmcdfiles

import (
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
		f := &Files{Conf: new(pcpconf.Conf), Config: c.config}
		err := f.LoadTLS(io.Discard, slog.New(slog.DiscardHandler))
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, configuration %q: %v", c.path, c.config, err)
		}
	}
}
