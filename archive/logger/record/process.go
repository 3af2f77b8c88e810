package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/pcp-go/pcp/internal/recordpipe"
	"github.com/pcp-go/pcp/pdu"
)

// A process is a recorder that runs a program with the options of pmlogger(1). A pipe carries the
// commands.
type process struct {
	cmd  *exec.Cmd
	pipe *os.File // closed after the last command
}

// controlFD is the file descriptor of the program's end of the pipe: the first after standard
// error.
const controlFD = "3"

func (p *process) start(_ context.Context, l *Logger) error {
	theirs, ours, err := os.Pipe()
	if err != nil {
		return err
	}
	defer theirs.Close()
	// Names are relative to the directory, as in the folio.
	args := slices.Concat(l.s.o.Args, l.host.Args,
		[]string{"-x", controlFD, "-h", l.host.Name, "-l", l.base + ".log", "-c", l.base + ".config", l.base})
	p.cmd = exec.Command(l.s.o.Program, args...)
	p.cmd.Dir = l.s.dir
	p.cmd.Stdout, p.cmd.Stderr = os.Stderr, os.Stderr
	p.cmd.ExtraFiles = []*os.File{theirs}
	if err := p.cmd.Start(); err != nil {
		ours.Close()
		return fmt.Errorf("record: logger of %s: %w", l.host.Name, err)
	}
	p.pipe = ours
	go func() {
		err := p.cmd.Wait()
		p.pipe.Close()
		l.end(err)
	}()
	// If the program has already ended, the next command reports it.
	p.write(preamble(l.s))
	return nil
}

// preamble returns the first messages to a program.
func preamble(s *Session) string {
	var b strings.Builder
	fmt.Fprintf(&b, "V0\nF%s\nP%s\n", s.path, s.o.Creator)
	if s.o.Replay {
		b.WriteString("R\n")
	}
	return b.String()
}

func (p *process) send(c recordpipe.Command) error {
	err := p.write(c.String() + "\n")
	if c != recordpipe.Status {
		p.pipe.Close()
	}
	return err
}

// writeTimeout is how long a program may leave its pipe unread. The pipe has room for thousands of
// commands.
const writeTimeout = 5 * time.Second

// write writes to the pipe. The error is pdu.ErrIPC if either end of the pipe has been closed.
func (p *process) write(text string) error {
	p.pipe.SetWriteDeadline(time.Now().Add(writeTimeout))
	_, err := p.pipe.WriteString(text)
	if errors.Is(err, syscall.EPIPE) || errors.Is(err, os.ErrClosed) {
		return pdu.ErrIPC
	}
	return err
}

func (p *process) pid() int { return p.cmd.Process.Pid }
