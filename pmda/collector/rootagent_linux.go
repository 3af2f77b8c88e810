package collector

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// A rootAgent is a connection to pmdaroot, PCP's agent of domain 1, which runs as root
// and starts other agents for a collector that does not. A PDU of its protocol is 32-bit
// numbers in the byte order of the machine:
//
//	 0  int32   type
//	 4  int32   length
//	 8  int32   status: a PCP error in a reply
//	12  int32   version, 2
//
// Each is sent and received in one piece. Safe for concurrent use.
type rootAgent struct {
	mu   sync.Mutex // one exchange at a time
	conn *net.UnixConn
}

// The types of PDUs.
const (
	rootInfo    = 0x9000 // from pmdaroot, when a client has connected
	rootStart   = 0x9007 // start an agent
	rootStarted = 0x9008
	rootStop    = 0x9009 // signal an agent
	rootStopped = 0x900a
)

const (
	rootVersion    = 2
	rootHeaderLen  = 16
	rootInfoLen    = rootHeaderLen + 8
	rootStopLen    = rootHeaderLen + 16
	rootStartLen   = rootHeaderLen + 24 + rootLabelLen // without the command
	rootPipe       = 2                                 // the kind of connection of a started agent
	rootLabelLen   = 64                                // with a NUL
	rootCommandLen = 4096                              // with a NUL
)

const (
	rootTimeout = 3 * time.Second        // limits an exchange with pmdaroot
	processPoll = 100 * time.Millisecond // how often is looked for a process where the kernel does not tell
)

// dialRootAgent connects to pmdaroot at its socket, for which a process needs root's
// privileges.
func dialRootAgent(socket string) (*rootAgent, error) {
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: socket})
	if err != nil {
		return nil, err
	}
	r := &rootAgent{conn: conn}
	if _, _, err := r.receive(rootInfo, rootInfoLen); err != nil {
		conn.Close()
		return nil, err
	}
	return r, nil
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
	body := make([]byte, rootStartLen-rootHeaderLen, rootStartLen-rootHeaderLen+len(command))
	binary.NativeEndian.PutUint32(body[12:], rootPipe)
	binary.NativeEndian.PutUint32(body[16:], uint32(len(label)))
	binary.NativeEndian.PutUint32(body[20:], uint32(len(command)))
	copy(body[24:], label)
	reply, files, err := r.exchange(rootStart, append(body, command...), rootStarted, rootStartLen)
	if err != nil {
		return nil, nil, nil, err
	}
	if len(files) != 2 {
		closeFiles(files)
		return nil, nil, nil, fmt.Errorf("pmdaroot has sent %d descriptors, want 2", len(files))
	}
	c, err = r.watch(int(int32(binary.NativeEndian.Uint32(reply[rootHeaderLen:]))))
	if err != nil {
		closeFiles(files)
		return nil, nil, nil, err
	}
	return c, files[0], files[1], nil
}

// signal sends SIGTERM to a process that pmdaroot has started, or SIGKILL.
func (r *rootAgent) signal(pid int, kill bool) error {
	body := make([]byte, rootStopLen-rootHeaderLen)
	binary.NativeEndian.PutUint32(body, uint32(pid))
	if kill {
		binary.NativeEndian.PutUint32(body[8:], 1)
	}
	_, files, err := r.exchange(rootStop, body, rootStopped, rootStopLen)
	closeFiles(files)
	return err
}

// exchange sends a request and receives the reply. A connection that has failed is
// closed: what it would send next is not known.
func (r *rootAgent) exchange(kind uint32, body []byte, wanted uint32, length int) ([]byte, []*os.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	b := make([]byte, rootHeaderLen, rootHeaderLen+len(body))
	binary.NativeEndian.PutUint32(b, kind)
	binary.NativeEndian.PutUint32(b[4:], uint32(rootHeaderLen+len(body)))
	binary.NativeEndian.PutUint32(b[12:], rootVersion)
	r.conn.SetWriteDeadline(time.Now().Add(rootTimeout))
	if _, err := r.conn.Write(append(b, body...)); err != nil {
		r.conn.Close()
		return nil, nil, err
	}
	reply, files, err := r.receive(wanted, length)
	var refused rootError
	if err != nil && !errors.As(err, &refused) {
		r.conn.Close()
	}
	return reply, files, err
}

