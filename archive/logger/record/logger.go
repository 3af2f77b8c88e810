package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/pcp-go/pcp/internal/recordpipe"
	"github.com/pcp-go/pcp/pdu"
)

// A Logger records a host of a Session. It is safe for concurrent use.
type Logger struct {
	s    *Session
	host Host
	base string // of its files, without the directory
	r    recorder
	done chan struct{}

	mu      sync.Mutex
	phase   phase
	since   time.Time
	err     error           // how it ended
	ctx     context.Context // of Session.Start
	release func() bool     // stops waiting for the end of ctx
}

// A phase is the last command to a logger. The logger may have ended in any phase except the first.
type phase uint8

const (
	phaseIdle phase = iota
	phaseOn
	phaseStopped
	phaseDetached
)

// A recorder runs a Logger in a goroutine or a process.
type recorder interface {
	// start starts it, for the files of l. It calls l.end when it has ended.
	start(ctx context.Context, l *Logger) error
	// send sends a command. recordpipe.Detach and recordpipe.Stop are the last ones.
	send(c recordpipe.Command) error
	pid() int
}

// Host is the name of the host, as it was added.
func (l *Logger) Host() string { return l.host.Name }

// Archive is the absolute base name of the archive.
func (l *Logger) Archive() string { return l.path("") }

// LogFile is the absolute path of the log.
func (l *Logger) LogFile() string { return l.path(".log") }

func (l *Logger) path(suffix string) string { return filepath.Join(l.s.dir, l.base+suffix) }

// PID is the process identifier of Options.Program, 0 before the start. That of a logger of this
// process is this one's.
func (l *Logger) PID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseIdle {
		return 0
	}
	return l.r.pid()
}

// Done is closed when the logger has ended: stopped, at an end that its arguments have set, or with
// an error.
func (l *Logger) Done() <-chan struct{} { return l.done }

// Err is why a logger has ended: nil while it runs and after a proper end; of a program that has
// failed or was killed, an *exec.ExitError.
func (l *Logger) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// An endedError says that a logger that should run has ended.
type endedError struct {
	host string
	err  error // Logger.Err
}

// Error says which logger has ended, and why.
func (e *endedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("record: the logger of %s has ended", e.host)
	}
	return fmt.Sprintf("record: the logger of %s has ended: %v", e.host, e.err)
}

// Unwrap returns pdu.ErrIPC and why the logger has ended.
func (e *endedError) Unwrap() []error {
	if e.err == nil {
		return []error{pdu.ErrIPC}
	}
	return []error{pdu.ErrIPC, e.err}
}

// A Status is how far a recording has come.
type Status struct {
	Host    string
	Elapsed time.Duration // since the start
	Size    int64         // bytes in all files of the archive
}

// Status returns how much has been recorded. A logger in another program also shows its status to
// the user, or writes it to its log. Status is the counterpart of pmRecordControl with
// PM_REC_STATUS. It fails before Session.Start, and with ErrNotRunning for a logger that has been
// stopped or detached. For one that has ended without being stopped, the error wraps Err and
// pdu.ErrIPC, which the C library returns.
func (l *Logger) Status() (Status, error) {
	if err := l.command(recordpipe.Status); err != nil {
		return Status{}, err
	}
	st := Status{Host: l.host.Name, Elapsed: time.Since(l.since)}
	for _, suffix := range []string{".index", ".meta"} {
		st.Size += fileSize(l.path(suffix))
	}
	for volume := 0; ; volume++ {
		size := fileSize(l.path("." + strconv.Itoa(volume)))
		if size == 0 {
			return st, nil
		}
		st.Size += size
	}
}

// fileSize returns the size of a file in bytes, or 0 if it is missing.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}

// Stop ends the logger and waits until its archive is complete or ctx ends. In the second case the
// logger may end later, see Done. The counterpart of pmRecordControl with PM_REC_OFF, which does
// not wait. Errors are those of Status, and that of a program that fails at its end.
func (l *Logger) Stop(ctx context.Context) error {
	if err := l.command(recordpipe.Stop); err != nil {
		return err
	}
	return l.wait(ctx)
}

// Detach lets the logger go on without the session, until it reaches an end that its arguments have
// set: Session.Stop and Session.Close leave it alone. A program may outlive this process; a logger
// of this process runs until the context of Session.Start ends. Done and Err remain valid. The
// counterpart of pmRecordControl with PM_REC_DETACH. Errors are those of Status.
func (l *Logger) Detach() error { return l.command(recordpipe.Detach) }

// start starts the recorder.
func (l *Logger) start(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.since, l.ctx = time.Now(), ctx
	if err := l.r.start(ctx, l); err != nil {
		return err
	}
	l.phase = phaseOn
	l.release = context.AfterFunc(ctx, l.abort)
	return nil
}

// command sends a command to a recorder that runs.
func (l *Logger) command(c recordpipe.Command) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch l.phase {
	case phaseOn:
	case phaseIdle:
		return errNotStarted
	default:
		return ErrNotRunning
	}
	switch c {
	case recordpipe.Stop:
		l.phase = phaseStopped
	case recordpipe.Detach:
		l.phase = phaseDetached
		l.release()
	}
	select {
	case <-l.done:
		return &endedError{l.host.Name, l.err}
	default:
	}
	err := l.r.send(c)
	if errors.Is(err, pdu.ErrIPC) {
		return &endedError{host: l.host.Name}
	}
	return err
}

// abort has the logger end, if it is on.
func (l *Logger) abort() { l.command(recordpipe.Stop) }

// end is called by the recorder when it has ended.
func (l *Logger) end(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.release != nil {
		l.release()
	}
	if l.phase == phaseOn && l.ctx.Err() != nil {
		l.phase = phaseStopped
	}
	l.err = err
	close(l.done)
}

// wait waits until the logger has ended.
func (l *Logger) wait(ctx context.Context) error {
	select {
	case <-l.done:
		return l.err
	case <-ctx.Done():
		return fmt.Errorf("record: the logger of %s has not ended: %w", l.host.Name, context.Cause(ctx))
	}
}

// isIn reports whether the logger is in a phase. A logger in phaseOn may already have ended.
func (l *Logger) isIn(p phase) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == p
}
