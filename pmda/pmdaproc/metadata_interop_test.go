package pmdaproc_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestInteropMetadata checks that the metrics, PMIDs, types, instance domains, semantics and units
// are those of the C agent.
func TestInteropMetadata(t *testing.T) {
	pcptest.Need(t, "pmcd")
	c, our := cAgent(t, ""), ourAgent(t, "/")
	for _, top := range []string{"proc", "hotproc"} {
		want := c.names(top)
		if len(want) < 100 {
			t.Fatalf("C's agent has %d metrics below %s", len(want), top)
		}
		got := our.names(top)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("metrics below %s (-C +ours)\n%s", top, diff)
		}
		both := slices.DeleteFunc(want, func(name string) bool { _, is := slices.BinarySearch(got, name); return !is })
		if diff := cmp.Diff(c.descs(both), our.descs(both)); diff != "" {
			t.Errorf("descriptors below %s (-C +ours)\n%s", top, diff)
		}
	}
}

// TestInteropConditions checks that the C agent and ours accept the same conditions for hotproc,
// and print them in the same form.
func TestInteropConditions(t *testing.T) {
	pcptest.Need(t, "pmcd")
	if os.Geteuid() != 0 {
		t.Skip("only the root user can set conditions")
	}
	log := filepath.Join(t.TempDir(), "proc.log")
	our := pcptest.Config{PMNS: pcptest.Names(t, "proc"), Agents: []string{"proc 3 pipe binary " + pcptest.Build(t, "./examples/pmdaproc") + " -d 3 -l " + log}}
	results := func(config pcptest.Config) (all []string) {
		p := pcptest.StartPMCD(t, config)
		ctx, err := patientDialer.Dial(t.Context(), "unix://"+p.Socket())
		if err != nil {
			t.Fatal(err)
		}
		defer ctx.Close()
		c := agentClient{ctx, t}
		store := func(metric string, value any) {
			var code pdu.Error
			err := c.Store(t.Context(), metric, value)
			errors.As(err, &code)
			all = append(all, fmt.Sprint(metric, " = ", value, ": ", int(code)))
		}
		show := func(metrics ...string) {
			values := c.values(metrics)
			for _, name := range metrics {
				all = append(all, name+" "+values[name])
			}
		}
		for _, text := range []string{"true", "uid == 0", "Version 1.0 true", `"a" == fname`, "1 < 2", "fname == uname", "uid == 0 uid == 1", "Version 2.0 true", `fname ~ "x"`, "true &&", "uid = 0", "UID == 0",
			`cpuburn > 0.2 && (uname == "root" || fname ~ /pyth/) && !(psargs ~ /zzz/)`, "true || false && ! true", "virtualsize >= .5 || residentsize != 1.25 && gid <= 7 || true", "! (iodemand > 1 || iowait > 2) && ! schedwait == 3",
			"ctxswitch > 1 # comment", "(((true)))", "gname !~ /^x.*$/"} {
			store("hotproc.control.config", text)
			show("hotproc.control.config", "hotproc.control.config_gen")
		}
		store("hotproc.control.refresh", 77)
		store("hotproc.control.reload_config", 1)
		store("hotproc.total.cpuidle", 1)
		store("proc.nprocs", 1)
		store("proc.control.perclient.threads", 2)
		store("proc.control.perclient.cgroups", "")
		show("hotproc.control.refresh", "hotproc.control.config", "hotproc.control.config_gen", "hotproc.nprocs", "hotproc.psinfo.pid", "proc.control.all.threads",
			"proc.control.perclient.threads", "proc.control.perclient.cgroups", "hotproc.predicate.cpuburn", "hotproc.total.cpuburn")
		store("hotproc.control.config", "")
		show("hotproc.control.config", "hotproc.control.config_gen")
		store("proc.control.all.threads", 1)
		store("proc.control.perclient.threads", 0)
		show("proc.control.all.threads", "proc.control.perclient.threads")
		return all
	}
	want, got := results(pcptest.Config{Shipped: []string{"proc"}}), results(our)
	if diff := cmp.Diff(want, got); diff != "" || !slices.Contains(got, `hotproc.control.config         -1 "(true)"`) {
		t.Errorf("(-C +ours)\n%s\n%q", diff, got)
	}
}
