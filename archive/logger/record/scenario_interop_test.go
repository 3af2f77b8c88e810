//go:build unix

package record_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logger/record"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// A scenario records three hosts, as in the record mode scenario of the Programmer's Guide.
type scenario struct {
	dir  string // of the folio
	pmcd *pcptest.PMCD
	env  []string // for programs
}

func newScenario(t *testing.T, pmcd *pcptest.PMCD) scenario {
	t.Helper()
	dir := pcptest.ShortDir(t)
	sc := scenario{dir: filepath.Join(dir, "folios"), pmcd: pmcd}
	for _, sub := range []string{"folios", "run", "log", "tmp/pmlogger"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	sc.env = []string{"PMLOGGER_LOCAL=1", "PMLOGGER_PORT=" + strconv.Itoa(pcptest.FreePort(t)), "PCP_XCONFIRM_PROG=/nonexistent",
		"PCP_RUN_DIR=" + filepath.Join(dir, "run"), "PCP_LOG_DIR=" + filepath.Join(dir, "log"), "PCP_TMP_DIR=" + filepath.Join(dir, "tmp")}
	return sc
}

// setenv sets the environment that PCP's programs need.
func (sc scenario) setenv(t *testing.T) {
	t.Helper()
	for _, kv := range append(pcptest.Env(), sc.env...) {
		if k, v, _ := strings.Cut(kv, "="); os.Getenv(k) != v {
			t.Setenv(k, v)
		}
	}
}

// hostsRecorded is the number of hosts.
const hostsRecorded = 3

// hosts returns three names of the same host, with one metric each.
func (sc scenario) hosts() []record.Host {
	port := strconv.Itoa(sc.pmcd.Port())
	return []record.Host{
		{Name: "localhost:" + port, Config: "log mandatory on every 20 msec { sample.bin }\n"},
		{Name: "127.0.0.1:" + port, Config: "log mandatory on every 20 msec { sample.bin [ \"bin-100\" ] }\n", Default: true},
		{Name: "localhost:" + port, Config: "log mandatory on every 20 msec { sample.bin sample.long.one }\n"},
	}
}

// record records the hosts with this package: with program, or in this process if it is "".
func (sc scenario) record(t *testing.T, program string) {
	t.Helper()
	if program != "" {
		sc.setenv(t)
	}
	folio := filepath.Join(sc.dir, "folio")
	s, err := record.Create(folio, record.Options{Creator: "pmreplay", Replay: true, Program: program})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	io.WriteString(s.Replay(), "sample.bin\n")
	for _, h := range sc.hosts() {
		if _, err := s.Add(h); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	ls := s.Loggers()
	for _, l := range ls {
		awaitValues(t, l, "sample.bin", 15)
	}
	if all, err := s.Status(); err != nil || len(all) != hostsRecorded {
		t.Errorf("status: %v, %v", all, err)
	}
	if program != "" {
		await(t, ls[0], "  $ pmafm "+folio+" replay")
	}
	if err := ls[2].Detach(); err != nil {
		t.Error(err)
	}
	if err := s.Stop(t.Context()); err != nil {
		t.Error(err)
	}
	if program == "" {
		cancel()
	} else {
		await(t, ls[2], "  $ pmsignal -s TERM "+strconv.Itoa(ls[2].PID()))
		if err := syscall.Kill(ls[2].PID(), syscall.SIGTERM); err != nil {
			t.Error(err)
		}
	}
	<-ls[2].Done()
	if err := ls[2].Err(); err != nil {
		t.Errorf("the detached logger ended with %v", err)
	}
}

// recordC records the hosts with the C library and the pmlogger in binDir.
func (sc scenario) recordC(t *testing.T, binDir string) {
	t.Helper()
	folio := filepath.Join(sc.dir, "folio")
	calls := []string{"setup " + folio + " pmreplay 1", "replay sample.bin"}
	var ended []string
	for i, h := range sc.hosts() {
		n := strconv.Itoa(i)
		isDefault := "0"
		if h.Default {
			isDefault = "1"
		}
		calls = append(calls, "host "+h.Name+" "+isDefault, "config "+n+" "+strings.TrimSuffix(h.Config, "\n"))
		ended = append(ended, "ended "+n)
	}
	calls = append(calls, "control -1 "+recOn)
	for i := range hostsRecorded {
		calls = append(calls, "recorded "+strconv.Itoa(i)+" 1500")
	}
	calls = append(calls, "control -1 "+recStatus, "seen 0   $ pmafm "+folio+" replay", "control 2 "+recDetach, "seen 2   $ pmsignal -s TERM", "control -1 "+recOff,
		"kill 2 15")
	calls = append(calls, ended...)
	for i, answer := range pcptest.RecordSession(t, sc.dir, append(sc.env, "PCP_BINADM_DIR="+binDir), calls) {
		if answer != "ok" && answer != "0" {
			t.Errorf("%s: %s", calls[i], answer)
		}
	}
}

// replayConfig restores the replay configuration, which the C library removes.
func (sc scenario) replayConfig(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(sc.dir, "folio"))
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`(?m)^Creator: pmreplay (\S+)$`).FindSubmatch(text)
	if name == nil {
		t.Fatalf("no configuration in %s", text)
	}
	if err := os.WriteFile(filepath.Join(sc.dir, string(name[1])), []byte("sample.bin\n"), 0o644); err != nil {
		t.Fatal(err)
	}
}

