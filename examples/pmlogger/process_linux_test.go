package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// A story is what happens to a logger.
type story struct {
	name    string
	args    string
	signals []syscall.Signal
	control []string // what comes through the control pipe, which is closed then
	answer  string   // of the user to dialogs
}

var stories = []story{
	{name: "volume", args: "-m note X", signals: []syscall.Signal{syscall.SIGHUP, syscall.SIGTERM}},
	{name: "USR1", args: "X", signals: []syscall.Signal{syscall.SIGUSR1}},
	{name: "INT", args: "-P X", signals: []syscall.Signal{syscall.SIGALRM, syscall.SIGINT}},
	{name: "again", args: "X-%Y", signals: []syscall.Signal{syscall.SIGUSR2, syscall.SIGUSR2, syscall.SIGTERM}},
	{name: "again, the operand not last", args: "X-%Y -y", signals: []syscall.Signal{syscall.SIGUSR2, syscall.SIGTERM}},
	{name: "again with a note", args: "-m note X-%Y", signals: []syscall.Signal{syscall.SIGUSR2, syscall.SIGTERM}},
	{name: "check", args: "-m pmlogger_check X", signals: []syscall.Signal{syscall.SIGTERM}},
	{name: "gone", args: "-x 3 X", control: []string{"V0\nFmyf\nPmyp\nR\n"}, answer: "Yes"},
	{name: "gone and silent", args: "-x 3 X", control: []string{"V0\n"}},
	{name: "status and end", args: "-x 3 X", control: []string{"V0\nFmyf\nPmyp\nR\n", "?\n", "Q\n"}, answer: "Close"},
	{name: "detached", args: "-x 3 X", control: []string{"V0\nFmyf\nPmyp\n", "D\n"}, answer: "Close", signals: []syscall.Signal{syscall.SIGTERM}},
	{name: "gone on", args: "-x 3 X", control: []string{"V0\n"}, answer: "No", signals: []syscall.Signal{syscall.SIGTERM}},
	{name: "illegal", args: "-x 3 -m note X", control: []string{"V0\n", "Dx\n"}},
}

// TestInteropStories compares what C's program and ours do with signals and commands: their logs,
// map files, the collector's metrics about them, the dialogs.
func TestInteropStories(t *testing.T) {
	l := newLab(t)
	chosen := stories
	if !*all {
		chosen = sample(stories, 2)
	}
	theirs := pcptest.Tool(t, "pmlogger")
	var wg sync.WaitGroup
	for _, s := range chosen {
		wg.Go(func() {
			diff := ""
			for n := 0; n < 3; n++ {
				want, got := l.tell(t, theirs, s), l.tell(t, l.ours, s)
				if diff = cmp.Diff(strings.Split(want, "\n"), strings.Split(got, "\n")); diff == "" {
					return
				}
			}
			t.Errorf("%s (-C +ours):\n%s", s.name, diff)
		})
	}
	wg.Wait()
}

// TestInteropWatched compares loggers for the lifetime of a process, which ends.
func TestInteropWatched(t *testing.T) {
	l := newLab(t)
	run := func(program string) string {
		watched := exec.CommandContext(t.Context(), "sleep", "0.7")
		if err := watched.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- watched.Wait() }()
		text := l.runLine(t, program, fmt.Sprintf("-c good -h H -p %d X", watched.Process.Pid))
		if err := <-ended; err != nil {
			t.Error(err)
		}
		return text
	}
	want, got := run(pcptest.Tool(t, "pmlogger")), run(l.ours)
	if diff := cmp.Diff(want, got); diff != "" || !strings.Contains(got, "process from -p has vanished, exiting") {
		t.Errorf("(-C +ours):\n%s\n%s", diff, got)
	}
}

// tell has a story happen, and returns all that comes of it.
func (l *lab) tell(t *testing.T, program string, s story) string {
	dir := pcptest.ShortDir(t)
	run := filepath.Join(dir, "run")
	for _, d := range []string{dir, run, filepath.Join(run, "pmlogger")} {
		_ = os.Mkdir(d, 0o777)
		if err := os.Chmod(d, 0o777); err != nil { // a daemon that root starts becomes another user
			t.Error(err)
		}
	}
	confirm := "#!/bin/sh\nfor a; do case $a in */msg*) cat $a;; *) echo \"[$a]\";; esac; done >>dialogs\nif [ \"$ANSWER\" ]; then echo $ANSWER; fi\n"
	for name, text := range map[string]string{"config": configFiles["good"], "confirm": confirm} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o755); err != nil {
			t.Error(err)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	args := []string{"-c", "config", "-l", "log"}
	if !strings.Contains(s.args, "-P") {
		args = append(args, "-h", l.pmcd.Host())
	}
	cmd := exec.CommandContext(ctx, program, append(args, strings.Fields(s.args)...)...)
	cmd.Args[0] = "pmlogger"
	cmd.Dir = dir
	cmd.Env = append(append([]string{}, l.env...), "PCP_RUN_DIR="+run, "PCP_TMP_DIR="+run, "ANSWER="+s.answer, "PCP_XCONFIRM_PROG="+filepath.Join(dir, "confirm"),
		"PATH="+filepath.Dir(program)+":"+os.Getenv("PATH"))
	r, w, err := os.Pipe()
	if err != nil {
		t.Error(err)
		return ""
	}
	defer w.Close()
	cmd.ExtraFiles = []*os.File{r}
	err = cmd.Start()
	r.Close()
	if err != nil {
		t.Error(err)
		return ""
	}
	var b strings.Builder
	note := func() { fmt.Fprintf(&b, "map file:\n%s", awaitMap(ctx, run, cmd.Process.Pid)) }
	note()
	for _, m := range s.control {
		fmt.Fprint(w, m)
		time.Sleep(300 * time.Millisecond) // the dialog
	}
	if s.control != nil {
		w.Close()
	}
	for _, n := range s.signals {
		time.Sleep(300 * time.Millisecond) // what comes of the one before
		if n == syscall.SIGTERM && strings.HasPrefix(s.name, "again") {
			note()
		}
		_ = cmd.Process.Signal(n) // it may have ended, which shows
	}
	_ = cmd.Wait()
	fmt.Fprintf(&b, "%v\n", cmd.ProcessState)
	remains := l.remains(t, dir, b.String(), cmd.Process.Pid)
	if s.name == "again" { // C's program leaves its process identifier when it has started itself twice
		remains = strings.ReplaceAll(remains, "DIR/run/pmlogger.pid\n", "")
	}
	return remains
}

