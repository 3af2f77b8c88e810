package handover

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/pdu"
)

// starterEnv makes a process a starter. A starter has root's privileges. Its standard input and
// output are pipes, and only the process that requested it holds the other ends. It reads a launch,
// receives the files of the successor over a socket, and starts the successor. It exits at the end
// of its input.
const starterEnv = "PMCD_STARTER"

// starterTime is how long a step of the dialogue with a starter may take.
const starterTime = 10 * time.Second

// A launch describes the process that a starter starts. Its files are standard output, standard
// error, and the descriptors from 3 on.
type launch struct {
	Path      string
	Args, Env []string
	Dir       string
	Files     int
	From      int // the process id of the sender of the files
}

// A starterReport is a message of a starter.
type starterReport struct {
	Socket string // where the starter receives the files
	PID    int    // of the successor
	Ended  string // how the successor has ended, empty for success, or why there is none
}

// A rootStarter starts a successor through pmdaroot.
type rootStarter struct {
	in, out *os.File
	reports *json.Decoder
	process int
}

// startByRoot starts a command as root, through a starter.
func startByRoot(asRoot RunAsRoot, cmd *exec.Cmd) (child, error) {
	path, err := filepath.Abs(cmd.Path)
	if err != nil {
		return nil, err
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	in, out, err := asRoot("pmcd", "/usr/bin/env", starterEnv+"=1", path)
	if err != nil {
		if errors.Is(err, pdu.ErrNotConn) {
			err = fmt.Errorf("%w: %w", ErrNoRoot, err)
		}
		return nil, err
	}
	r := &rootStarter{in: in, out: out, reports: json.NewDecoder(out)}
	files := append([]*os.File{cmd.Stdout.(*os.File), cmd.Stderr.(*os.File)}, cmd.ExtraFiles...)
	err = r.start(launch{path, cmd.Args, cmd.Env, dir, len(files), os.Getpid()}, files)
	if err != nil {
		r.release()
		return nil, fmt.Errorf("the process that is to start it as root: %w", err)
	}
	return r, nil
}

// start has the starter start a successor.
func (r *rootStarter) start(l launch, files []*os.File) error {
	r.in.SetWriteDeadline(time.Now().Add(starterTime))
	if err := json.NewEncoder(r.in).Encode(l); err != nil {
		return err
	}
	report, err := r.report()
	if err != nil {
		return err
	}
	if err := sendFiles(report.Socket, files); err != nil {
		return err
	}
	if report, err = r.report(); err != nil {
		return err
	}
	if r.process = report.PID; r.process == 0 {
		return errors.New(report.Ended)
	}
	return nil
}

// report reads the next message of the starter.
func (r *rootStarter) report() (report starterReport, err error) {
	r.out.SetReadDeadline(time.Now().Add(starterTime))
	return report, r.decode(&report)
}

func (r *rootStarter) decode(report *starterReport) error {
	err := r.reports.Decode(report)
	if err == io.EOF {
		return errors.New("it has ended")
	}
	return err
}

func (r *rootStarter) pid() int { return r.process }

// terminate makes the starter send SIGTERM, which any value on its input does.
func (r *rootStarter) terminate() { r.in.Write([]byte("true\n")) }

func (r *rootStarter) wait() error {
	defer r.release()
	var report starterReport
	r.out.SetReadDeadline(time.Time{})
	if err := r.decode(&report); err != nil || report.Ended == "" {
		return err
	}
	return errors.New(report.Ended)
}

// release ends the starter.
func (r *rootStarter) release() {
	r.in.Close()
	r.out.Close()
}

// sendFiles sends files to a socket.
func sendFiles(socket string, files []*os.File) error {
	c, err := net.DialUnix("unix", nil, &net.UnixAddr{Net: "unix", Name: socket})
	if err != nil {
		return err
	}
	defer c.Close()
	var fds []int
	for _, f := range files {
		fds = append(fds, int(f.Fd()))
	}
	c.SetDeadline(time.Now().Add(starterTime))
	if _, _, err := c.WriteMsgUnix([]byte{0}, syscall.UnixRights(fds...), nil); err != nil {
		return err
	}
	_, err = c.Read(make([]byte, 1)) // until the starter has them
	if err == io.EOF {
		return nil
	}
	return err
}

// RunStarter runs a starter if this process is one, and returns its exit status.
func RunStarter() (status int, is bool) {
	if os.Getenv(starterEnv) == "" {
		return 0, false
	}
	os.Unsetenv(starterEnv)
	return runStarter(os.Stdin, os.Stdout), true
}

// runStarter reads a launch from in, starts the successor and writes reports to out.
func runStarter(in io.Reader, out io.Writer) int {
	orders, reports := json.NewDecoder(in), json.NewEncoder(out)
	var l launch
	if err := orders.Decode(&l); err != nil {
		return 1
	}
	wanted, end := context.WithCancel(context.Background()) // until the end of the input
	defer end()
	terminate := make(chan struct{}, 1)
	go func() {
		defer end()
		for orders.Decode(new(bool)) == nil {
			select {
			case terminate <- struct{}{}:
			default:
			}
		}
	}()
	cmd, err := l.start(wanted, reports)
	if err != nil {
		reports.Encode(starterReport{Ended: err.Error()})
		return 1
	}
	reports.Encode(starterReport{PID: cmd.Process.Pid})
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for {
		select {
		case <-terminate:
			cmd.Process.Signal(syscall.SIGTERM)
		case <-wanted.Done():
			return 0
		case err := <-ended:
			var report starterReport
			if err != nil {
				report.Ended = err.Error()
			}
			reports.Encode(report)
			return 0
		}
	}
}

// start starts the successor with the files that it receives.
func (l *launch) start(wanted context.Context, reports *json.Encoder) (*exec.Cmd, error) {
	files, err := l.receiveFiles(wanted, reports)
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(l.Path)
	cmd.Args, cmd.Env, cmd.Dir = l.Args, append(l.Env, parentOfSuccessor()), l.Dir
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = files[0], files[1], files[2:]
	return cmd, cmd.Start()
}

// receiveFiles receives the files of the successor. Other processes see the name of the socket, so
// it drops their connections.
func (l *launch) receiveFiles(wanted context.Context, reports *json.Encoder) (files []*os.File, err error) {
	ln, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: "@pmcd-" + rand.Text()})
	if err != nil {
		return nil, err
	}
	defer ln.Close()
	defer context.AfterFunc(wanted, func() { ln.Close() })()
	ln.SetDeadline(time.Now().Add(starterTime))
	if err := reports.Encode(starterReport{Socket: ln.Addr().String()}); err != nil {
		return nil, err
	}
	for {
		c, err := ln.AcceptUnix()
		if err != nil {
			return nil, err
		}
		if peerPID(c) == l.From {
			defer c.Close()
			c.SetDeadline(time.Now().Add(starterTime))
			return l.readFiles(c)
		}
		c.Close()
	}
}

// readFiles reads all files from one message.
func (l *launch) readFiles(c *net.UnixConn) (files []*os.File, err error) {
	oob := make([]byte, syscall.CmsgSpace(4*max(l.Files, 1)))
	_, n, _, _, err := c.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return nil, err
	}
	messages, err := syscall.ParseSocketControlMessage(oob[:n])
	if err != nil {
		return nil, err
	}
	for i := range messages {
		fds, err := syscall.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			syscall.CloseOnExec(fd)
			files = append(files, os.NewFile(uintptr(fd), "file of the successor"))
		}
	}
	if len(files) != l.Files || len(files) < 2 {
		return files, fmt.Errorf("%d files came, not %d", len(files), l.Files)
	}
	return files, nil
}

// peerPID returns the process at the other end of a connection, 0 if it is unknown.
func peerPID(c *net.UnixConn) (pid int) {
	raw, err := c.SyscallConn()
	if err != nil {
		return 0
	}
	raw.Control(func(fd uintptr) {
		if cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED); err == nil {
			pid = int(cred.Pid)
		}
	})
	return pid
}
