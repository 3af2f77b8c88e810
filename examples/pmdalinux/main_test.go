package main

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// agents makes the two agents: PCP's, and ours in its place.
func agents(t *testing.T) map[string]pcptest.Config {
	t.Helper()
	return map[string]pcptest.Config{
		"C": {Shipped: []string{"linux"}},
		"Go": {PMNS: pcptest.Names(t, "linux"), Agents: []string{fmt.Sprintf("linux 60 pipe binary %s -d 60 -l %s",
			pcptest.Build(t, "./examples/pmdalinux"), filepath.Join(pcptest.ShortDir(t), "linux.log"))}},
	}
}

// run starts C pmcd with one of the agents.
func run(t *testing.T, agent string, env ...string) *pcptest.PMCD {
	t.Helper()
	c := agents(t)[agent]
	c.Env = append(c.Env, env...)
	return pcptest.StartPMCD(t, c)
}

// varDir is a PCP_VAR_DIR of the test's own, which the user pcp may write to also.
func varDir(t *testing.T) string {
	t.Helper()
	dir := pcptest.ShortDir(t)
	ids := filepath.Join(dir, "config", "pmda")
	if err := os.MkdirAll(ids, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(ids, 0o777); err != nil {
		t.Fatal(err)
	}
	return dir
}

// tool runs a tool of PCP that has to succeed without a word on standard error.
func tool(t *testing.T, argv ...string) string {
	t.Helper()
	out, errs, status := pcptest.Run(t, nil, "", argv...)
	if status != 0 || errs != "" {
		t.Fatalf("%s: exit status %d\n%s%s", strings.Join(argv, " "), status, out, errs)
	}
	return out
}

// TestPmstat: pmstat shows figures of our agent where it does of PCP's.
func TestPmstat(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmstat", "pmnsmerge")
	figures := regexp.MustCompile(`\d+(\.\d+)?[KMGmg]?`)
	blanks := regexp.MustCompile(` +`)
	shown := map[string]string{}
	for _, agent := range []string{"C", "Go"} {
		p := run(t, agent, "PCP_VAR_DIR="+varDir(t))
		out := tool(t, "pmstat", "-h", p.Host(), "-s", "4", "-t", "0.25")
		_, table, _ := strings.Cut(out, "\n") // without the date
		shown[agent] = blanks.ReplaceAllString(figures.ReplaceAllString(table, "N"), " ")
		if strings.Count(table, "\n") != 6 || strings.Count(shown[agent], "N") != 1+4*14 { // "1 min" and four samples
			t.Errorf("pmstat with the %s agent:\n%s", agent, out)
		}
	}
	if diff := cmp.Diff(shown["C"], shown["Go"]); diff != "" {
		t.Errorf("(-C +Go):\n%s", diff)
	}
}

// record is a configuration of pmlogger.
const record = `log mandatory on 500 msec {
	kernel.all
	kernel.percpu.cpu
	mem.util
	disk.dev
	disk.all
	network.interface
	filesys
	swap
	hinv
}
`

// TestArchive records the two agents with pmlogger: PCP's tools find nothing wrong
// with the archive of ours, and the same metrics and instances in both.
func TestArchive(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge", "pmlogger", "pmlogcheck", "pmlogsummary")
	dir := pcptest.ShortDir(t)
	config := filepath.Join(dir, "config")
	if err := os.WriteFile(config, []byte(record), 0o644); err != nil {
		t.Fatal(err)
	}
	env := []string{"PMLOGGER_LOCAL=1"}
	for _, d := range []string{"RUN", "LOG", "TMP"} {
		sub := filepath.Join(dir, d)
		if err := os.MkdirAll(filepath.Join(sub, "pmlogger"), 0o755); err != nil {
			t.Fatal(err)
		}
		env = append(env, "PCP_"+d+"_DIR="+sub)
	}
	var loggers [][]string
	for _, agent := range []string{"C", "Go"} {
		p := run(t, agent, "PCP_VAR_DIR="+varDir(t))
		loggers = append(loggers, []string{"pmlogger", "-h", p.Host(), "-c", config, "-l", filepath.Join(dir, agent+".log"),
			"-s", "8", "-t", "0.5", filepath.Join(dir, agent)})
	}
	for i, o := range pcptest.RunAll(t, env, loggers...) {
		if log, err := os.ReadFile(loggers[i][6]); o.Status != 0 || o.Stdout+o.Stderr != "" || err != nil ||
			!strings.Contains(string(log), "Sample limit reached") || strings.Contains(string(log), "Error") {
			t.Fatalf("%s: exit status %d, %q, %q\n%s", strings.Join(loggers[i], " "), o.Status, o.Stdout, o.Stderr, log)
		}
	}
	c, ours := filepath.Join(dir, "C"), filepath.Join(dir, "Go")
	if out := tool(t, "pmlogcheck", ours); out != "" {
		t.Errorf("pmlogcheck:\n%s", out)
	}
	if diff := cmp.Diff(listed(t, c, "-dm"), listed(t, ours, "-dm")); diff != "" {
		t.Errorf("pminfo -dm (-C +Go):\n%s", diff)
	}
	sameInstances(t, c, ours)
	summaries(t, c, ours)
}

// listed returns what pminfo lists of an archive, without what pmlogger adds about itself.
func listed(t *testing.T, archive, option string) []string {
	t.Helper()
	all := strings.Split(tool(t, "pminfo", "-a", archive, option), "\n\n")
	for i := range all {
		all[i] = strings.TrimSpace(all[i])
	}
	all = slices.DeleteFunc(all, func(s string) bool { return s == "" || strings.HasPrefix(s, "pmcd.") })
	slices.Sort(all)
	if len(all) < 200 {
		t.Errorf("pminfo %s lists %d metrics of %s", option, len(all), archive)
	}
	return all
}

// ofAbsence is a value that the C agent makes of the absence of a file.
var ofAbsence = regexp.MustCompile(`value (0|""|"unknown"|"\?")$`)

// madeUp matches metrics that have values for interfaces with unknown values in the C agent.
var madeUp = regexp.MustCompile(`^network\.interface\.(speed|baudrate|duplex)$`)

// sameInstances compares which instances metrics have in two archives.
func sameInstances(t *testing.T, want, got string) {
	t.Helper()
	instances := func(archive string) map[string][]string {
		all := map[string][]string{}
		for _, m := range listed(t, archive, "-f") {
			name, values, _ := strings.Cut(m, "\n")
			all[name] = strings.Split(values, "\n")
		}
		return all
	}
	which := func(value string) string {
		before, _, _ := strings.Cut(value, "value")
		return strings.TrimSpace(before)
	}
	w, g := instances(want), instances(got)
	var less []string
	for _, name := range slices.Sorted(maps.Keys(w)) {
		has := map[string]bool{}
		for _, v := range g[name] {
			has[which(v)] = true
		}
		var expected, found []string
		for _, v := range w[name] {
			if has[which(v)] || !ofAbsence.MatchString(v) && !madeUp.MatchString(name) {
				expected = append(expected, which(v))
			} else {
				less = append(less, name+" "+which(v))
			}
		}
		for _, v := range g[name] {
			if v != "No value(s) available!" || len(expected) > 0 {
				found = append(found, which(v))
			}
		}
		if diff := cmp.Diff(expected, found); diff != "" {
			t.Errorf("instances of %s (-C +Go):\n%s", name, diff)
		}
	}
	t.Logf("%d metrics; values that the C agent makes of nothing, which ours has not: %q", len(w), less)
}

// summaries compares of what pmlogsummary has figures.
func summaries(t *testing.T, want, got string) {
	t.Helper()
	figure := regexp.MustCompile(`^(\S+ +(?:\[.*\])?) +-?\d+\.\d+ \S`)
	summary := func(archive string) (all map[string]string) {
		all = map[string]string{}
		for line := range strings.Lines(tool(t, "pmlogsummary", archive)) {
			m := figure.FindStringSubmatch(line)
			if m == nil {
				t.Errorf("pmlogsummary %s: %s", archive, line)
				continue
			}
			all[m[1]] = line
		}
		return all
	}
	w, g := summary(want), summary(got)
	zero := regexp.MustCompile(` 0\.000 [^\[]+$`)
	for what, line := range w {
		name, _, _ := strings.Cut(what, " ")
		if g[what] == "" && !zero.MatchString(line) && !madeUp.MatchString(name) && !strings.HasPrefix(name, "pmcd.") {
			t.Errorf("pmlogsummary has no %s; of the C agent: %s", what, line)
		}
	}
	for _, what := range []string{"kernel.all.load", "kernel.percpu.cpu.user", "mem.util.free", "network.interface.in.bytes"} {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(g)), func(s string) bool { return strings.HasPrefix(s, what+" ") }) {
			t.Errorf("pmlogsummary has no %s", what)
		}
	}
}