// A rootError is the status of a reply that is not 0.
type rootError int32

func (e rootError) Error() string {
	return fmt.Sprintf("pmdaroot refuses the request: status %d", int32(e))
}

// receive reads a PDU of a type and length, and the descriptors that come with it.
func (r *rootAgent) receive(kind uint32, length int) ([]byte, []*os.File, error) {
	b, oob := make([]byte, rootStartLen+rootCommandLen), make([]byte, syscall.CmsgSpace(4*maxRootFiles))
	r.conn.SetReadDeadline(time.Now().Add(rootTimeout))
	n, oobn, _, _, err := r.conn.ReadMsgUnix(b, oob)
	if err != nil {
		return nil, nil, err
	}
	files, err := receivedFiles(oob[:oobn])
	switch {
	case err != nil:
	case n < rootHeaderLen || binary.NativeEndian.Uint32(b) != kind || binary.NativeEndian.Uint32(b[12:]) > rootVersion:
		err = fmt.Errorf("pmdaroot has sent % x, want type %#x", b[:min(n, rootHeaderLen)], kind)
	case binary.NativeEndian.Uint32(b[8:]) != 0:
		err = rootError(binary.NativeEndian.Uint32(b[8:]))
	case n < length:
		err = fmt.Errorf("pmdaroot has sent %d bytes of type %#x, want %d", n, kind, length)
	}
	if err != nil {
		closeFiles(files)
		return nil, nil, err
	}
	return b[:n], files, nil
}

// maxRootFiles is the greatest number of descriptors that pmdaroot may send at once.
const maxRootFiles = 16

// receivedFiles are the files in the control messages of a read.
func receivedFiles(oob []byte) (files []*os.File, err error) {
	if len(bytes.Trim(oob, "\x00")) == 0 {
		return nil, nil
	}
	messages, err := syscall.ParseSocketControlMessage(oob)
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			continue // it is of another kind
		}
		for _, fd := range fds {
			syscall.SetNonblock(fd, true) // or it could not have deadlines
			files = append(files, os.NewFile(uintptr(fd), "pipe of pmdaroot"))
		}
	}
	return files, nil
}

func closeFiles(files []*os.File) {
	for _, f := range files {
		f.Close()
	}
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

// forget ends the wait for the end of a process that does not end.
func (c *rootChild) forget() {
	c.stop()
	c.watching.Wait()
}

func (c *rootChild) signal(sig os.Signal) { c.agent.signal(c.pid, sig == os.Kill) }

// waitForProcess waits for the end of a process that is not a child; false if ctx has
// ended before.
func waitForProcess(ctx context.Context, pid int) bool {
	f, err := openProcess(pid)
	if err != nil { // it has ended, or the kernel is older than 5.3
		return lookForProcess(ctx, pid)
	}
	defer f.Close()
	return waitForFile(ctx, f) || lookForProcess(ctx, pid)
}

// openProcess opens a descriptor of a process, which can be read when that has ended.
// The wait for it takes no thread.
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

// waitForFile waits until a file can be read; false if ctx has ended before, or if that
// cannot be waited for.
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

// lookForProcess looks again and again whether there is a process, until there is none;
// false if ctx has ended before.
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

// hostname is the name of the host that a container is to itself.
func (r *rootAgent) hostname(container string) (string, error) {
	body, err := rootContainerBody(container)
	if err != nil {
		return "", err
	}
	reply, files, err := r.exchange(rootHostname, body, rootHostnameReply, rootHeaderLen+rootContainerLen)
	closeFiles(files)
	if err != nil {
		return "", err
	}
	_, name, err := parseRootContainer(reply[rootHeaderLen:])
	return name, err
}
