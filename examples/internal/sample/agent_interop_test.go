package sample_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var full = flag.Bool("full", false, "store all values into all metrics with pmstore, not one of sixteen")

// A collector is a pmcd with the agent.
type collector struct {
	name, host string
	prefix     string // of the names: sample or sampledso
}

// installed returns a directory with compiled help texts for PCP's agent, to be used as
// PCP_PMDAS_DIR.
func installed(t *testing.T) string {
	t.Helper()
	from, base := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample"), pcptest.ShortDir(t)
	dir := filepath.Join(base, "sample")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"pmns", "root", "domain.h", "help"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	help, err := os.ReadFile(filepath.Join(dir, "help"))
	if err != nil {
		t.Fatal(err)
	}
	newhelp := filepath.Join(pcptest.Conf("PCP_BINADM_DIR"), "newhelp")
	for _, to := range []struct{ file, name, domain string }{{"help", "sample", "29"}, {"dsohelp", "sampledso", "30"}} {
		text := strings.NewReplacer("\n@ SAMPLE.", "\n@ "+to.domain+".", "\n@ sample.", "\n@ "+to.name+".").Replace(string(help))
		if _, errs, status := pcptest.RunIn(t, dir, nil, text, newhelp, "-n", "root", "-o", to.file); status != 0 {
			t.Fatalf("newhelp: %s", errs)
		}
	}
	return base
}

// names are the names of sample and sampledso.
func names(t *testing.T) string {
	t.Helper()
	dir := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample")
	out := filepath.Join(t.TempDir(), "names")
	if _, errs, status := pcptest.RunIn(t, dir, nil, "", pcptest.Tool(t, "pmnsmerge"), "-a", "root", out); status != 0 {
		t.Fatalf("pmnsmerge: %s", errs)
	}
	return out
}

// collectors starts three pmcds: PCP's with its own agents, one of them inside it, PCP's with ours
// in the same way, and our pmcd with ours. All must return the same for each name.
func collectors(t *testing.T) (want, got []collector) {
	t.Helper()
	dir, root := installed(t), names(t)
	env := []string{"PCP_PMDAS_DIR=" + dir, "PCP_DERIVED_CONFIG="}
	theirs := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "sample")
	pcptest.Need(t, filepath.Join(theirs, "pmdasample"), filepath.Join(theirs, "pmda_sample.so"))
	pipe := func(program string) string {
		return fmt.Sprintf("sample 29 pipe binary %s -d 29 -l %s", program, filepath.Join(t.TempDir(), "log"))
	}
	inside := "sampledso 30 dso sample_init " + filepath.Join(theirs, "pmda_sample.so")
	ours := pcptest.Build(t, "./examples/sample")
	c := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{pipe(filepath.Join(theirs, "pmdasample")), inside}, PMNS: root, Env: env})
	withOurs := pcptest.StartPMCD(t, pcptest.Config{Agents: []string{pipe(ours)}, PMNS: root, Env: env})

	port, conf := pcptest.FreePort(t), filepath.Join(t.TempDir(), "pmcd.conf")
	if err := os.WriteFile(conf, []byte(pipe(ours)+"\n"+inside+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	host := "localhost:" + strconv.Itoa(port)
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-f", "-l", "-", "-i", "INADDR_LOOPBACK", "-p", strconv.Itoa(port), "-s", filepath.Join(pcptest.ShortDir(t), "s"),
			"-c", conf, "-n", root, "-q", "60", "-t", "60"},
		Env: env, Dir: t.TempDir(), Addr: host, Greets: true,
	})
	return []collector{{"C agent", c.Host(), "sample"}, {"C agent inside pmcd", c.Host(), "sampledso"}},
		[]collector{{"Go agent under C pmcd", withOurs.Host(), "sample"}, {"Go agent under Go pmcd", host, "sample"},
			{"Go agent inside Go pmcd", host, "sampledso"}}
}

// TestInteropAgent compares what PCP's tools print of PCP's agent with what they print of this one,
// under both pmcds.
func TestInteropAgent(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmstore", "pmval", "pmprobe", "pmevent", "newhelp", "pmnsmerge")
	want, got := collectors(t)
	all := append(want, got...)
	sessions := make([][]string, len(all))
	var wg sync.WaitGroup
	for i, c := range all {
		if i > 0 && all[i-1].host == c.host {
			continue
		}
		wg.Go(func() {
			for j := i; j < len(all) && all[j].host == c.host; j++ { // one after the other, as the agents count clients
				sessions[j] = all[j].session(t)
			}
		})
	}
	wg.Wait()
	for i, c := range got {
		for j := range want {
			if want[j].prefix != c.prefix {
				continue
			}
			if diff := cmp.Diff(sessions[j], sessions[len(want)+i]); diff != "" {
				t.Errorf("%s (-C +Go):\n%s", c.name, diff)
			}
		}
	}
}

