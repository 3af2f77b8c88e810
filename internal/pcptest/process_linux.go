package pcptest

import (
	"bytes"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// dieWithParent lets the child end when the test process is killed (a time-out of go test runs no
// cleanup).
func dieWithParent(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM} }

func terminate(p *os.Process) { p.Signal(syscall.SIGTERM) }

// An identity is a process ID and the start time of the process, which differs for a later process
// with the same ID.
type identity struct{ pid, start int }

// descendants returns the processes started by pid, and by those.
func descendants(pid int) []identity {
	parents := map[int][]identity{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil {
			if s, ok := readStat(n); ok {
				parents[s.ppid] = append(parents[s.ppid], identity{n, s.start})
			}
		}
	}
	var all []identity
	for queue := []int{pid}; len(queue) > 0; queue = queue[1:] {
		for _, c := range parents[queue[0]] {
			all = append(all, c)
			queue = append(queue, c.pid)
		}
	}
	return all
}

// awaitEnd waits for a process that is no child of ours to end, and kills it when that takes too
// long. One that has ended but is not collected by its parent (a container without an init) counts
// as gone.
func awaitEnd(id identity, limit time.Duration) {
	killed := false
	for deadline := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		s, ok := readStat(id.pid)
		if !ok || s.start != id.start || s.state == 'Z' || s.state == 'X' {
			return
		}
		if time.Now().After(deadline) {
			if killed {
				return
			}
			syscall.Kill(id.pid, syscall.SIGKILL)
			killed, deadline = true, time.Now().Add(limit)
		}
	}
}

type procStat struct {
	state       byte
	ppid, start int
	ticks       int // of CPU time, of which there are 100 a second
}

// CPU is the time that the CPUs have spent on the server and the processes that it has started, to
// a hundredth of a second.
func (p *Process) CPU() time.Duration {
	s, _ := readStat(p.PID())
	ticks := s.ticks
	for _, d := range descendants(p.PID()) {
		s, _ := readStat(d.pid)
		ticks += s.ticks
	}
	return time.Duration(ticks) * time.Second / 100
}

// readStat reads fields 3, 4, 14, 15 and 22 of proc(5)'s stat. The second field, the command in
// brackets, may hold anything.
func readStat(pid int) (procStat, bool) {
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return procStat{}, false
	}
	f := bytes.Fields(b[bytes.LastIndexByte(b, ')')+1:])
	if len(f) < 20 {
		return procStat{}, false
	}
	ppid, _ := strconv.Atoi(string(f[1]))
	user, _ := strconv.Atoi(string(f[11]))
	system, _ := strconv.Atoi(string(f[12]))
	start, _ := strconv.Atoi(string(f[19]))
	return procStat{state: f[0][0], ppid: ppid, start: start, ticks: user + system}, true
}

// alive says whether a process of this id exists.
func alive(pid int) bool {
	_, err := os.Stat("/proc/" + strconv.Itoa(pid))
	return err == nil
}
