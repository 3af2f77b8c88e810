package pcptest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestStartPMCD(t *testing.T) {
	Need(t, "pmcd", "pminfo")
	p := StartPMCD(t, Config{Shipped: []string{"pmcd", "sample", "linux", "proc", "mmv", "simple", "trivial", "txmon"}})
	for _, host := range []string{p.Host(), "unix://" + p.Socket()} {
		out, errs, status := Run(t, nil, "", "pminfo", "-h", host, "-f", "pmcd.version", "sample.string.hullo", "simple.color",
			"trivial.time", "txmon.control.level", "hinv.ncpu", "proc.nprocs")
		if status != 0 || errs != "" {
			t.Errorf("pminfo -h %s: status %d, stderr %q\n%s", host, status, errs, out)
		}
		for _, want := range []string{"hullo world!", `inst [2 or "blue"]`, "trivial.time\n    value "} {
			if !strings.Contains(out, want) {
				t.Errorf("pminfo -h %s printed no %q:\n%s", host, want, out)
			}
		}
		// The help text of the built agents is where they look for it.
		out, errs, status = Run(t, nil, "", "pminfo", "-h", host, "-T", "simple.color", "trivial.time")
		if status != 0 || errs != "" || !strings.Contains(out, `designated "red"`) {
			t.Errorf("pminfo -h %s -T: status %d, stderr %q\n%s", host, status, errs, out)
		}
	}
	agents := descendants(p.PID())
	if len(agents) != 6 {
		t.Errorf("%d agent processes, want 6", len(agents))
	}
	p.Stop()
	for _, a := range agents {
		if s, ok := readStat(a.pid); ok && s.start == a.start && s.state != 'Z' {
			t.Errorf("agent process %d outlived its pmcd", a.pid)
		}
	}
}

func TestStartPMCDAccess(t *testing.T) {
	Need(t, "pmcd", "pmstore")
	p := StartPMCD(t, Config{Shipped: []string{"sample"}, Access: `disallow ".*" : store;`})
	out, errs, status := Run(t, nil, "", "pmstore", "-h", p.Host(), "sample.write_me", "3")
	if status != 1 || !strings.Contains(out+errs, "No permission") {
		t.Errorf("pmstore without permission: status %d, stdout %q, stderr %q", status, out, errs)
	}
}

// TestRunScript shows that the transcripts of two runs are equal, and that the scripts reach the
// agents.
func TestRunScript(t *testing.T) {
	Need(t, "dbpmda")
	for name, want := range map[string]string{
		"simple":  "253.0.1 [0]: 12 -> 300\n253.0.1 [1]: 12 -> 300\n253.0.1 [2]: 12 -> 300\nSending Result...\nError PDU: Bad input to pmstore\n",
		"trivial": "250.0.0: VALUE -> 1\nSending Result...\nError PDU: No permission to perform requested operation\n",
	} {
		t.Run(name, func(t *testing.T) {
			commands := 0
			for line := range strings.Lines(Script(t, name)) {
				if !strings.HasPrefix(line, "#") {
					commands++
				}
			}
			if commands < 45 {
				t.Errorf("the script has %d commands", commands)
			}
			first := RunScript(t, name, "")
			if diff := cmp.Diff(first, RunScript(t, name, "")); diff != "" {
				t.Errorf("two runs differ (-first +second):\n%s", diff)
			}
			if !strings.Contains(first, want) {
				t.Errorf("the transcript has no %q:\n%s", want, first)
			}
		})
	}
}

func TestRunAll(t *testing.T) {
	// Each waits for what the other writes: they have to run at the same time.
	dir := t.TempDir()
	wait := func(mine, other, say, status string) []string {
		return []string{"sh", "-c", `cd "$0"; : >` + mine + `; for i in $(seq 3000); do [ -e ` + other + ` ] && echo ` + say +
			` && echo $WHO >&2 && exit ` + status + `; sleep 0.02; done; exit 99`, dir}
	}
	got := RunAll(t, []string{"WHO=both"}, wait("a", "b", "first", "0"), wait("b", "a", "second", "3"))
	want := []Output{{Stdout: "first\n", Stderr: "both\n"}, {Stdout: "second\n", Stderr: "both\n", Status: 3}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
