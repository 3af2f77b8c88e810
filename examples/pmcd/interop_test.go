package main

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// giveTime are arguments that give agents time to start and to reply, which a busy machine needs.
var giveTime = []string{"-q", "60", "-t", "60"}

// start runs the program on a free port and a new socket; host is for -h.
func start(t *testing.T, env []string, args ...string) (p *pcptest.Process, host, socket string) {
	t.Helper()
	port := pcptest.FreePort(t)
	socket = filepath.Join(pcptest.ShortDir(t), "pmcd.socket")
	host = fmt.Sprintf("localhost:%d", port)
	p = pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"),
		Args: slices.Concat([]string{"-p", strconv.Itoa(port), "-s", socket}, giveTime, args),
		Env:  env, Dir: t.TempDir(), Addr: host, Greets: true,
	})
	return p, host, socket
}

// TestSecondSocket starts collectors of one user with only their ports given. Each must get a
// separate socket.
func TestSecondSocket(t *testing.T) {
	dir := pcptest.ShortDir(t)
	for i := range 3 {
		port := pcptest.FreePort(t)
		p := pcptest.Start(t, pcptest.Daemon{
			Path: pcptest.Build(t, "./examples/pmcd"), Args: append([]string{"-p", strconv.Itoa(port)}, giveTime...),
			Env: []string{"PCP_RUN_DIR=" + filepath.Join(dir, "none"), "XDG_RUNTIME_DIR=" + dir}, Dir: t.TempDir(), Addr: fmt.Sprintf("localhost:%d", port), Greets: true,
		})
		want := "unix:" + filepath.Join(dir, "pmcd.socket")
		if i > 0 {
			want = "unix:" + filepath.Join(dir, fmt.Sprintf("pmcd-%d.socket", port))
		}
		if !strings.Contains(p.Log(), want+";") {
			t.Errorf("collector %d says nothing of %s:\n%s", i, want, p.Log())
		}
	}
}

// tool runs a tool of PCP that has to succeed and print nothing to standard error.
func tool(t *testing.T, argv ...string) string {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, "", argv...)
	if status != 0 || errs != "" {
		t.Fatalf("%s: exit status %d\n%s%s", strings.Join(argv, " "), status, out, errs)
	}
	return out
}

