package sample_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A host is a collector with a sample agent. It gets all sessions in their order.
type host struct {
	name string
	addr string

	program bool // the agent is one, and not a part of pmcd
}

// TestInteropTools compares what PCP's tools print of this agent and of PCP's under the real pmcd,
// and of this one under ours, as a program and inside the collector. Each session begins where the
// one before has left the agent.
func TestInteropTools(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmevent", "pmval", "pmstore", "pmprobe", "newhelp", programPath())
	dir := helpDir(t)
	program := pcptest.Build(t, "./examples/sample")
	pipe := func(program string) string {
		return fmt.Sprintf("sample 29 pipe binary %s -d 29 -l %s", program, filepath.Join(t.TempDir(), "log"))
	}
	hosts := []host{
		{"C under C", cPMCD(t, dir, pipe(programPath())), true},
		{"Go under C", cPMCD(t, dir, pipe(program)), true},
		{"Go under Go", goPMCD(t, dir, pipe(program)), true},
		{"Go inside Go", goPMCD(t, dir, "sample 29 dso sample_init "+filepath.Join(dir, "sample", "pmda_sample.so")), false},
	}
	outputs := make([][]string, len(hosts)) // of each session
	t.Run("hosts", func(t *testing.T) {
		for i, h := range hosts {
			t.Run(h.name, func(t *testing.T) {
				t.Parallel()
				for _, s := range sessions {
					outputs[i] = append(outputs[i], s.run(t, h))
				}
				h.checkNotReady(t)
				if h.program {
					h.checkEnd(t)
				}
			})
		}
	})
	for k, s := range sessions {
		want := outputs[0][k]
		if !strings.Contains(want, s.has) {
			t.Errorf("session %s: PCP's agent did not do what it does else; %q is not in\n%s", s.name, s.has, want)
		}
		for i, h := range hosts[1:] {
			if diff := cmp.Diff(want, outputs[1+i][k]); diff != "" {
				t.Errorf("session %s: %s (-C +Go):\n%s", s.name, h.name, diff)
			}
		}
	}
}

// checkNotReady makes the agent not ready for a second.
func (h host) checkNotReady(t *testing.T) {
	t.Helper()
	for _, command := range []struct{ line, prints string }{
		{"pmstore sample.not_ready 1", "sample.not_ready old value=0 new value=1\n"},
		{"pminfo -d sample.load", "sample.load: pmLookupDesc: Try again. Information not currently available\n"},
	} {
		if got := h.say(t, command.line); got != command.prints {
			t.Errorf("%s: %q, want %q", command.line, got, command.prints)
		}
	}
	h.await(t, "pminfo -f sample.not_ready", func(got string) bool { return got == "\nsample.not_ready\n    value 0\n" })
}

// checkEnd makes the agent end. Its collector starts it anew.
func (h host) checkEnd(t *testing.T) {
	t.Helper()
	const pid = "pminfo -f sample.daemon_pid"
	before := h.say(t, pid)
	if got := h.say(t, "pmstore sample.control -1"); got != "sample.control old value=0 new value=-1\n" {
		t.Errorf("pmstore sample.control: %q", got)
	}
	h.await(t, pid, func(got string) bool { return got != before && strings.Contains(got, "value") })
}

// say returns the output of a command.
func (h host) say(t *testing.T, line string) string {
	t.Helper()
	argv := strings.Fields(line)
	out, errs, _ := pcptest.Run(t, nil, "", append([]string{argv[0], "-h", h.addr}, argv[1:]...)...)
	return out + errs
}

// await repeats a command until it prints the expected text.
func (h host) await(t *testing.T, line string, right func(got string) bool) {
	t.Helper()
	const patience = time.Minute
	for end := time.Now().Add(patience); ; {
		got := h.say(t, line)
		if right(got) {
			return
		}
		if time.Now().After(end) {
			t.Errorf("%s: after %v still %q", line, patience, got)
			return
		}
	}
}

func programPath() string {
	return filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample", "pmdasample")
}