// pmafmCommands are command lines of pmafm.
var pmafmCommands = []string{
	"check", "list", "list verbose", "selections", "hosts localhost", "remove", "replay", "repeat pmval -s 2 -t 0.1 sample.bin", "pmdumplog -a", "run pmlogsummary -l",
	"run pminfo -f sample.bin sample.long.one",
}

var all = flag.Bool("all", false, "use all commands of pmafm on each recording")

// every is the number of recordings among which the pmafm commands are divided.
const every = 5

// replay checks the archives, and compares the output of PCP's pmafm and ours for the folio.
func (sc scenario) replay(t *testing.T, part int) {
	t.Helper()
	metas, err := filepath.Glob(filepath.Join(sc.dir, "*.meta"))
	if err != nil || len(metas) != hostsRecorded {
		t.Fatalf("archives: %v, %v", metas, err)
	}
	for _, meta := range metas {
		out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", strings.TrimSuffix(meta, ".meta"))
		if out != "" || errs != "" || status != 0 {
			t.Errorf("pmlogcheck: exit status %d\n%s%s", status, out, errs)
		}
	}
	home := t.TempDir()
	for name, text := range map[string]string{
		".pcp/pmafm/mine": "SINGLE=\"$SINGLE pmreplay\"\nREPLAY=\"$REPLAY pmreplay\"\n",
		"bin/pmreplay":    "#!/bin/sh\nexec pmdumplog $2 `cat $4`\n",
	} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	env := []string{"HOME=" + home, "PATH=" + filepath.Join(home, "bin") + ":" + os.Getenv("PATH")}
	ours := pcptest.Build(t, "./examples/pmafm")
	for i, command := range pmafmCommands {
		if !*all && command != "replay" && i%every != part {
			continue
		}
		run := func(program string) pcptest.Output {
			out, errs, status := pcptest.RunIn(t, sc.dir, env, "", append([]string{program, "folio"}, strings.Fields(command)...)...)
			return pcptest.Output{Stdout: out, Stderr: errs, Status: status}
		}
		want := run("pmafm")
		if diff := cmp.Diff(want, run(ours)); diff != "" {
			t.Errorf("pmafm folio %s (-PCP's +ours):\n%s", command, diff)
		}
		if command == "replay" && strings.Count(want.Stdout, "bin-100") < 15*hostsRecorded {
			t.Errorf("replay does not replay:\n%s%s", want.Stdout, want.Stderr)
		}
	}
}

