//go:build unix

package record_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/archive/logger/record"
	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// The requests of pmRecordControl.
const (
	recOn     = "40"
	recOff    = "41"
	recDetach = "43"
	recStatus = "44"
	recSetArg = "45"
)

// A player makes the calls of testdata/recordsession.c with this package.
type player struct {
	t       *testing.T
	dir     string
	program string
	calls   []string
	s       *record.Session
	loggers []*record.Logger
}

// play makes the calls and returns the answers in the form of the C library.
func (p *player) play() (answers []string) {
	for _, call := range p.calls {
		words := strings.SplitN(call, " ", 4)
		answers = append(answers, p.call(words[0], words[1:]))
	}
	return answers
}

func (p *player) call(command string, args []string) string {
	arg := func(i int) string {
		if i < len(args) {
			return args[i]
		}
		return ""
	}
	n, _ := strconv.Atoi(arg(0))
	switch command {
	case "setup":
		o := record.Options{Creator: arg(1), Replay: arg(2) == "1", Program: p.program, Args: p.arguments("-1")}
		s, err := record.Create(filepath.Join(p.dir, arg(0)), o)
		if errno, ok := errors.AsType[syscall.Errno](err); ok {
			return strconv.Itoa(int(errno))
		}
		p.t.Cleanup(func() { s.Close() })
		p.s = s
	case "replay":
		io.WriteString(p.s.Replay(), strings.Join(args, " ")+"\n")
	case "host":
		if p.s == nil {
			return code(record.ErrNotStarted)
		}
		number := strconv.Itoa(len(p.loggers))
		l, err := p.s.Add(record.Host{Name: arg(0), Default: arg(1) == "1", Config: p.config(number), Args: p.arguments(number)})
		if err == nil {
			p.loggers = append(p.loggers, l)
		}
		return code(err)
	case "control":
		if p.s == nil {
			return code(record.ErrNotStarted)
		}
		return code(p.control(n, arg(1)))
	case "show":
		l := p.loggers[n]
		status := -1
		select {
		case <-l.Done():
			status = 0
			if exit, ok := errors.AsType[*exec.ExitError](l.Err()); ok {
				status = int(exit.Sys().(syscall.WaitStatus))
			}
		default:
		}
		return fmt.Sprintf("process %d status %d", min(l.PID(), 1), status)
	case "log":
		return p.loggers[n].LogFile()
	case "seen":
		await(p.t, p.loggers[n], strings.Join(args[1:], " "))
	case "ended":
		<-p.loggers[n].Done()
	case "kill":
		if err := syscall.Kill(p.loggers[n].PID(), syscall.Signal(must(strconv.Atoi(arg(1))))); err != nil {
			return "failed"
		}
	}
	return "ok"
}

// control emulates pmRecordControl.
func (p *player) control(n int, request string) error {
	ctx := context.Background()
	var l *record.Logger
	if n >= 0 {
		l = p.loggers[n]
	}
	switch {
	case request == recOn && l == nil:
		return p.s.Start(ctx)
	case request == recOff && l == nil:
		return p.s.Stop(ctx)
	case request == recOff:
		return l.Stop(ctx)
	case request == recDetach && l == nil:
		return p.s.Detach()
	case request == recDetach:
		return l.Detach()
	case request == recStatus && l == nil:
		_, err := p.s.Status()
		return err
	case request == recStatus:
		_, err := l.Status()
		return err
	case request == recSetArg:
		return nil // see (*player).arguments
	}
	return record.ErrStarted
}

// code returns the result of pmRecordAddHost or pmRecordControl for err.
func code(err error) string {
	switch {
	case err == nil:
		return "0"
	case errors.Is(err, pdu.ErrIPC):
		return strconv.Itoa(int(pdu.ErrIPC))
	}
	return "-22"
}

// config returns the configuration text of all calls for a host.
func (p *player) config(host string) (text string) {
	for _, call := range p.calls {
		if line, ok := strings.CutPrefix(call, "config "+host+" "); ok {
			text += line + "\n"
		}
	}
	return text
}

