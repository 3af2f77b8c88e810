//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// A logger is a program that is measured, and its figures for a record in the latest window.
type logger struct {
	program, base string
	cmd           *exec.Cmd
	before        usage
	recordSize    int64

	records, user, system, switches float64
	cpus, ratios                    []float64 // of all windows
}

// usage is a process's use of resources, and the size of its output.
type usage struct {
	cpu, user, system, switches, size float64 // times in microseconds
}

// first begins the first window.
func (l *logger) first() (err error) {
	l.recordSize, err = lastRecord(l.base + ".0")
	if err == nil {
		l.before, err = l.usage()
	}
	return err
}

// next ends a window, and begins the next one.
func (l *logger) next() error {
	now, err := l.usage()
	if err != nil {
		return err
	}
	l.records = (now.size - l.before.size) / float64(l.recordSize)
	l.user = (now.user - l.before.user) / l.records
	l.system = (now.system - l.before.system) / l.records
	l.switches = (now.switches - l.before.switches) / l.records
	l.cpus = append(l.cpus, (now.cpu-l.before.cpu)/l.records)
	l.before = now
	return nil
}

// usage is that of all threads up to now. The kernel counts nanoseconds, but those of user and
// system in ticks.
func (l *logger) usage() (u usage, err error) {
	dir := fmt.Sprint("/proc/", l.cmd.Process.Pid)
	stat, err := os.ReadFile(dir + "/stat")
	if err != nil {
		return u, err
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')'):]))
	fmt.Sscan(fields[12], &u.user)
	fmt.Sscan(fields[13], &u.system)
	u.user, u.system = u.user*1e4, u.system*1e4
	threads, err := filepath.Glob(dir + "/task/*")
	if err != nil {
		return u, err
	}
	for _, t := range threads {
		schedstat, err := os.ReadFile(t + "/schedstat")
		if err != nil {
			return u, err
		}
		var ns float64
		fmt.Sscan(string(schedstat), &ns)
		u.cpu += ns / 1e3
		status, err := os.ReadFile(t + "/status")
		if err != nil {
			return u, err
		}
		for line := range strings.Lines(string(status)) {
			if name, n, ok := strings.Cut(line, ":"); ok && strings.HasSuffix(name, "ctxt_switches") {
				var switches float64
				fmt.Sscan(n, &switches)
				u.switches += switches
			}
		}
	}
	info, err := os.Stat(l.base + ".0")
	if err == nil {
		u.size = float64(info.Size())
	}
	return u, err
}

// lastRecord is the length of the last record of a volume, which is at its end.
func lastRecord(path string) (int64, error) {
	b, err := os.ReadFile(path)
	if err != nil || len(b) < 4 {
		return 0, fmt.Errorf("%s: no record: %w", path, err)
	}
	b = b[len(b)-4:]
	return int64(b[0])<<24 | int64(b[1])<<16 | int64(b[2])<<8 | int64(b[3]), nil
}
