package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

var recordingTime = flag.Duration("recording", 2500*time.Millisecond, "how long the archives are that tools replay with -all")

// shortRecording is how long they are otherwise: two records of what is recorded each second.
const shortRecording = 1500 * time.Millisecond

// replayed are the templates of pmlogconf for the tools that replay, and how often what they name
// is recorded.
var replayed = []struct{ interval, templates string }{
	{"once", "atop-summary dstat-summary sar-summary vmstat-summary"},
	{"250 msec", "atop dstat vmstat pmstat iostat sar"},
	{"1 sec", "atop-proc"},
}

// A replayCase is a command on an archive X, and what a line that has values is like.
type replayCase struct {
	line, want string
	long       bool // the command needs two seconds
}

var replays = []replayCase{
	{"pmlogcheck -w X", `^$`, false},
	{"pmdumplog -d X", `\(proc\.psinfo\.utime\)`, false},
	{"pmlogsummary X kernel.all disk.all mem.util", `(?m)^mem\.util\.free +[1-9]\d*\.\d+ Kbyte$`, false},
	{"pmstat -a X -t 0.3 -s 4", `(?m)^( +[\d.]+[KMGm]?){14}$`, false},
	{"pmval -a X -t 0.5 kernel.all.load", `(?m)^[\d:.]+( +\d+\.\d+){3} *$`, false},
	{"pmval -a X -t 0.5 kernel.all.cpu.user", `(?m)^[\d:.]+ +[\d.E+-]+ *$`, false},
	{"pmrep -a X -t 0.5 :vmstat", `(?m)^( +\w+){17}$`, false},
	{"pmrep -a X -t 0.5 :sar-u-ALL", `(?m)^ +(all|CPU).*\n.*|%usr`, false},
	{"pmrep -a X -t 0.5 :sar-n-DEV", `(?m)^ *(\S+ +)?lo( +[\d.]+)+ *(N/A)?$`, false},
	{"pmiostat -a X -t 0.5", `(?m)^\S+( +[\d.]+){12}$`, false},
	{"pcp -a X iostat -t 0.5", `(?m)^\S+( +[\d.]+){12}$`, false},
	{"pcp -a X dstat 1 2", `(?m)^( *\d+){5}\|( *\d+[BkMG]?){2} *\|`, true},
	{"pcp -a X dstat -cdngymlp --tcp --udp --vm --fs --ipc 1 2", `(?m)^( *\d+){5}\|( *\d+[BkMG]?){2} *\|`, true},
	{"pcp -a X atop -P CPU,cpu,CPL,MEM,SWP,PAG,DSK,NET 1 2", `(?m)^MEM \S+ \d+ [\d/]+ [\d:]+ \d+ \d+ [1-9]\d+ [1-9]\d+ `, false},
	{"pcp -a X atop -P PRG,PRC,PRM,PRD 1 2", `(?m)^PRG .* \(pmdaproc\) [A-Z] `, false},
	{"pcp -a X atop 1 2", `(?m)^CPL \| numcpu +\d+ \| avg1 +[\d.]+ \|`, false},
	{"pcp -a X atopsar -c 1 2", `(?m)all( +\d+){9}`, true},
}

// TestInteropReplay has our collector with PCP's agent for processes, which our pmlogger records,
// and runs PCP's tools on the archive. With -all PCP's pmlogger records the same at the same time,
// and what the tools show of both has the same columns and rows.
func TestInteropReplay(t *testing.T) {
	pcptest.Need(t, "pmlogger", "pmdumplog", "pmlogcheck", "pmlogsummary", "pmstat", "pmval", "pmrep", "pmiostat", "pcp", "pcp-iostat", "pcp-dstat", "pcp-atop")
	socket := startCollector(t)
	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte(replayConfig(t)), 0o666); err != nil {
		t.Fatal(err)
	}
	chosen := replays
	if !*all {
		chosen = sample(slices.DeleteFunc(slices.Clone(replays), func(c replayCase) bool { return c.long }), 3)
	}
	length := shortRecording
	if *all {
		length = *recordingTime
	}
	for range 3 { // a busy machine makes differences, and fewer records than there should be
		theirs, ours := recordReplayed(t, socket, config, length)
		length *= 2
		wrong := compareReplays(t, chosen, theirs, ours)
		if wrong == "" {
			return
		}
		t.Log(wrong)
	}
	t.Fail()
}

