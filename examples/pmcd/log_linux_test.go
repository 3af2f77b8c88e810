package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestLogTakesAll: what the process writes to standard output and standard error goes to its log.
func TestLogTakesAll(t *testing.T) {
	in := install(t)
	log, port := filepath.Join(in.dir, "log/pmcd/pmcd.log"), strconv.Itoa(pcptest.FreePort(t))
	p := pcptest.Start(t, pcptest.Daemon{Path: in.pmcd, Args: []string{"-f", "-l", log, "-p", port}, Dir: in.dir, Env: in.env,
		Addr: "localhost:" + port, Greets: true})
	for _, fd := range []int{1, 2} {
		if to, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", p.PID(), fd)); err != nil || to != log {
			t.Errorf("descriptor %d is %s, %v; want %s", fd, to, err, log)
		}
	}
}

// TestLogToStderr: standard error as a log starts and ends like a file.
func TestLogToStderr(t *testing.T) {
	in := install(t)
	port := strconv.Itoa(pcptest.FreePort(t))
	p := pcptest.Start(t, pcptest.Daemon{Path: in.pmcd, Args: []string{"-f", "-l", "-", "-p", port}, Dir: in.dir, Env: in.env,
		Addr: "localhost:" + port, Greets: true})
	p.Stop()
	if log := p.Log(); !strings.HasPrefix(log, "Log for pmcd on ") || !strings.Contains(log, "\n\nLog finished ") {
		t.Errorf("log:\n%s", log)
	}
}
