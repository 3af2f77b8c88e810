package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/pdu"
	"github.com/pcp-go/pcp/pmapi"
)

// TestNamesOfDSO: a name space file names all metrics, also those of agents in this program. The
// log says which agents are left without a name.
func TestNamesOfDSO(t *testing.T) {
	dir := t.TempDir()
	conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
	for path, text := range map[string]string{
		conf:  "simple 253 dso simple_init /pmda_simple.so\ntrivial 250 dso trivial_init /pmda_trivial.so\n",
		names: "root {\n\tmy\n}\nmy {\n\ttime 250:0:0\n}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p, host, _ := start(t, nil, "-f", "-l", "-", "-i", "127.0.0.1", "-c", conf, "-n", names)
	c, err := pmapi.Dial(t.Context(), host)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	for name, want := range map[string]error{"simple.numfetch": pdu.ErrName, "my.time": nil, "trivial.time": pdu.ErrName} {
		if ids, err := c.Lookup(t.Context(), []string{name}); !errors.Is(err, want) {
			t.Errorf("%s: %v, %v, want %v", name, ids, err, want)
		}
	}
	const warning = "the file of -n has no metric of this agent"
	if log := p.Log(); strings.Count(log, warning) != 1 || !strings.Contains(log, "entry=simple_init domain=253") {
		t.Errorf("the log is %s", log)
	}
}