// arguments returns the arguments of all calls for a host.
func (p *player) arguments(host string) (args []string) {
	for _, call := range p.calls {
		if arg, ok := strings.CutPrefix(call, "control "+host+" "+recSetArg+" "); ok {
			args = append(args, arg)
		}
	}
	return args
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// pipeNumber matches the number of the control pipe among arguments.
var pipeNumber = regexp.MustCompile(`"-x" "[0-9]+"`)

// comparable returns all text files of a session's directory, without parts that differ between
// sessions.
func comparable(t *testing.T, dir string) map[string]string {
	t.Helper()
	configs, err := filepath.Glob(filepath.Join(dir, "*.config"))
	if err != nil || len(configs) == 0 {
		t.Fatalf("no configurations in %s", dir)
	}
	base := filepath.Base(configs[0])[:6]
	all := map[string]string{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		key := strings.ReplaceAll(name, base, "BASE")
		switch filepath.Ext(name) {
		case "", ".config", ".log":
			b, err := os.ReadFile(filepath.Join(dir, name))
			text := strings.ReplaceAll(strings.ReplaceAll(string(b), base, "BASE"), dir, "DIR")
			text = created.ReplaceAllString(text, "Created: on HOST at DATE")
			all[key] = pipeNumber.ReplaceAllString(text, `"-x" "N"`)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// sessionConfig is the configuration of the loggers.
const sessionConfig = "log mandatory on every 50 msec { test.load }"

// sessionCalls are the calls of TestInteropSession.
const sessionCalls = `host web1 0
control -1 40
control -1 44
setup none/folio tool 1
setup sub/folio tool REPLAY
replay view load
control -1 40
host web1 0
host web1 1
host web2:44321 0
host 127.0.0.1 0
control -1 41
control 0 43
config 0 ` + sessionConfig + `
config 1 # the default host
config 1 ` + sessionConfig + `
config 2 ` + sessionConfig + `
config 3 ` + sessionConfig + `
control -1 45 -V3
control 1 45 -s
control 1 45 10 MB
control 3 45 -fail
show 0
control 0 40
control -1 99
control -1 40
control -1 40
host web3 0
control -1 99
ended 3
control -1 44
show 3
control 3 44
seen 0 replay
seen 1 replay
seen 2 replay
control 0 44
control 1 43
control 1 43
control 1 44
seen 1 detached
kill 2 9
ended 2
control 2 41
control 2 41
show 2
show 0
control -1 41
ended 0
control -1 44
show 0
control -1 41
control 0 43
show 1
kill 1 15
ended 1
log 0`

// replayCalls are sessionCalls with or without a replay.
func replayCalls(replay bool) []string {
	number := "0"
	if replay {
		number = "1"
	}
	calls := strings.Split(sessionCalls, "\n")
	for i, call := range calls {
		call = strings.ReplaceAll(call, "REPLAY", number)
		if n, ok := strings.CutSuffix(call, " replay"); ok && strings.HasPrefix(call, "seen") {
			call = fmt.Sprintf("%s status of DIR/sub/folio of tool, replay %v", n, replay)
		}
		calls[i] = call
	}
	return calls
}

// playInBoth makes the calls with the C library and with this package, each in its own directory.
func playInBoth(t *testing.T, dirs [2]string, calls []string) (answers [2][]string) {
	t.Helper()
	bin := t.TempDir()
	if err := os.Symlink(must(filepath.Abs(os.Args[0])), filepath.Join(bin, "pmlogger")); err != nil {
		t.Fatal(err)
	}
	env := []string{asLogger + "=1", "PCP_BINADM_DIR=" + bin}
	t.Setenv(asLogger, "1")
	for i, dir := range dirs {
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		own := make([]string, len(calls))
		for j, call := range calls {
			own[j] = strings.ReplaceAll(strings.ReplaceAll(call, "setup ", "setup "+dir+"/"), "DIR", dir)
		}
		if i == 0 {
			answers[i] = pcptest.RecordSession(t, dir, env, own)
		} else {
			answers[i] = (&player{t: t, dir: "/", program: filepath.Join(bin, "pmlogger"), calls: own}).play()
		}
	}
	return answers
}

// TestInteropSession compares a session of the C library with one of this package. The calls must
// return the same results, write the same files, and send the loggers the same messages. All
// loggers are this program.
func TestInteropSession(t *testing.T) {
	for _, replay := range []bool{false, true} {
		calls, dirs := replayCalls(replay), [2]string{t.TempDir(), t.TempDir()}
		answers := playInBoth(t, dirs, calls)
		for i, call := range calls {
			if c, ours := answers[0][i], answers[1][i]; c != ours && !strings.HasPrefix(call, "log ") {
				t.Errorf("replay %v: line %d, %s: %s, the C library has %s", replay, i+1, call, ours, c)
			}
		}
		c, ours := comparable(t, filepath.Join(dirs[0], "sub")), comparable(t, filepath.Join(dirs[1], "sub"))
		if text, kept := ours["BASE"]; kept != replay || kept && text != "view load\n" {
			t.Errorf("replay %v: the configuration is %q", replay, text)
		}
		delete(ours, "BASE") // the C library removes it
		if diff := cmp.Diff(c, ours); diff != "" {
			t.Errorf("replay %v: files (-the C library's +ours):\n%s", replay, diff)
		}
	}
}
