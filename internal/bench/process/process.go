//go:build linux

// Package process measures the process of a benchmark.
package process

import (
	"fmt"
	"log"
	"os"
	"runtime/pprof"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// CPU is the CPU time of this process.
func CPU() time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PeakRSS is the most memory that this process had, in bytes.
func PeakRSS() int64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		log.Fatal(err)
	}
	var kib int64
	if _, rest, ok := strings.Cut(string(status), "VmHWM:"); ok {
		fmt.Sscan(rest, &kib)
	}
	return kib << 10
}

// Profile writes a profile of the CPU time to a file until stop is called. It writes nothing if
// path is empty.
func Profile(path string) (stop func()) {
	if path == "" {
		return func() {}
	}
	f, err := os.Create(path)
	if err == nil {
		err = pprof.StartCPUProfile(f)
	}
	if err != nil {
		log.Fatal(err)
	}
	return func() {
		pprof.StopCPUProfile()
		if err := f.Close(); err != nil {
			log.Print(err)
		}
	}
}

// CPUOf is the CPU time of another process, 0 for none.
func CPUOf(pid int) time.Duration {
	if pid == 0 {
		return 0
	}
	var t unix.Timespec
	if err := unix.ClockGettime(int32(^pid<<3|2), &t); err != nil { // CPUCLOCK_SCHED, see clock_getcpuclockid(3)
		log.Fatal(err)
	}
	return time.Duration(t.Nano())
}
