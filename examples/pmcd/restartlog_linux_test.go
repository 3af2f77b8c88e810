package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/pdu"
)

// TestPMCDLines: what scripts look for in pmcd's log stands before what the collector says.
func TestPMCDLines(t *testing.T) {
	var b bytes.Buffer
	log := (&daemon{options: &options{config: "x"}}).logger(&b, slog.LevelInfo).With().WithGroup("")
	agent := func(more ...any) []any {
		return append([]any{slog.String("agent", "x"), slog.Int("domain", 7)}, more...)
	}
	died := func(status int, more ...any) []any {
		return append(agent(slog.Int("fd", 9), slog.Int("status", status)), more...)
	}
	for _, tt := range []struct {
		message string
		attrs   []any
		want    string
	}{
		{"agent started", agent(), ""},
		{"agent died", died(8), "Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): protocol failure for fd=9\n"},
		{"agent died", died(2|3<<8, slog.String("process", "exit status 3")), "Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): protocol failure for fd=9, exit(3)\n"},
		{"agent died", died(2|9<<16, slog.String("process", "signal: killed")), "Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): protocol failure for fd=9, signal(9)\n"},
		{"agent started", agent(), "Info: Auto-restarting agents.\nRestarting any deceased agents:\n    \"x\" agent\n"},
		{"agent started", agent(), ""},
		{"agent unconfigured", agent(), ""},
		{"agent not started", agent(slog.Any("err", fmt.Errorf("a: %w", io.EOF))), "pmcd: unexpected end-of-file at initial exchange with x PMDA\n"},
		{"agent not started", agent(slog.Any("err", fmt.Errorf("a: %w", os.ErrDeadlineExceeded))),
			"pmcd: error at initial PDU exchange with x PMDA: Timeout waiting for a response from PMCD\n"},
		{"agent not started", agent(slog.Any("err", fmt.Errorf("a: %w", pdu.ErrTooBig))), "pmcd: error at initial PDU exchange with x PMDA: IPC protocol failure\n"},
		{"agent not started", agent(slog.Any("err", &net.OpError{Op: "dial", Err: syscall.ENOENT})), "pmcd: Error connecting to \"x\" agent : No such file or directory\n"},
		{"agent not started", agent(slog.Any("err", &fs.PathError{Op: "fork/exec", Path: "/a", Err: syscall.ENOENT})),
			"pmcd: error starting /a: No such file or directory\npmcd: unexpected end-of-file at initial exchange with x PMDA\n"},
		{"agent not started", agent(slog.Any("err", errors.New("other"))), ""},
		{"agent removed", agent(), ""},
	} {
		b.Reset()
		log.Info(tt.message, tt.attrs...)
		got := regexp.MustCompile(`(?m)^\[.*?\] pmcd\(\d+\) `).ReplaceAllString(b.String(), "")
		if want := tt.want + "Info: " + tt.message + " agent=x"; !strings.HasPrefix(got, want) {
			t.Errorf("%s %v: logged\n%swant\n%s", tt.message, tt.attrs, got, want)
		}
	}
}

// TestPMCDLinesAlone: in the place of PCP's pmcd its lines take the place of what the collector
// says, unless that says more.
func TestPMCDLinesAlone(t *testing.T) {
	var b bytes.Buffer
	d := &daemon{options: &options{config: "x", installed: true}}
	log := d.logger(&b, slog.LevelInfo)
	refused := []any{slog.String("host", "192.0.2.1"), slog.Int("slot", 3), slog.Int("fd", 9), slog.Any("err", pdu.ErrPermission)}
	const violation = "access violation from host 192.0.2.1\nendclient client[3]: (fd 9) No permission to perform requested operation (-12387)\n"
	for _, tt := range []struct {
		message string
		attrs   []any
		want    string
	}{
		{"agent started", []any{"agent", "x", "domain", 7}, ""},
		{"agent died", []any{"agent", "x", "domain", 7, "fd", 1, "status", 8}, "Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): protocol failure for fd=1\n"},
		{"agent died", []any{"agent", "x", "domain", 7, "fd", 1, "err", errors.New("why")},
			"Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): protocol failure for fd=1\nError: agent died agent=x domain=7 fd=1 err=why\n"},
		{"agent unconfigured", []any{"agent", "x", "domain", 7}, ""},
		{"agent unconfigured", []any{"agent", "x", "err", errors.New("why")}, "Error: agent unconfigured agent=x err=why\n"},
		{"agent not started", []any{"agent", "x", "err", io.EOF}, "pmcd: unexpected end-of-file at initial exchange with x PMDA\n"},
		{"agent not started", []any{"agent", "x", "err", errors.New("other")}, "Error: agent not started agent=x err=other\n"},
		{"client refused", refused, violation},
		{"client refused", refused, ""},
		{"", nil, ""},
		{"client refused", refused, violation},
		{"client refused", []any{"err", "why"}, "Error: client refused err=why\n"},
		{"client closed", []any{"err", syscall.EPIPE}, ""},
		{"client closed", []any{"err", io.ErrUnexpectedEOF}, "Error: client closed err=\"unexpected EOF\"\n"},
	} {
		b.Reset()
		if tt.message == "" {
			d.lines.reset()
			continue
		}
		log.Error(tt.message, tt.attrs...)
		got := regexp.MustCompile(`(?m)^\[.*?\] pmcd\(\d+\) `).ReplaceAllString(b.String(), "")
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s %v (-want +got):\n%s", tt.message, tt.attrs, diff)
		}
	}
}