// awaitMap is the map file of a process, once there is one.
func awaitMap(ctx context.Context, run string, pid int) string {
	path := filepath.Join(run, "pmlogger", fmt.Sprint(pid))
	for ctx.Err() == nil {
		if text, err := os.ReadFile(path); err == nil && strings.Count(string(text), "\n") >= 3 {
			link, _ := os.Readlink(filepath.Join(run, "pmlogger", "primary"))
			return string(text) + "primary: " + link + "\n"
		}
		time.Sleep(20 * time.Millisecond)
	}
	return "none"
}

var (
	logFinished = regexp.MustCompile(`\nLog finished DATE\n`)
	amounts     = regexp.MustCompile(`[0-9.]+ (Kbytes|Mbytes|bytes|seconds)`)
	firstPort   = regexp.MustCompile(`(?m)^\d+$`)
)

// remains is what is left of a process in a directory, without what differs from run to run. C's
// program writes that its log is finished for each dialog that fails.
func (l *lab) remains(t *testing.T, dir, text string, pid int) string {
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		text += fmt.Sprintln(path)
		if name := d.Name(); name == "log" || name == "dialogs" {
			content, err := os.ReadFile(path)
			text += string(content)
			return err
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	text = strings.ReplaceAll(mask(text), dir, "DIR")
	text = regexp.MustCompile(fmt.Sprintf(`\b%d\b`, pid)).ReplaceAllString(text, "PID")
	text = logFinished.ReplaceAllString(text, "")
	return firstPort.ReplaceAllString(amounts.ReplaceAllString(text, "N $1"), "PORT")
}

// TestInteropSecondPrimary starts a primary logger beside another one, whose links stay.
func TestInteropSecondPrimary(t *testing.T) {
	l := newLab(t)
	first := exec.CommandContext(t.Context(), "sleep", "100")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	defer first.Wait()
	defer first.Process.Kill()
	run := func(program string) string {
		dir := pcptest.ShortDir(t)
		link := func(name, to string) string {
			path := filepath.Join(dir, name)
			if err := os.Symlink(filepath.Join(dir, to), path); err != nil {
				t.Fatal(err)
			}
			return path
		}
		if err := os.Mkdir(filepath.Join(dir, "pmlogger"), 0o777); err != nil {
			t.Fatal(err)
		}
		pid := strconv.Itoa(first.Process.Pid)
		if err := os.WriteFile(filepath.Join(dir, "pmlogger", pid), []byte("4330\nhost\n/archive\n"), 0o666); err != nil {
			t.Fatal(err)
		}
		links := []string{link("pmlogger/primary", "pmlogger/"+pid), link("pmlogger.primary.socket", "pmlogger."+pid+".socket")}
		lab := &lab{pmcd: l.pmcd, env: append(slices.Clone(l.env), "PCP_RUN_DIR="+dir, "PCP_TMP_DIR="+dir)}
		_, stderr, status := lab.run(t, program, dir, "", "-P", "-U", currentUser(t), "-L", "-c", "/dev/null", "-l", "log", "X")
		log, err := os.ReadFile(filepath.Join(dir, "log"))
		if err != nil {
			t.Error(err)
		}
		text := fmt.Sprintf("%s%s\n%s", stderr, status, regexp.MustCompile(`(?m)^pmlogger: ERROR.*`).FindAllString(string(log), -1))
		for _, path := range links {
			to, _ := os.Readlink(path)
			text += fmt.Sprintf("\n%s -> %s", path, to)
		}
		return strings.ReplaceAll(text, dir, "DIR")
	}
	if diff := cmp.Diff(strings.Split(run(pcptest.Tool(t, "pmlogger")), "\n"), strings.Split(run(l.ours), "\n")); diff != "" {
		t.Errorf("(-C +ours):\n%s", diff)
	}
}

// currentUser is the name of the user of this process.
func currentUser(t *testing.T) string {
	t.Helper()
	u, err := user.Current()
	if err != nil {
		t.Fatal(err)
	}
	return u.Username
}
