package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/mmv"
	"github.com/pcp-go/pcp/pdu"
)

// instrument publishes a metric of this program in a directory of $PCP_TMP_DIR.
func instrument(t *testing.T, tmp, dir string) {
	t.Helper()
	dir = filepath.Join(tmp, dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	r := &mmv.Registry{Name: "shop"}
	r.Counter("orders", mmv.Metric{Text: "Orders that were accepted", Units: pdu.UnitCount}).Add(7)
	if err := r.Publish(dir); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
}

// TestMappedValues shows the metrics that other programs have in MMV files, without a configuration
// file.
func TestMappedValues(t *testing.T) {
	pcptest.Need(t, "pminfo")
	tmp := t.TempDir()
	_, host, _ := start(t, []string{"PCP_TMP_DIR=" + tmp})
	if out := tool(t, "pminfo", "-h", host, "-f", "mmv.control.files"); !strings.Contains(out, "value 0\n") {
		t.Errorf("without files:\n%s", out)
	}
	instrument(t, tmp, "mmv")
	if out := tool(t, "pminfo", "-h", host, "-ft", "mmv.shop"); !strings.Contains(out, "mmv.shop.orders [Orders that were accepted]\n    value 7\n") {
		t.Errorf("with a file:\n%s", out)
	}
}

// TestMappedValuesOfConfiguration does so with the lines of a configuration file that are for the C
// agent.
func TestMappedValuesOfConfiguration(t *testing.T) {
	pcptest.Need(t, "pminfo")
	dir, tmp := t.TempDir(), t.TempDir()
	conf, names := filepath.Join(dir, "conf"), filepath.Join(dir, "pmns")
	for path, text := range map[string]string{
		conf:  "mmv 70 dso mmv_init /none/pmda_mmv.so\npmproxy 4 dso pmproxy_init /none/pmda_mmv.so\n",
		names: "root {\n mmv 70:*:*\n pmproxy 4:*:*\n}\n",
	} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	instrument(t, tmp, "mmv")
	instrument(t, tmp, "pmproxy")
	_, host, _ := start(t, []string{"PCP_TMP_DIR=" + tmp}, "-f", "-l", "-", "-i", "127.0.0.1", "-c", conf, "-n", names)
	out := tool(t, "pminfo", "-h", host, "-fm", "mmv.shop", "pmproxy.shop", "pmproxy.control.files")
	for _, want := range []string{"mmv.shop.orders PMID: 70.", "pmproxy.shop.orders PMID: 4.", "pmproxy.control.files PMID: 4.0.2\n    value 1\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("pminfo does not show %q:\n%s", want, out)
		}
	}
	if n := strings.Count(out, "    value 7\n"); n != 2 {
		t.Errorf("%d values of orders, want 2:\n%s", n, out)
	}
}