// TestEndLines: what the collector says of an agent that it has ended is in pmcd's words alone.
func TestEndLines(t *testing.T) {
	var b bytes.Buffer
	log := (&daemon{options: &options{config: "x"}}).logger(&b, slog.LevelInfo)
	log.Debug("agent ended", "agent", "x", "domain", 7, "shutdown", false)
	log.Debug("agent ended", "agent", "x", "domain", 7, "shutdown", true, "status", 2<<8, "process", "exit status 2")
	log.Debug("other")
	got := regexp.MustCompile(`(?m)^\[.*?\] pmcd\(\d+\) `).ReplaceAllString(b.String(), "")
	const want = "Info: CleanupAgent ...\nCleanup \"x\" agent (dom 7): unconfigured\nInfo: CleanupAgent ...\nCleanup \"x\" agent (dom 7): terminated, exit(2)\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestNoRestartLine: the first death of an agent is followed by why it is not restarted.
func TestNoRestartLine(t *testing.T) {
	var b bytes.Buffer
	log := (&daemon{options: &options{config: "x", noRestart: true}}).logger(&b, slog.LevelInfo)
	for range 2 {
		log.Error("agent died", "agent", "x", "domain", 7, "fd", 1, "status", 8)
	}
	if n := strings.Count(b.String(), "\nWarning: restartAgents=0 from PMCD_RESTART_AGENTS=0 in environment\n"); n != 1 {
		t.Errorf("said %d times:\n%s", n, &b)
	}
}

// TestInteropRestartLog compares what C pmcd and ours, in its place, log of SIGHUP: with the same
// configuration, with a faulty one, and with one that has an agent less.
func TestInteropRestartLog(t *testing.T) {
	pcptest.Need(t, "pmcd")
	program, env := asInstalled(t)
	set := pcptest.Agents(t, "sample")
	mask := regexp.MustCompile(`\[[A-Z].*?\] pmcd\(\d+\)|sample +29.*`)
	run := func(program string, env []string) []string {
		dir := pcptest.ShortDir(t)
		write := func(name, text string) {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		write("conf", set.Conf)
		write("names", set.PMNS)
		socket := filepath.Join(dir, "socket")
		env = append(env, append(set.Env, "PCP_RUN_DIR="+dir, "PCP_LOG_DIR="+dir, "PCP_TMP_DIR="+dir, "PMCD_ROOT_AGENT=0")...)
		p := pcptest.Start(t, pcptest.Daemon{Path: program, Dir: dir, Env: env, Addr: socket, Greets: true,
			Args: append([]string{"-f", "-A", "-i", "127.0.0.1", "-p", fmt.Sprint(pcptest.FreePort(t)), "-s", socket, "-c", "conf", "-n", "names", "-l", "log"}, giveTime...)})
		log := func() string {
			b, _ := os.ReadFile(filepath.Join(dir, "log"))
			return string(b)
		}
		var logs []string
		for _, conf := range []string{set.Conf, "x 250 nonsense\n", "", set.Conf + "[access]\nallow * : all;\n"} {
			if conf != set.Conf {
				write("conf", conf)
			}
			before := log()
			if err := syscall.Kill(p.PID(), syscall.SIGHUP); err != nil {
				t.Fatal(err)
			}
			wait(t, func() string {
				if after := log(); strings.HasPrefix(after, before) && strings.HasSuffix(after, "is unchanged\n") && after != before {
					return ""
				}
				return "no end of the reset:\n" + log()
			})
			text := mask.ReplaceAllString(stamp.ReplaceAllString(log()[len(before):], "TIME"), "MASK")
			text = regexp.MustCompile(`(?m)^pmcd .*\n|^ +-?\d+  \S+ +[02]\n`).ReplaceAllString(text, "") // our own agent is not of the configuration
			logs = append(logs, text)
		}
		before := log()
		p.Stop()
		end := mask.ReplaceAllString(stamp.ReplaceAllString(log()[len(before):], "TIME"), "MASK")
		return append(logs, regexp.MustCompile(`from .*`).ReplaceAllString(end, "from WHOM")) // a Go program is not told
	}
	if diff := cmp.Diff(run(pcptest.Tool(t, "pmcd"), nil), run(program, env)); diff != "" {
		t.Errorf("(-C +Go):\n%s", diff)
	}
}