// helpDir makes a directory in the place of PCP_PMDAS_DIR, with the compiled help texts of PCP's
// agent.
func helpDir(t *testing.T) string {
	t.Helper()
	dir := readableDir(t)
	sub := filepath.Join(dir, "sample")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(filepath.Join(filepath.Dir(programPath()), "help"))
	if err != nil {
		t.Fatal(err)
	}
	names := filepath.Join(sub, "root")
	if err := os.WriteFile(names, []byte(pcptest.Names(t, "sample")), 0o644); err != nil {
		t.Fatal(err)
	}
	text := strings.ReplaceAll(string(source), "\n@ SAMPLE.", "\n@ 29.")
	if _, errs, status := pcptest.RunIn(t, sub, nil, text, "newhelp", "-n", names, "-v", "2", "-o", "help"); status != 0 {
		t.Fatalf("newhelp: exit status %d\n%s", status, errs)
	}
	return dir
}

// readableDir makes a directory that PCP's user can read, as which PCP's agent runs.
func readableDir(t *testing.T) string {
	t.Helper()
	dir := pcptest.ShortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// cPMCD starts the real pmcd with an agent, which has its files in a directory.
func cPMCD(t *testing.T, dir, agent string) string {
	t.Helper()
	return pcptest.StartPMCD(t, pcptest.Config{
		Agents: []string{agent}, PMNS: pcptest.Names(t, "sample"), Env: []string{"PCP_PMDAS_DIR=" + dir},
	}).Host()
}

// goPMCD starts our pmcd.
func goPMCD(t *testing.T, dir, agent string) string {
	t.Helper()
	tmp := pcptest.ShortDir(t)
	conf, names := filepath.Join(tmp, "conf"), filepath.Join(tmp, "pmns")
	for path, text := range map[string]string{conf: agent + "\n", names: pcptest.Names(t, "sample")} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	port := pcptest.FreePort(t)
	addr := fmt.Sprintf("localhost:%d", port)
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-f", "-l", "-", "-i", "127.0.0.1", "-p", strconv.Itoa(port), "-s", filepath.Join(tmp, "s"), "-c", conf, "-n", names,
			"-q", "60", "-t", "60"},
		Env: []string{"PCP_PMDAS_DIR=" + dir}, Dir: tmp, Addr: addr, Greets: true,
	})
	return addr
}

// A toolSession is a list of commands.
type toolSession struct {
	name     string
	has      string // something that PCP's agent makes them print
	commands string // one a line; "N*" repeats one
}

// run runs the commands and returns their output without times.
func (s toolSession) run(t *testing.T, h host) string {
	t.Helper()
	var b strings.Builder
	for line := range strings.Lines(s.commands) {
		line = strings.TrimSpace(line)
		times := 1
		if n, rest, ok := strings.Cut(line, "* "); ok {
			times, _ = strconv.Atoi(n)
			line = rest
		}
		argv := strings.Fields(line)
		if len(argv) == 0 {
			continue
		}
		argv = append([]string{argv[0], "-h", h.addr}, argv[1:]...)
		for range times {
			out, errs, status := pcptest.Run(t, nil, "", argv...)
			fmt.Fprintf(&b, "$ %s\n%s%s= %d\n", line, out, errs, status)
		}
	}
	text := strings.ReplaceAll(b.String(), h.addr, "HOST")
	for _, m := range masks {
		text = m.re.ReplaceAllString(text, m.by)
	}
	return text
}