// TestLogOfFailure finds in the log why the program did not start, before its last
// line.
func TestLogOfFailure(t *testing.T) {
	dir := t.TempDir()
	conf, log := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "log")
	if err := os.WriteFile(conf, []byte("simple 253 dso simple_init /none/pmda_simple.so\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, _, status := pcptest.Run(t, nil, "", pcptest.Build(t, "./examples/pmcd"), "-f", "-c", conf, "-l", log, "-n", filepath.Join(dir, "none"))
	text, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	if status != 1 || !strings.HasPrefix(lines[len(lines)-1], "Log finished ") || !strings.Contains(string(text), "cannot load the name space") {
		t.Errorf("exit status %d, log:\n%s", status, text)
	}
}

// TestEmbeddedAgents shows metrics of the embedded agents with PCP's tools.
func TestEmbeddedAgents(t *testing.T) {
	pcptest.Need(t, "pminfo", "pmval", "pmprobe", "pmstore")
	p, host, socket := start(t, nil)
	out := tool(t, "pminfo", "-h", host, "-f", "simple", "pmcd.version")
	for _, want := range []string{
		`inst \[0 or "red"\] value 1\n`, `inst \[1 or "green"\] value 101\n`, `inst \[2 or "blue"\] value 201\n`,
		`simple.numfetch\n    value 1\n`, `inst \[2 or "hour"\] value \d+\n`, `pmcd.version\n    value "\d+\.\d+\.\d+"\n`,
	} {
		if !regexp.MustCompile(want).MatchString(out) {
			t.Errorf("pminfo -f simple does not show %q:\n%s", want, out)
		}
	}
	if out := tool(t, "pmval", "-h", host, "-s", "3", "-t", "0.05", "simple.color"); !strings.Contains(out, "red") || strings.Count(out, "\n") < 9 {
		t.Errorf("pmval:\n%s", out)
	}
	if out := tool(t, "pmprobe", "-h", host, "-v", "simple"); !regexp.MustCompile(`(?m)^simple\.now 3 \d+ \d+ \d+$`).MatchString(out) {
		t.Errorf("pmprobe -v simple:\n%s", out)
	}
	if out := tool(t, "pmstore", "-h", host, "simple.numfetch", "0"); !regexp.MustCompile(`^simple\.numfetch old value=\d+ new value=0\n$`).MatchString(out) {
		t.Errorf("pmstore:\n%s", out)
	}
	if out := tool(t, "pminfo", "-h", "unix://"+socket, "-f", "simple.numfetch"); !strings.Contains(out, "value 1\n") {
		t.Errorf("pminfo over the unix socket, after the store:\n%s", out)
	}
	if !strings.Contains(p.Log(), "try: pminfo -h "+host) {
		t.Errorf("the first line does not say how to look:\n%s", p.Log())
	}
}

// TestEverything has pminfo print everything about every metric.
func TestEverything(t *testing.T) {
	pcptest.Need(t, "pminfo")
	_, host, _ := start(t, nil)
	out := tool(t, "pminfo", "-h", host, "-dmtTlf")
	bad := regexp.MustCompile(`(?m)^(.*: )?Error: .*$`).FindAllString(out, -1)
	bad = slices.DeleteFunc(bad, func(s string) bool { // of what this kernel lacks, and of processes, which a client of unknown user may not see
		return strings.Contains(s, pdu.ErrAppVersion.Error()) || strings.Contains(s, pdu.ErrPermission.Error())
	})
	if len(bad) > 0 {
		t.Errorf("%q", bad)
	}
	if n := strings.Count(out, "Data Type:"); n < 100 {
		t.Errorf("pminfo described %d metrics, want those of pmcd and simple", n)
	}
}

// withAgents runs C pmcd and ours with the same shipped agents.
func withAgents(t *testing.T, agents ...string) (c *pcptest.PMCD, host string) {
	t.Helper()
	c = pcptest.StartPMCD(t, pcptest.Config{Shipped: agents})
	set := pcptest.Agents(t, agents...)
	dir := t.TempDir()
	conf, names := filepath.Join(dir, "pmcd.conf"), filepath.Join(dir, "pmns")
	for path, text := range map[string]string{conf: set.Conf, names: set.PMNS} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	p, host, _ := start(t, set.Env, "-f", "-l", "-", "-i", "INADDR_LOOPBACK", "-c", conf, "-n", names)
	for _, a := range agents {
		if a != "pmcd" && !strings.Contains(p.Log(), "agent started agent="+a) {
			t.Fatalf("agent %s did not start:\n%s", a, p.Log())
		}
	}
	return c, host
}

// TestHostsAgents runs C agents under our collector: what the tools show of
// their metrics is what they show under C pmcd, byte for byte.
func TestHostsAgents(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo")
	c, host := withAgents(t, "pmcd", "sample", "linux", "proc")
	for _, agent := range []struct {
		name   string
		labels bool
	}{{"sample", true}, {"linux", true}, {"proc", false}} {
		t.Run(agent.name, func(t *testing.T) {
			names := metricsOf(t, c.Host(), agent.name)
			compare(t, c.Host(), host, append([]string{"-dmtT"}, names...))
			if agent.labels {
				compare(t, c.Host(), host, append([]string{"-l"}, names...))
			}
		})
	}
}

// domains are the first fields of the PMIDs of the shipped agents.
var domains = map[string]string{"sample": "29", "linux": "60", "proc": "3"}

// metricsOf lists the metrics of a shipped agent, by their PMIDs.
func metricsOf(t *testing.T, host, agent string) []string {
	t.Helper()
	var names []string
	for line := range strings.Lines(tool(t, "pminfo", "-h", host, "-m")) {
		name, id, _ := strings.Cut(strings.TrimSpace(line), " PMID: ")
		if strings.HasPrefix(id, domains[agent]+".") {
			names = append(names, name)
		}
	}
	if len(names) < 100 {
		t.Fatalf("%d metrics of agent %s", len(names), agent)
	}
	return names
}

// compare runs pminfo against both collectors. Disks, interfaces and mounts may come and go between
// the two.
func compare(t *testing.T, want, got string, args []string) {
	t.Helper()
	type seen struct {
		Out, Errs []string
		Status    int
	}
	look := func(host string) seen {
		out, errs, status := pcptest.Run(t, nil, "", append([]string{"pminfo", "-h", host}, args...)...)
		return seen{strings.Split(out, "\n"), strings.Split(errs, "\n"), status}
	}
	pcptest.Retry(t, func() string {
		w, g := look(want), look(got)
		if len(w.Out) < 100 {
			return fmt.Sprintf("pminfo %s has %d lines under C pmcd", args[0], len(w.Out))
		}
		if diff := cmp.Diff(w, g); diff != "" {
			return fmt.Sprintf("pminfo %s (-C +Go):\n%s", args[0], diff)
		}
		return ""
	})
}

// TestSampleValues shows values of every type of the C agent sample, and sets
// some.
func TestSampleValues(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore")
	c, host := withAgents(t, "pmcd", "sample")
	// Constants, aggregates and strings do not depend on the time of the request.
	var constant []string
	for _, kind := range []string{"long", "ulong", "float", "longlong", "ulonglong", "double"} {
		for _, m := range []string{"one", "ten", "hundred", "million"} {
			constant = append(constant, "sample."+kind+"."+m)
		}
	}
	constant = append(constant, "sample.long.write_me", "sample.float.write_me", "sample.longlong.write_me",
		"sample.double.write_me", "sample.write_me", "sample.string", "sample.aggregate", "sample.bin", "sample.part_bin",
		"sample.bad", "sample.hordes", "sample.needprofile", "sample.noinst", "sample.secret")
	constant = append([]string{"-f"}, constant...)
	compare(t, c.Host(), host, constant)
	// Events: both have the same sequence from the agent's start on, except for the times.
	stamp := regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+|value \[event record`)
	for range 4 {
		w := stamp.ReplaceAllString(tool(t, "pminfo", "-h", c.Host(), "-f", "sample.event.records", "sample.event.highres_records"), "T")
		g := stamp.ReplaceAllString(tool(t, "pminfo", "-h", host, "-f", "sample.event.records", "sample.event.highres_records"), "T")
		if diff := cmp.Diff(strings.Split(w, "\n"), strings.Split(g, "\n")); diff != "" {
			t.Errorf("events (-C +Go):\n%s", diff)
		}
	}
	for _, s := range [][]string{
		{"sample.write_me", "17"}, {"sample.long.write_me", "-4"}, {"sample.float.write_me", "1.5"},
		{"sample.longlong.write_me", "123456789012"}, {"sample.double.write_me", "2.25"},
		{"sample.string.write_me", "hello, agent"}, {"sample.ulonglong.write_me", "18446744073709551615"},
		{"-i", "bin-300", "sample.bin", "42"}, {"sample.long.one", "7"}, {"sample.bad.unknown", "1"}, {"sample.string.write_me", ""},
	} {
		w, wErrs, wStatus := pcptest.Run(t, nil, "", append([]string{"pmstore", "-h", c.Host()}, s...)...)
		g, gErrs, gStatus := pcptest.Run(t, nil, "", append([]string{"pmstore", "-h", host}, s...)...)
		if w != g || wErrs != gErrs || wStatus != gStatus {
			t.Errorf("pmstore %q: %d %q %q, want %d %q %q", s, gStatus, g, gErrs, wStatus, w, wErrs)
		}
	}
	compare(t, c.Host(), host, constant)
}

// TestStartFails starts the program where it cannot: one line says what is wrong,
// where, and what to do, and the exit status is that of C pmcd.
func TestStartFails(t *testing.T) {
	pcptest.Need(t, "go")
	_, host, socket := start(t, nil)
	_, port, _ := strings.Cut(host, ":")
	dir := pcptest.ShortDir(t)
	file := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, test := range []struct {
		name string
		args []string
		want string // a pattern that the whole of standard error matches
	}{
		{"port busy", []string{"-p", port, "-s", dir + "/s"}, `^pmcd: cannot listen on 127\.0\.0\.1:` + port + `: the port is in use, .* -p\n$`},
		{"socket busy", []string{"-p", "0", "-s", socket}, `^pmcd: cannot listen on ` + socket + `: another pmcd serves it: .* -s\n$`},
		{"no socket directory", []string{"-p", "0", "-s", "/nonexistent/s"}, `^pmcd: cannot listen on /nonexistent/s: .*no such file or directory\n$`},
		{"no name space", []string{"-p", "0", "-s", dir + "/s", "-n", "/nonexistent"}, `^pmcd: cannot load the name space: .*/nonexistent.*\npmcd: .* -n\n$`},
		{"bad name space", []string{"-p", "0", "-s", dir + "/s", "-n", file("pmns", "root {\n\ta 1:2\n}\n")}, `^pmcd: cannot load the name space: \[.*/pmns:2\] Error Parsing ASCII PMNS: `},
		{"no configuration, in the background", []string{"-p", "0", "-s", dir + "/s", "-c", "/nonexistent"}, `/nonexistent: no such file or directory: name another file with -c\n$`},
		{"no configuration", []string{"-f", "-l", "-", "-p", "0", "-s", dir + "/s", "-c", "/nonexistent"}, `/nonexistent: no such file or directory: name another file with -c\n$`},
		{"bad configuration", []string{"-f", "-l", "-", "-p", "0", "-s", dir + "/s", "-n", file("good", "root {\n}\n"), "-c", file("conf", "x 600 pipe binary /bin/true\n")}, `conf:1: Illegal domain number \(600\)`},
		{"bad option", []string{"-t", "x"}, `^pmcd: -t requires a positive numeric argument\nUsage: pmcd`},
		{"time-out beyond all bounds", []string{"-t", "9999999999"}, `^pmcd: -t requires a positive numeric argument\nUsage: pmcd`},
		{"operand", []string{"x"}, `^pmcd: .*x.*\nUsage: pmcd`},
	} {
		t.Run(test.name, func(t *testing.T) {
			out, errs, status := pcptest.Run(t, nil, "", append([]string{pcptest.Build(t, "./examples/pmcd")}, test.args...)...)
			if status != 1 || out != "" || !regexp.MustCompile(test.want).MatchString(errs) {
				t.Errorf("exit status %d, want 1; standard output %q; standard error, want %q:\n%s", status, out, test.want, errs)
			}
		})
	}
}

// TestReport finds on standard error, or in the file of -x, why a program in the
// background did not start, as C pmcd reports it.
func TestReport(t *testing.T) {
	pcptest.Need(t, "pmcd")
	for _, test := range []struct {
		name string
		args []string
		file string // with the report; empty for standard error
	}{
		{"standard error", nil, ""},
		{"file", []string{"-x", "fatal"}, "fatal"},
		{"file, without a log", []string{"-f", "-l", "-", "-x", "fatal"}, "fatal"},
	} {
		t.Run(test.name, func(t *testing.T) {
			report := func(program string, more ...string) string {
				dir := pcptest.ShortDir(t)
				if err := os.WriteFile(filepath.Join(dir, "conf"), []byte("x 250 pipe binary /bin/true\n"), 0o644); err != nil {
					t.Fatal(err)
				}
				args := append([]string{program, "-A", "-i", "127.0.0.1", "-p", strconv.Itoa(pcptest.FreePort(t)), "-s", filepath.Join(dir, "s"),
					"-c", "conf", "-n", "/nonexistent"}, more...)
				_, text, _ := pcptest.RunIn(t, dir, nil, "", append(args, test.args...)...)
				if test.file == "" {
					return text
				}
				for begin := time.Now(); ; time.Sleep(20 * time.Millisecond) {
					b, _ := os.ReadFile(filepath.Join(dir, test.file))
					if text = string(b); strings.HasSuffix(text, "!\n") || time.Since(begin) > time.Minute {
						return text
					}
				}
			}
			// The text about the reason differs; the text about the report does not.
			edit := func(text string) string {
				lines := strings.SplitAfter(text, "\n")
				if len(lines) > 4 {
					lines = append(lines[:3], lines[len(lines)-2:]...)
				}
				return regexp.MustCompile(`pmcd\(\d+\)`).ReplaceAllString(stamp.ReplaceAllString(strings.Join(lines, ""), "TIME"), "pmcd(PID)")
			}
			got := edit(report(pcptest.Build(t, "./examples/pmcd")))
			if !strings.HasPrefix(got, "NOTE: pmcd not started due to errors!") {
				t.Errorf("report:\n%s", got)
			}
			if test.file == "" {
				return // C pmcd says it on the terminal, of which there is none
			}
			u, err := user.Current()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(edit(report(pcptest.Tool(t, "pmcd"), "-U", u.Username)), got); diff != "" {
				t.Errorf("(-C +Go):\n%s", diff)
			}
		})
	}
}

// TestTraceOption sets the switches of the event trace that clients see.
func TestTraceOption(t *testing.T) {
	pcptest.Need(t, "pminfo")
	_, host, _ := start(t, nil, "-T", "257")
	out := tool(t, "pminfo", "-h", host, "-f", "pmcd.control.traceconn", "pmcd.control.tracepdu", "pmcd.control.tracenobuf")
	if got := strings.Join(regexp.MustCompile(`value (\d)`).FindAllString(out, -1), " "); got != "value 1 value 0 value 1" {
		t.Errorf("%s:\n%s", got, out)
	}
}
