package toolcmp

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropLocal compares tools with -L: PCP's load shared objects, ours have agents in Go.
func TestInteropLocal(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmprobe", "pmval", "pmevent", "pmstore", "pmclient", "pmstat", "newhelp", "pmnsmerge", "gcc", "make", testSuite+"/archives")
	dir := pcptest.ShortDir(t)
	agents, names, conf := localAgents(t, dir), localNames(t, dir), filepath.Join(dir, "pmcd.conf")
	var text strings.Builder
	for _, line := range []string{
		"# agents of local contexts", "pmcd 2 dso pmcd_init /nosuch", "linux 60 pipe binary /nosuch", "proc 3 pipe binary /nosuch -d 3",
		"sample 29 pipe binary /nosuch -d 29", "mmv 70 dso mmv_init " + agents + "/mmv/pmda_mmv.so",
		"sampledso 30 dso sample_init sample/pmda_sample.so", "simple 253 dso simple_init " + agents + "/simple/pmda_simple.so",
		"trivial 250 dso trivial_init trivial/pmda_trivial", "[access]", "disallow * : store;",
	} {
		fmt.Fprintln(&text, line)
	}
	derived := filepath.Join(dir, "derived")
	writeFiles(t, map[string]string{conf: text.String(), derived: "my.x = sampledso.long.ten * 3\nmy.y = pmcd.numclients + 1\nmy.z = nosuch + 1\n"})
	good, err := filepath.Abs("testdata/names/good")
	if err != nil {
		t.Fatal(err)
	}
	lines, err := ReadTable("testdata/local/local.lines", map[string]string{
		"PMDAS": agents, "SAMPLE": agents + "/sample/pmda_sample", "DERIVED": derived, "A": testSuite + "/archives", "GOOD": good,
	})
	if err != nil {
		t.Fatal(err)
	}
	env := []string{"PCP_PMCDCONF_PATH=" + conf, "PMNS_DEFAULT=" + names, "PCP_PMDAS_DIR=" + agents, "PMCD_SOCKET=/nosuch", "PMCD_PORT=1"}
	for i, l := range lines {
		lines[i].Env = append(env[:len(env):len(env)], l.Env...)
	}
	if len(lines) < 250 {
		t.Errorf("%d lines", len(lines))
	}
	compare(t, &Runner{Program: func(tool string) string { return pcptest.Build(t, "./examples/"+tool) }}, sampled("local", lines))
}

func writeFiles(t *testing.T, files map[string]string) {
	t.Helper()
	for path, text := range files {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// localAgents makes a directory of agents: the installed ones, sample with help texts, and simple
// and trivial, which PCP ships only as source.
func localAgents(t *testing.T, dir string) string {
	t.Helper()
	installed, agents := pcptest.Conf("PCP_PMDAS_DIR"), filepath.Join(dir, "agents")
	sample := filepath.Join(agents, "sample")
	pcptest.Need(t, filepath.Join(installed, "sample", "pmda_sample.so"), filepath.Join(installed, "linux", "pmda_linux.so"))
	if err := os.MkdirAll(sample, 0o755); err != nil {
		t.Fatal(err)
	}
	links := map[string]string{sample + "/pmda_sample.so": installed + "/sample/pmda_sample.so"}
	for _, name := range []string{"linux", "mmv"} {
		links[filepath.Join(agents, name)] = filepath.Join(installed, name)
	}
	for _, name := range []string{"simple", "trivial"} {
		built, _ := pcptest.BuildAgent(t, name)
		if out, errs, status := pcptest.RunIn(t, built, nil, "", "make", "pmda_"+name+".so"); status != 0 {
			t.Fatalf("make: exit status %d\n%s%s", status, out, errs)
		}
		links[filepath.Join(agents, name)] = built
	}
	for link, to := range links {
		if err := os.Symlink(to, link); err != nil {
			t.Fatal(err)
		}
	}
	help, err := os.ReadFile(filepath.Join(installed, "sample", "help"))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("\n@ SAMPLE.", "\n@ 30.", "\n@ sample.", "\n@ sampledso.").Replace(string(help))
	newhelp := filepath.Join(pcptest.Conf("PCP_BINADM_DIR"), "newhelp")
	root := filepath.Join(installed, "sample", "root")
	if _, errs, status := pcptest.RunIn(t, sample, nil, text, newhelp, "-n", root, "-o", "dsohelp"); status != 0 {
		t.Fatalf("newhelp: %s", errs)
	}
	return agents
}

// localNames makes a name space with agents that local contexts have and agents that they lack.
func localNames(t *testing.T, dir string) string {
	t.Helper()
	shipped, dso, all := filepath.Join(dir, "shipped"), filepath.Join(dir, "dso"), filepath.Join(dir, "names")
	writeFiles(t, map[string]string{
		shipped: pcptest.Names(t, "pmcd", "linux", "mmv", "simple", "trivial", "sample", "proc"),
		dso:     strings.NewReplacer("29:", "30:", "sample", "sampledso").Replace(pcptest.Names(t, "sample")),
	})
	if _, errs, status := pcptest.Run(t, nil, "", pcptest.Tool(t, "pmnsmerge"), "-a", dso, shipped, all); status != 0 {
		t.Fatalf("pmnsmerge: %s", errs)
	}
	return all
}