// masks hide differences between runs.
var masks = []struct {
	re *regexp.Regexp
	by string
}{
	{regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`), "TIME"},
	{regexp.MustCompile(`(sample\.proc\.time\n)((?: +inst .*\n)+)`), "${1}TIMES\n"},
	{regexp.MustCompile(`host: +\S+`), "host: HOST"},
}

var sessions = []toolSession{
	{"describe", "29.0.1007", `
		pminfo -dm sample.event sample.secret.bar sample.secret.foo.one sample.ghosts sample.scramble sample.proc sample.dynamic sample.percontext sample.not_ready
		pminfo -d sample.secret.foo.two sample.secret.foo.bar.grunt
		pminfo -m sample.secret sample.ghosts 29.0.1008 29.0.1003 29.0.1010
		pminfo -b 1 sample.secret
		pminfo -f sample.secret.bar sample.secret.foo.two sample.secret.foo.bar.three sample.secret.foo.bar.grunt
	`},
	{"events", "==> 7 missed event records", `
		5* pminfo -x sample.event.records sample.event.highres_records sample.event.no_indom_records
		pminfo -f sample.event
		pmstore sample.event.reset -1
		2* pminfo -x sample.event.records
		pmstore sample.event.reset_highres -1
		2* pminfo -x sample.event.highres_records
		pmstore sample.event.reset 2
		pmstore sample.event.reset_highres 3
		pmevent -s 5 -t 0.01 sample.event.records
		pmevent -s 5 -t 0.01 sample.event.highres_records
		pmevent -s 4 -t 0.01 sample.event.no_indom_records
		pmevent -s 2 -t 0.01 -i fungus sample.event.records
		pmevent -s 3 -t 0.01 -i bogus sample.event.records sample.event.no_indom_records
		pmstore sample.event.records 1
		pmstore sample.event.type 1
		pmval -s 1 sample.event.records
		pmprobe -v sample.event
		pmprobe -I sample.event
	`},
	{"ghosts", "Jamaica", `
		pminfo -fd sample.ghosts
		pmstore sample.ghosts.visible 3
		pminfo -fdm sample.ghosts
		pminfo -f sample.ghosts
		pmstore sample.ghosts.visible 12
		pminfo -f sample.ghosts
		pmval -s 24 -t 0.01 sample.ghosts.state
		pmval -s 2 -t 0.01 -i Duppy,Zmeu sample.ghosts.karma
		pmprobe -v sample.ghosts
		pmstore sample.ghosts.karma 3
		pmstore -i Obambo sample.ghosts.origin x
		pmstore sample.ghosts.visible abc
		pmstore sample.ghosts.visible -1
		pminfo -f sample.ghosts sample.ghosts.origin
		pmval -s 1 sample.ghosts.state
		pminfo -d 29.0.1010
	`},
	{"processes", "0005 /usr/opt/bin/loko", `
		3* pminfo -f sample.proc
		pmval -s 20 -t 0.01 sample.proc.ordinal
		pminfo -f sample.proc.exec
		pmstore sample.proc.reset 1
		pmprobe -I sample.proc
		pmval -s 20 -t 0.01 sample.proc.exec
		pminfo -f sample.proc.ordinal
		pmstore sample.proc.ordinal 1
		pmstore sample.proc.reset x
	`},
	{"scramble", "bin-700", `
		3* pminfo -f sample.scramble
		pmstore sample.scramble.version 4
		2* pminfo -f sample.scramble.bin
		pminfo -f sample.scramble.version
		pmval -s 4 -t 0.01 sample.scramble.bin
		pmprobe -I sample.scramble.bin
		pmstore sample.scramble.bin 3
	`},
	{"labels", "metres per second", `
		pminfo -l sample.rapid sample.write_me sample.bin sample.scramble sample.colour sample.needprofile sample.event sample.ghosts
		pmstore sample.write_me 9
		pmstore sample.float.write_me 9
		pminfo -l sample.write_me sample.long.write_me sample.float.write_me sample.string.write_me
		pmstore sample.write_me 2
		pmstore sample.float.write_me 13
		pminfo -l sample.write_me sample.float.write_me
	`},
	{"descriptor", "sample.dynamic.meta.metric", `
		pminfo -fd sample.dynamic.meta
		pmstore sample.dynamic.meta.pmdesc.type 3
		pminfo -fd sample.dynamic.meta
		pmstore sample.dynamic.meta.pmdesc.type 6
		pmstore sample.dynamic.meta.pmdesc.indom 121634817
		pminfo -fd sample.dynamic.meta
		pmval -s 2 -t 0.01 sample.dynamic.meta.metric
		pmstore sample.dynamic.meta.pmdesc.type 5
		pmstore sample.dynamic.meta.pmdesc.sem 1
		pmstore sample.dynamic.meta.pmdesc.units 268435456
		pminfo -fd sample.dynamic.meta
		pmstore sample.dynamic.meta.metric 1
	`},
	{"clients", "sample.percontext.pdu", `
		3* pminfo -f sample.percontext.pdu sample.percontext.recv_pdu sample.percontext.xmit_pdu sample.percontext.control.start
		pminfo -f sample.percontext.control.start sample.percontext.recv_pdu
		pmstore sample.percontext.pdu 1
		pmstore sample.percontext.control.start 1
	`},
	{"texts", "Number of visible ghosts", `
		pminfo -tT sample.event sample.secret.bar sample.secret.foo.one sample.ghosts sample.scramble sample.proc sample.dynamic sample.percontext sample.not_ready
		pminfo -t 29.0.1003 29.0.1010
		pmstore sample.ghosts.visible 0
		pminfo -tT sample.ghosts
		pmstore sample.ghosts.visible -1
	`},
}
