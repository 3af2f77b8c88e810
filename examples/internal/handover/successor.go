package handover

import (
	"errors"
	"os"
)

// ErrReported is the error of Daemonize when the process in the background has printed its error.
var ErrReported = errors.New("reported by another process")

// ErrNoRoot is the error of Start when no process can be started with the root privileges that this
// one has given up.
var ErrNoRoot = errors.New("no process with root's privileges")

// RunAsRoot runs a command as root and returns pipes to its standard input and output. It is
// [github.com/pcp-go/pcp/pmda/collector.Server.RunAsRoot].
type RunAsRoot func(name string, argv ...string) (in, out *os.File, err error)

// A Successor is the process that has taken the place of this one. It must stay reachable: its
// finalizer would tell the successor that this process has ended.
type Successor struct {
	PID   int
	alive *os.File // ends with this process
}