// testLauncherDies checks that a logger ends when its launcher is killed.
func testLauncherDies(t *testing.T, sc scenario, program string) {
	h := sc.hosts()[0]
	launcher := exec.Command(os.Args[0], filepath.Join(sc.dir, "folio"), program, h.Name, h.Config)
	launcher.Env = slices.Concat(pcptest.Env(), sc.env, []string{asLauncher + "=1"})
	launcher.Stderr = os.Stderr
	in, err := launcher.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	out, err := launcher.StdoutPipe()
	if err == nil {
		err = launcher.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	defer launcher.Wait()
	defer launcher.Process.Kill()
	base, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	base = strings.TrimSuffix(base, "\n")
	until(t, func() string {
		n, err := countRecords(t.Context(), base, "sample.bin")
		if n == 0 {
			return fmt.Sprint("nothing recorded: ", err)
		}
		return ""
	})
	if err := launcher.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	until(t, func() string {
		log, _ := os.ReadFile(base + ".log")
		if !strings.Contains(string(log), "The application that launched pmlogger has exited") || !strings.Contains(string(log), "\nLog finished") ||
			!strings.Contains(string(log), "Recording session terminated, exiting") {
			return "the log has\n" + string(log)
		}
		return ""
	})
	if out, errs, status := pcptest.Run(t, nil, "", "pmlogcheck", base); out != "" || errs != "" || status != 0 {
		t.Errorf("pmlogcheck: exit status %d\n%s%s", status, out, errs)
	}
}

// testUnreachable checks that the session notices a program that ends because it cannot reach its
// host.
func testUnreachable(t *testing.T, sc scenario, program string) {
	sc.setenv(t)
	s, err := record.Create(filepath.Join(sc.dir, "folio"), record.Options{Program: program})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	l, err := s.Add(record.Host{Name: "localhost:" + strconv.Itoa(pcptest.FreePort(t)), Config: "log mandatory on 1 sec pmcd.pid"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-l.Done()
	exit, ok := errors.AsType[*exec.ExitError](l.Err())
	if !ok || exit.ExitCode() != 1 {
		t.Errorf("the logger ended with %v", l.Err())
	}
	if _, err := s.Status(); !errors.Is(err, pdu.ErrIPC) {
		t.Errorf("status: %v", err)
	}
	if log, err := os.ReadFile(l.LogFile()); err != nil || !strings.Contains(string(log), "Cannot connect to PMCD on host") {
		t.Errorf("log: %s, %v", log, err)
	}
}

// TestInteropScenario records three hosts in each way, and replays the recordings with pmafm. Then
// it tests launchers that are killed and hosts that cannot be reached.
func TestInteropScenario(t *testing.T) {
	pcptest.Need(t, "pmcd", "pmlogger", "pmafm", "pmdumplog", "pmval", "pmlogcheck")
	pmcd := pcptest.StartPMCD(t, pcptest.Config{Shipped: []string{"pmcd", "sample"}})
	ways := map[string]func(*testing.T, scenario){"in this process": func(t *testing.T, sc scenario) { sc.record(t, "") }}
	programs := map[string]string{"PCP's pmlogger": pcptest.Tool(t, "pmlogger"), "our pmlogger": pcptest.Build(t, "./examples/pmlogger")}
	for name, program := range programs {
		ways["with "+name] = func(t *testing.T, sc scenario) { sc.record(t, program) }
		ways["the C library with "+name] = func(t *testing.T, sc scenario) {
			sc.recordC(t, filepath.Dir(program))
			sc.replayConfig(t)
		}
	}
	for i, name := range slices.Sorted(maps.Keys(ways)) {
		t.Run(name, func(t *testing.T) {
			sc := newScenario(t, pmcd)
			ways[name](t, sc)
			sc.replay(t, i%every)
		})
	}
	for name, program := range programs {
		t.Run(name+" without its launcher", func(t *testing.T) { testLauncherDies(t, newScenario(t, pmcd), program) })
		t.Run(name+" without its host", func(t *testing.T) { testUnreachable(t, newScenario(t, pmcd), program) })
	}
}
