//go:build unix

package pmdammv

import "golang.org/x/sys/unix"

// alive reports whether there is a process of that number.
func alive(pid int) bool { return pid > 0 && unix.Kill(pid, 0) != unix.ESRCH }
