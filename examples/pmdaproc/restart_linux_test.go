package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
)

// TestInteropRestart: when the agent has died, pmcd starts it again. C pmcd finds out by the next
// request, which has no values; ours may have started another one before that.
func TestInteropRestart(t *testing.T) {
	pcptest.Need(t, "pmcd", "pminfo", "pmnsmerge")
	for _, tt := range []struct {
		name, program string
		again         bool // the next request fails
	}{{"C", "", true}, {"Go", pcptest.Build(t, "./examples/pmcd"), false}} {
		t.Run(tt.name, func(t *testing.T) {
			log := filepath.Join(pcptest.ShortDir(t), "proc.log")
			p := pcptest.StartPMCD(t, pcptest.Config{Program: tt.program, PMNS: pcptest.Names(t, "proc"),
				Agents: []string{fmt.Sprintf("proc 3 pipe binary %s -d 3 -l %s", pcptest.Build(t, "./examples/pmdaproc"), log)}})
			fetch := func() string {
				out, errs, _ := pcptest.Run(t, nil, "", "pminfo", "-h", p.Host(), "-f", "proc.nprocs")
				return out + errs
			}
			if s := fetch(); !strings.Contains(s, "value ") {
				t.Fatal(s)
			}
			before := processWith(log)
			if err := syscall.Kill(before, syscall.SIGKILL); err != nil {
				t.Fatal(before, err)
			}
			if s := fetch(); tt.again && strings.Contains(s, "value ") {
				t.Errorf("values of an agent that has died: %s", s)
			}
			for end := time.Now().Add(time.Minute); ; {
				s := fetch()
				if strings.Contains(s, "value ") {
					break
				}
				if time.Now().After(end) {
					t.Fatalf("no values again: %s", s)
				}
			}
			if after := processWith(log); after == before || after == 0 {
				t.Errorf("process %d, before %d", after, before)
			}
		})
	}
}

// processWith returns the ID of the process that has an argument, 0 if there is no such process.
func processWith(arg string) int {
	list, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range list {
		if b, err := os.ReadFile(file); err == nil && strings.Contains(string(b), "\x00"+arg+"\x00") {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			return pid
		}
	}
	return 0
}
