package main

import (
	"bufio"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pcp-go/pcp/internal/pcptest"
	"github.com/pcp-go/pcp/internal/pty"
)

var fleetFull = flag.Bool("fleet.full", false, "watch 500 collectors for 60 seconds, and require every sample")

// TestFootprint: many hosts take little of a processor and of memory, and no sample is missed.
func TestFootprint(t *testing.T) {
	hosts, samples := 100, 5
	if *fleetFull {
		hosts, samples = 500, 61
	}
	args := append([]string{"-t", "1", "-s", strconv.Itoa(samples)}, startHosts(t, hosts)...)
	cmd := exec.Command(pcptest.Build(t, "./examples/fleet"), args...)
	cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	all, full, missed, memory := 0, 0, 0, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		_, states, ok := strings.Cut(lines.Text(), fmt.Sprintf("  %d hosts: ", hosts))
		if !ok {
			continue
		}
		if all++; strings.HasPrefix(states, fmt.Sprintf("%d up", hosts)) {
			full++
		}
		if strings.Contains(states, "missed") {
			missed++
		}
		memory = max(memory, peakMemory(t, cmd.Process.Pid))
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	took, cpu := time.Since(began), cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()
	share := cpu.Seconds() / took.Seconds()
	t.Logf("%d hosts, %v: %d samples, %d with all hosts up, %d after some that were missed, %.1f %% of a processor, %.1f MiB",
		hosts, took.Round(time.Millisecond), all, full, missed, 100*share, float64(memory)/1024)
	if all != samples || memory == 0 || memory > 60<<10 || share > 0.5 {
		t.Errorf("want %d samples, at most 50 %% and 60 MiB", samples)
	}
	// A busy machine may make hosts late, and samples be missed.
	if *fleetFull && (missed > 0 || full < samples-1) {
		t.Errorf("want no sample missed, and all hosts up in all of them but the first")
	}
}

// peakMemory is how many KiB a process has had in memory at most; 0 once it has ended.
func peakMemory(t *testing.T, pid int) (kib int) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	if _, text, ok := strings.Cut(string(status), "\nVmHWM:"); ok {
		if _, err := fmt.Sscan(text, &kib); err != nil {
			t.Fatal(err)
		}
	}
	return kib
}

// TestTerminal checks that the screen follows keys and changes of size, and that the program
// restores the terminal whenever it ends.
func TestTerminal(t *testing.T) {
	addrs := startHosts(t, 6)
	program := pcptest.Build(t, "./examples/fleet")
	start := func() *pty.Session {
		cmd := exec.Command(program, append([]string{"-t", "0.2"}, addrs...)...)
		cmd.Env = append(os.Environ(), "PCP_DERIVED_CONFIG=", "TERM=xterm")
		return pty.Start(t, cmd)
	}
	s := start()
	s.Await("\x1b[?1049h")
	s.Await("*load") // drawn once, as the hosts are; the line of their number is drawn each second
	s.Await(addrs[5])
	s.Await("6 hosts: 6 up")
	s.Type("r")
	s.Await("\x1b[4;1H" + addrs[0])
	s.Type("3")
	s.Await("*memory %")
	s.Await("\x1b[4;1H" + addrs[5])
	s.Type("q")
	s.Await("\x1b[?1049l")
	if err := s.Cmd.Wait(); err != nil {
		t.Error(err)
	}
	for _, end := range []func(s *pty.Session){
		func(s *pty.Session) { s.Type("\x03") },
		func(s *pty.Session) { s.Cmd.Process.Signal(syscall.SIGTERM) },
	} {
		s := start()
		s.Await("6 up")
		end(s)
		if rest := s.Await("\x1b[?1049l"); strings.Contains(rest, "panic") {
			t.Error(rest)
		}
		if err := s.Cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
}