// states are two states of one machine. The second has additional disks and interfaces, which come
// before those of the first.
var states = [2]map[string]string{
	{
		"proc/diskstats": disk("vda", 0) + disk("vdb", 16),
		"proc/net/dev":   netHead + iface("lo") + iface("eth0"),
	},
	{
		"proc/diskstats": disk("vdc", 32) + disk("vdb", 16) + disk("vda", 0),
		"proc/net/dev":   netHead + iface("eth1") + iface("eth0") + iface("lo"),
	},
}

const netHead = "Inter-|   Receive                                                |  Transmit\n" +
	" face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop fifo colls carrier compressed\n"

func disk(name string, minor int) string {
	return fmt.Sprintf(" 254 %7d %s %d 2 3 4 5 6 7 8 0 10 11\n", minor, name, 1000+minor)
}

func iface(name string) string {
	return fmt.Sprintf("%6s: %d 2 0 0 0 0 0 0 30 4 0 0 0 0 0 0\n", name, 100*len(name))
}

// TestInstanceIDs runs two agents one after the other on the files of a machine. The second must
// keep the instance IDs of the first, for each order of PCP's agent and ours.
func TestInstanceIDs(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge")
	var roots [2]string
	for i, files := range states {
		roots[i] = pcptest.ShortDir(t)
		for name, text := range files {
			path := filepath.Join(roots[i], name)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	const want = `
disk.dev.read
    inst [0 or "vda"] value 1000
    inst [1 or "vdb"] value 1016
    inst [2 or "vdc"] value 1032

network.interface.in.bytes
    inst [0 or "lo"] value 200
    inst [1 or "eth0"] value 400
    inst [2 or "eth1"] value 400
`
	for _, order := range [][2]string{{"C", "C"}, {"C", "Go"}, {"Go", "C"}, {"Go", "Go"}} {
		t.Run(order[0]+" then "+order[1], func(t *testing.T) {
			dir, out := varDir(t), ""
			for i, agent := range order {
				p := run(t, agent, "PCP_VAR_DIR="+dir, "LINUX_STATSPATH="+roots[i])
				out = tool(t, "pminfo", "-h", p.Host(), "-f", "disk.dev.read", "network.interface.in.bytes")
				p.Stop()
			}
			lines := strings.Split(out, "\n")
			slices.SortStableFunc(lines[2:5], strings.Compare) // in the order of the kernel
			if diff := cmp.Diff(want, strings.Join(lines, "\n")); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestAccess: what only the root user may read is shown to clients that are it, and
// to all with an option.
func TestAccess(t *testing.T) {
	c := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "linux", "pmdalinux")
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge", c)
	if os.Getuid() != 0 {
		t.Skip("needs to be the root user")
	}
	root := pcptest.ShortDir(t)
	dir := filepath.Join(root, "proc", "tty", "driver")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	const ports = "serinfo:1.0 driver revision:\n0: uart:16550A port:000003F8 irq:4 tx:11 rx:22\n"
	if err := os.WriteFile(filepath.Join(dir, "serial"), []byte(ports), 0o644); err != nil {
		t.Fatal(err)
	}
	const none = "\ntty.serial.rx\nNo value(s) available!\n"
	const value = "\ntty.serial.rx\n    inst [0 or \"0\"] value 22\n"
	for agent, program := range map[string]string{"C": c, "Go": pcptest.Build(t, "./examples/pmdalinux")} {
		for option, want := range map[string]map[string]string{"": {"tcp": none, "unix": value}, "-A": {"tcp": value, "unix": value}} {
			t.Run(agent+option, func(t *testing.T) {
				p := pcptest.StartPMCD(t, pcptest.Config{PMNS: pcptest.Names(t, "linux"), Agents: []string{fmt.Sprintf(
					"linux 60 pipe binary %s -d 60 %s -l %s", program, option, filepath.Join(pcptest.ShortDir(t), "linux.log"))},
					Env: []string{"LINUX_STATSPATH=" + root, "PCP_VAR_DIR=" + varDir(t)}})
				got := map[string]string{
					"tcp":  tool(t, "pminfo", "-h", p.Host(), "-f", "tty.serial.rx"),
					"unix": tool(t, "pminfo", "-h", "unix:/"+p.Socket(), "-f", "tty.serial.rx"),
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestCommandLine compares what the two programs make of arguments.
func TestCommandLine(t *testing.T) {
	c := filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "linux", "pmdalinux")
	pcptest.Need(t, "pmcd", c)
	ours := pcptest.Build(t, "./examples/pmdalinux")
	option := regexp.MustCompile(`(?m)(--no-access-checks\n) +\S.*$`)
	install := regexp.MustCompile(`(?s)\nInstallation options.*`)
	lines := [][]string{{"-?"}, {"--help"}, {"-Z"}, {"--unknown"}, {"-d"}, {"-d", "x"}, {"-D", "unknown"}, {"-A", "-Z"}}
	if os.Geteuid() == 0 { // the C agent runs for nobody else
		lines = append(lines, []string{"-A", "-l", "log"}, []string{"--no-access-checks", "-l", "log"}, []string{"-l", "log"})
	}
	for _, args := range lines {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			wantOut, want, wantStatus := pcptest.RunIn(t, t.TempDir(), nil, "", append([]string{c}, args...)...)
			gotOut, got, gotStatus := pcptest.RunIn(t, t.TempDir(), nil, "", append([]string{ours}, args...)...)
			if wantStatus != gotStatus || len(wantOut) != len(gotOut) { // it is the greeting of pmcd, whose flags may differ
				t.Errorf("exit status %d, standard output %q, want %d, %q", gotStatus, gotOut, wantStatus, wantOut)
			}
			want, got = option.ReplaceAllString(want, "$1"), option.ReplaceAllString(got, "$1")
			if diff := cmp.Diff(want, install.ReplaceAllString(got, "")); diff != "" {
				t.Errorf("standard error (-C +Go):\n%s", diff)
			}
		})
	}
}

// TestEnds: the program ends when pmcd does, however that comes about.
func TestEnds(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmnsmerge")
	p := run(t, "Go", "PCP_VAR_DIR="+varDir(t))
	m := regexp.MustCompile(`(?m)^linux +60 +(\d+) `).FindStringSubmatch(p.Log())
	if m == nil {
		t.Fatalf("pmcd does not say which process the agent is:\n%s", p.Log())
	}
	alive := func() bool {
		stat, err := os.ReadFile("/proc/" + m[1] + "/stat")
		return err == nil && strings.Contains(string(stat), "(pmdalinux)") && !strings.Contains(string(stat), ") Z ")
	}
	if !alive() {
		t.Fatalf("there is no process %s", m[1])
	}
	pmcd, err := os.FindProcess(p.PID())
	if err != nil {
		t.Fatal(err)
	}
	if err := pmcd.Kill(); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); alive(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the agent lives on")
		}
	}
}
