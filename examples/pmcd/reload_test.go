package main

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

// TestVerifyWarns verifies a configuration with a rule that is left out: a warning,
// and success.
func TestVerifyWarns(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(file, []byte("simple 253 dso simple_init /none/pmda_simple.so\n[access]\ndisallow \"\" : all;\nallow * : all;\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var output bytes.Buffer
	status := run([]string{"-v", "-c", file}, &output)
	if want := "access control error for host ''"; status != 0 || !strings.Contains(output.String(), want) {
		t.Errorf("exit status %d, says %q", status, &output)
	}
}

// TestReload reads a changed configuration: one with a fault, or without agents,
// changes nothing; one without a fault is used.
func TestReload(t *testing.T) {
	const line = "simple 253 dso simple_init /none/pmda_simple.so\n"
	conf, err := pcpconf.Load("")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	d := &daemon{options: &options{config: filepath.Join(dir, "pmcd.conf")}, conf: conf, tls: tlsconf.NewServer("", nil)}
	names := &nameFile{path: filepath.Join(dir, "names")}
	write := func(file, text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(names.path, "root {\n}\n")
	var log bytes.Buffer
	d.out = &log
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
		write(d.config, test.text)
		d.reload(srv, names, srv.Logger)
		if got := srv.NumAgents(); got != test.want {
			t.Errorf("%s: %d agents, want %d", test.name, got, test.want)
		}
	}
	log.Reset()
	write(d.config, line+"[access]\ndisallow \"\" : all;\nallow * : all;\n")
	d.reload(srv, names, srv.Logger)
	if want := "access control error for host ''"; !strings.Contains(log.String(), want) {
		t.Errorf("the log does not say %q of a rule that was left out:\n%s", want, &log)
	}
	if err := os.Remove(d.config); err != nil {
		t.Fatal(err)
	}
	d.reload(srv, names, srv.Logger)
	if got := srv.NumAgents(); got != 2 {
		t.Errorf("no file: %d agents", got)
	}
}
