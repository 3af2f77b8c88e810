package collector

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/pcp-go/pcp/internal/pmdaroot"
)

// A rootAgent is a connection to pmdaroot, PCP's agent of domain 1. Pmdaroot runs as root and
// starts other agents for a collector that does not. A rootAgent is safe for concurrent use.
type rootAgent struct{ conn *pmdaroot.Conn }

const (
	rootStartLen   = 24 + rootLabelLen // of the body without the command
	rootStopLen    = 16                // of the body
	rootPipe       = 2                 // the kind of connection of a started agent
	rootLabelLen   = 64                // with a NUL
	rootCommandLen = 4096              // with a NUL
)

// processPoll is the interval of the checks for a process if the kernel does not report its end.
const processPoll = 100 * time.Millisecond

// dialRootAgent connects to the socket of pmdaroot. This process needs root's privileges for
// that.
func dialRootAgent(socket string) (*rootAgent, error) {
	conn, err := pmdaroot.Dial(context.Background(), socket)
	if err != nil {
		return nil, err
	}
	return &rootAgent{conn}, nil
}

func (r *rootAgent) close() { r.conn.Close() }

// startPipe starts a command as root, with pipes for its standard input and output.
func (r *rootAgent) startPipe(label string, argv []string) (c *rootChild, in, out *os.File, err error) {
	command := strings.Join(argv, " ")
	if len(strings.Fields(command)) != len(argv) || strings.ContainsRune(command, 0) {
		return nil, nil, nil, errors.New("pmdaroot splits the command at blanks")
	}
	if len(label) >= rootLabelLen || len(command) >= rootCommandLen {
		return nil, nil, nil, errors.New("the name or the command is too long for pmdaroot")
	}
	body := make([]byte, rootStartLen, rootStartLen+len(command))
	binary.NativeEndian.PutUint32(body[12:], rootPipe)
	binary.NativeEndian.PutUint32(body[16:], uint32(len(label)))
	binary.NativeEndian.PutUint32(body[20:], uint32(len(command)))
	copy(body[24:], label)
	reply, files, err := r.conn.Exchange(context.Background(), pmdaroot.StartAgent, append(body, command...), rootStartLen)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(files) != 2 {
		pmdaroot.CloseFiles(files)
		return nil, nil, nil, fmt.Errorf("pmdaroot has sent %d descriptors, want 2", len(files))
	}
	c, err = r.watch(int(int32(binary.NativeEndian.Uint32(reply))))
	if err != nil {
		pmdaroot.CloseFiles(files)
		return nil, nil, nil, err
	}
	return c, files[0], files[1], nil
}

// signal sends SIGTERM to a process that pmdaroot has started, or SIGKILL.
func (r *rootAgent) signal(pid int, kill bool) error {
	body := make([]byte, rootStopLen)
	binary.NativeEndian.PutUint32(body, uint32(pid))
	if kill {
		binary.NativeEndian.PutUint32(body[8:], 1)
	}
	_, files, err := r.conn.Exchange(context.Background(), pmdaroot.StopAgent, body, rootStopLen)
	pmdaroot.CloseFiles(files)
	return err
}

// A rootChild is a process that pmdaroot has started.
type rootChild struct {
	agent    *rootAgent
	pid      int
	exited   chan struct{} // closed when it has ended
	stop     context.CancelFunc
	watching sync.WaitGroup
}

// watch waits for the end of a process in the background, until forget is called.
func (r *rootAgent) watch(pid int) (*rootChild, error) {
	if pid <= 1 {
		return nil, fmt.Errorf("pmdaroot has started process %d", pid)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &rootChild{agent: r, pid: pid, exited: make(chan struct{}), stop: stop}
	c.watching.Go(func() {
		defer stop()
		if waitForProcess(ctx, pid) {
			close(c.exited)
		}
	})
	return c, nil
}

// forget stops the wait for a process that does not end.
func (c *rootChild) forget() {
	c.stop()
	c.watching.Wait()
}

func (c *rootChild) signal(sig os.Signal) { c.agent.signal(c.pid, sig == os.Kill) }

// waitForProcess waits for the end of a process that is not a child, and returns true. It returns
// false if ctx ends first.
func waitForProcess(ctx context.Context, pid int) bool {
	f, err := openProcess(pid)
	if err != nil { // it has ended, or the kernel is older than 5.3
		return lookForProcess(ctx, pid)
	}
	defer f.Close()
	return waitForFile(ctx, f) || lookForProcess(ctx, pid)
}

// openProcess opens a descriptor of a process. It becomes readable when the process ends, so
// waiting takes no thread.
func openProcess(pid int) (*os.File, error) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), fmt.Sprint("process ", pid)), nil
}

// waitForFile waits until a file is readable. It returns false if ctx ends first, or if it cannot
// wait for the file.
func waitForFile(ctx context.Context, f *os.File) bool {
	raw, err := f.SyscallConn()
	if err != nil {
		return false
	}
	defer context.AfterFunc(ctx, func() { f.SetReadDeadline(time.Unix(1, 0)) })()
	return raw.Read(func(fd uintptr) bool {
		n, _ := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0)
		return n != 0
	}) == nil
}

// lookForProcess polls until a process no longer exists, and returns true. It returns false if
// ctx ends first.
func lookForProcess(ctx context.Context, pid int) bool {
	again := time.NewTicker(processPoll)
	defer again.Stop()
	for ctx.Err() == nil {
		if unix.Kill(pid, 0) == unix.ESRCH {
			return true
		}
		select {
		case <-again.C:
		case <-ctx.Done():
		}
	}
	return false
}