// startCollector starts our collector, and returns its socket: pmdaproc tells only those of
// processes whose user it knows.
func startCollector(t *testing.T) (socket string) {
	t.Helper()
	dir, set := t.TempDir(), pcptest.Agents(t, "proc")
	files := map[string]string{
		"conf":  "linux 60 dso linux_init " + filepath.Join(pcptest.Conf("PCP_PMDAS_DIR"), "linux", "pmda_linux.so") + "\n" + set.Conf,
		"names": pcptest.Names(t, "pmcd", "linux", "proc"),
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	socket = filepath.Join(pcptest.ShortDir(t), "pmcd.socket")
	pcptest.Start(t, pcptest.Daemon{
		Path: pcptest.Build(t, "./examples/pmcd"),
		Args: []string{"-f", "-l", "-", "-i", "INADDR_LOOPBACK", "-p", strconv.Itoa(pcptest.FreePort(t)), "-s", socket, "-q", "60", "-t", "60", "-c", "conf", "-n", "names"},
		Env:  set.Env, Dir: dir, Addr: socket, Greets: true,
	})
	return socket
}

// replayConfig is a configuration with the metrics of the templates. A metric of several is
// recorded once.
func replayConfig(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	seen := map[string]bool{}
	for _, group := range slices.Backward(replayed) { // what is recorded again and again is not recorded once
		fmt.Fprintf(&b, "log advisory on %s {\n", group.interval)
		for name := range strings.FieldsSeq(group.templates) {
			text, err := os.ReadFile(filepath.Join(pcptest.Conf("PCP_VAR_DIR"), "config/pmlogconf/tools", name))
			if err != nil {
				t.Fatal(err)
			}
			for line := range strings.Lines(string(text)) {
				f := strings.Fields(line)
				if len(f) == 0 || f[0][0] == '#' || seen[f[0]] || slices.Contains([]string{"ident", "probe", "force", "delta"}, f[0]) {
					continue
				}
				seen[f[0]] = true
				fmt.Fprintf(&b, "\t%s\n", f[0])
			}
		}
		fmt.Fprintln(&b, "}")
	}
	return b.String()
}

// recordReplayed records with our program, and with -all at the same time with C's.
func recordReplayed(t *testing.T, socket, config string, length time.Duration) (theirs, ours string) {
	t.Helper()
	dir := pcptest.ShortDir(t)
	env := []string{"PCP_RUN_DIR=" + dir, "PCP_TMP_DIR=" + dir, "PMLOGGER_LOCAL=1", "PMLOGGER_PORT=" + strconv.Itoa(pcptest.FreePort(t))}
	theirs, ours = filepath.Join(t.TempDir(), "X"), filepath.Join(t.TempDir(), "X")
	command := func(program, base string) []string {
		return []string{program, "-h", "unix://" + socket, "-c", config, "-l", base + ".log", "-T", length.String(), base}
	}
	commands := [][]string{command(pcptest.Build(t, "./examples/pmlogger"), ours)}
	if *all {
		commands = append(commands, command(pcptest.Tool(t, "pmlogger"), theirs))
	}
	var wg sync.WaitGroup
	for _, argv := range commands {
		wg.Go(func() { // a recording may be longer than what the kit runs
			cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
			cmd.Env = append(pcptest.Env(), env...)
			if out, err := cmd.CombinedOutput(); err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", argv[0], err, out)
			}
		})
	}
	wg.Wait()
	return theirs, ours
}

// compareReplays says what is wrong with what the tools show of our archive.
func compareReplays(t *testing.T, chosen []replayCase, theirs, ours string) (wrong string) {
	t.Helper()
	for _, c := range chosen {
		o := replay(t, c.line, ours)
		if o.Status != 0 || o.Stderr != "" || !regexp.MustCompile(c.want).MatchString(o.Stdout) {
			wrong += fmt.Sprintf("%s: exit status %d, want %s\n%s%s", c.line, o.Status, c.want, o.Stdout, o.Stderr)
		}
		if *all {
			if d := cmp.Diff(shape(replay(t, c.line, theirs)), shape(o)); d != "" {
				wrong += fmt.Sprintf("%s (-C +ours):\n%s", c.line, d)
			}
		}
	}
	return wrong
}

// replay runs a command on an archive.
func replay(t *testing.T, line, base string) pcptest.Output {
	t.Helper()
	argv := strings.Fields(line)
	argv[slices.Index(argv, "X")] = base
	env := []string{"PATH=/usr/bin:" + os.Getenv("PATH"), "COLUMNS=200", "LINES=60"} // the Python of the system has PCP's modules
	o := pcptest.RunAll(t, env, argv)[0]
	o.Stdout = strings.ReplaceAll(o.Stdout, base, "X")
	return o
}

// shape is what a command shows without numbers, each line once.
func shape(o pcptest.Output) []string {
	text := o.Stdout
	for _, m := range replayMasks {
		text = m.pattern.ReplaceAllString(text, m.with)
	}
	lines := slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool { return strings.Trim(line, "?|N/A") == "" }) // before the first values
	slices.Sort(lines)
	return slices.Compact(lines)
}

var replayMasks = []struct {
	pattern *regexp.Regexp
	with    string
}{
	{regexp.MustCompile(`(?m)^(PR[GCMD]) .*`), "$1"},                                                      // one of the processes
	{regexp.MustCompile(`(?m)^ *\d+ +[\d.ms]+ +[\d.ms]+ +[\d.ms]+ .*% .*$`), "PROCESS"},                   // those that were active
	{regexp.MustCompile(`[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d`), "DATE"},                    //
	{regexp.MustCompile(`[-+]?\b\d[\d.:/]*(e[-+]?\d+)?([KMGTkmgBs%]|ms|[hm]\d+[ms])?( [KMG]?bps)?`), "N"}, // with units
	{regexp.MustCompile(`\bno values found\b`), "N"},
	{regexp.MustCompile(`[ \t]+`), ""},
}
