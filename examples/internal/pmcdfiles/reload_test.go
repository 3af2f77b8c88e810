package pmcdfiles

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/examples/internal/dso"
	"github.com/pcp-go/pcp/internal/pcpconf"
	"github.com/pcp-go/pcp/internal/tlsconf"
	"github.com/pcp-go/pcp/pmda/collector"
)

// TestReload reads a changed configuration: one with a fault, or without agents,
// changes nothing; one without a fault is used.
func TestReload(t *testing.T) {
	const line = "simple 253 dso simple_init /none/pmda_simple.so\n"
	conf, err := pcpconf.Load("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	f := &Files{Conf: conf, Config: filepath.Join(dir, "pmcd.conf"), Names: filepath.Join(dir, "names"), TLS: tlsconf.NewServer("", nil)}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(f.Names, "root {\n}\n")
	var log bytes.Buffer
	srv := &collector.Server{DSO: dso.Agents(conf), Logger: slog.New(slog.NewTextHandler(&log, nil))}
	defer srv.Close()
	for _, test := range []struct {
		name, text string
		want       int // agents, with that of the collector
	}{
		{"agent", line, 2},
		{"empty", "", 2},
		{"no agents", "[access]\nallow * : all;\n", 2},
		{"fault", line + "other x\n", 2},
		{"one more", line + "trivial 250 dso trivial_init /none/pmda_trivial.so\n", 3},
		{"one less", line, 2},
	} {
		write(f.Config, test.text)
		f.Reload(srv, &log, srv.Logger)
		if got := srv.NumAgents(); got != test.want {
			t.Errorf("%s: %d agents, want %d", test.name, got, test.want)
		}
	}
	log.Reset()
	write(f.Config, line+"[access]\ndisallow \"\" : all;\nallow * : all;\n")
	f.Reload(srv, &log, srv.Logger)
	if want := "access control error for host ''"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q of a rule that was left out:\n%s", want, &log)
	}
	if err := os.Remove(f.Config); err != nil {
		t.Fatal(err)
	}
	f.Reload(srv, &log, srv.Logger)
	if got := srv.NumAgents(); got != 2 {
		t.Errorf("no file: %d agents", got)
	}
}