// session is what the tools print. The first commands let the instances of mirage change once and
// then no more, as they do so by chance and with the time. Other random values are the same as long
// as they do not.
func (c collector) session(t *testing.T) (lines []string) {
	run := func(command string) { lines = append(lines, strings.Split(c.run(t, command), "\n")...) }
	run("pmstore %s.controller.mirage 2000000")
	for _, command := range append([]string{
		"pmprobe -v %s.mirage", // they start to change with it,
		"pmprobe -v %s.mirage", // and do so once
		"pminfo -dfmtTl %s",
		"pmprobe -I %s",
		"pmprobe -v %s.scramble.bin %s.event.type %s.bad",
		"pmval -s 4 -t 0.01 %s.colour",
		"pmval -s 3 -t 0.01 -i bin-100,bin-300 %s.string.bin",
		"pmval -s 3 -t 0.01 -r %s.rapid",
		"pmval -s 3 -t 0.01 -r %s.wrap.ulonglong",
		"pmval -s 3 -t 0.01 %s.event.type",
		"pmval -s 6 -t 0.01 %s.dodgey.value",
		"pmval -s 4 -t 0.01 %s.lights",
		"pmval -s 4 -t 0.01 -i colleen,fat %s.needprofile",
		"pmevent -s 6 -t 0.01 %s.event.records[fungus]",
		"pminfo -f %s",
	}, c.stores(t)...) {
		run(command)
	}
	run("pminfo -f %s")
	return lines
}

// stores are pmstore commands for every metric.
func (c collector) stores(t *testing.T) (commands []string) {
	t.Helper()
	out, _, _ := pcptest.Run(t, nil, "", "pminfo", "-h", c.host, c.prefix)
	n := 0
	for _, name := range strings.Fields(out) {
		switch below := strings.TrimPrefix(name, c.prefix+"."); {
		case below == "control" || below == "not_ready" || below == "controller.mirage" || below == "error_code" || below == "many.count": // they have tests of their own
			continue
		case below == "dynamic.meta.pmdesc.indom": // of an unknown domain, PCP's agent has an instance by chance
			continue
		case strings.HasPrefix(below, "dupnames."), strings.HasPrefix(below, "percontext."), below == "bad.unknown",
			below == "secret.foo.bar.max.redirect":
			continue
		}
		for _, v := range []string{"5", "-5", "99999999999999999999", "1.5", "abc", "2147483648", "0", "-1"} {
			if n++; *full || n%16 == 0 {
				commands = append(commands, "pmstore "+name+" "+v)
			}
		}
	}
	return commands
}

// run runs a command, replaces each %s by the prefix, and masks changing output.
func (c collector) run(t *testing.T, command string) string {
	t.Helper()
	command = strings.ReplaceAll(command, "%s", c.prefix)
	f := strings.Fields(command)
	env := []string{"PCP_DERIVED_CONFIG="}
	out, errs, status := pcptest.Run(t, env, "", append([]string{f[0], "-h", c.host}, f[1:]...)...)
	return fmt.Sprintf("$ %s\n%s%s= %d\n", command, mask(out, c.prefix), mask(errs, c.prefix), status)
}

// formOf is the form of the values of a metric that change by themselves; nil for others.
func formOf(name string) *regexp.Regexp {
	switch name {
	case "daemon_pid", "dupnames.daemon_pid", "dupnames.pid_daemon", "seconds", "dupnames.two.seconds", "datasize", "ulonglong.bin", "ulonglong.bin_ctr",
		"proc.time", "const_rate.value", "step", "step_counter", "pdu", "recv_pdu", "xmit_pdu", "percontext.pdu", "percontext.recv_pdu", "percontext.xmit_pdu",
		"percontext.control.ctx", "percontext.control.active", "percontext.control.end":
		return number
	case "milliseconds":
		return fraction
	case "sysinfo":
		return sysinfo
	}
	return nil
}

var (
	number    = regexp.MustCompile(`^-?\d+$`) // negative where a client has stored that
	fraction  = regexp.MustCompile(`^\d+(\.\d+)?(e[+-]?\d+)?$`)
	sysinfo   = regexp.MustCompile(`^\[([0-9a-f]{2})+\]$`)
	heading   = regexp.MustCompile(`^(?:sample|sampledso)\.([a-z0-9_.]*[a-z0-9_])(?: PMID: .*| (?:inst .*)?old value=.*)?$`)
	value     = regexp.MustCompile(`^(    (?:inst \[.*\] )?value )(.*)$`)
	oldValue  = regexp.MustCompile(`(old value=)\S+`)
	timestamp = regexp.MustCompile(`\d\d:\d\d:\d\d\.\d+`)
	hostPort  = regexp.MustCompile(`localhost:\d+`)
)

// mask replaces output that differs between runs if it has the expected form.
func mask(out, prefix string) string {
	var form *regexp.Regexp
	lines, skip := strings.Split(out, "\n"), false
	kept := lines[:0]
	for _, l := range lines {
		// It is a metric of pmcd's, whose texts and values are not this agent's.
		if strings.HasPrefix(l, prefix+".") {
			skip = strings.HasPrefix(l, prefix+".secret.foo.bar.max.redirect")
		}
		if skip || l == "" { // the latter since that metric leaves them behind
			continue
		}
		if m := heading.FindStringSubmatch(l); m != nil {
			form = formOf(m[1])
			if form != nil {
				l = oldValue.ReplaceAllString(l, "${1}OLD")
			}
		}
		if m := value.FindStringSubmatch(l); m != nil && form != nil && form.MatchString(m[2]) {
			l = m[1] + "VALUE"
		}
		l = timestamp.ReplaceAllString(l, "TIME")
		kept = append(kept, hostPort.ReplaceAllString(l, "HOST"))
	}
	return strings.Join(kept, "\n")
}
