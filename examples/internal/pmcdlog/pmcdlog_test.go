package pmcdlog

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/pcp-go/pcp/pdu"
)

// TestPMCDLines: what scripts look for in pmcd's log stands before what the collector says.
func TestPMCDLines(t *testing.T) {
	var b bytes.Buffer
	log, _ := New(&b, slog.LevelInfo, false, false)
	log = log.With().WithGroup("")
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
	log, lines := New(&b, slog.LevelInfo, true, false)
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
			lines.Reset()
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
	log, _ := New(&b, slog.LevelInfo, false, false)
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
	log, _ := New(&b, slog.LevelInfo, false, true)
	for range 2 {
		log.Error("agent died", "agent", "x", "domain", 7, "fd", 1, "status", 8)
	}
	if n := strings.Count(b.String(), "\nWarning: restartAgents=0 from PMCD_RESTART_AGENTS=0 in environment\n"); n != 1 {
		t.Errorf("said %d times:\n%s", n, &b)
	}
}
