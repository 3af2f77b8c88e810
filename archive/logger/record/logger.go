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
	base string // base name of its files, without the directory
	r    recorder
	done chan struct{}

	mu      sync.Mutex
	phase   phase
	since   time.Time
	err     error           // why it ended, nil for a proper end
	ctx     context.Context // passed to Session.Start
	release func() bool     // stops waiting for the end of ctx
}

// A phase is the last command to a logger. The logger may have ended in any phase but the first.
type phase uint8

const (
	phaseIdle phase = iota
	phaseOn
	phaseStopped
	phaseDetached
)

// A recorder runs a Logger in a goroutine or a process.
type recorder interface {
	// start starts the recorder for l. The recorder calls l.end when it has ended.
	start(ctx context.Context, l *Logger) error
	// send sends a command. No command follows recordpipe.Detach or recordpipe.Stop.
	send(c recordpipe.Command) error
	pid() int
}

// Host returns the name of the host, as it was added.
func (l *Logger) Host() string { return l.host.Name }

// Archive returns the absolute base name of the archive.
func (l *Logger) Archive() string { return l.path("") }

// LogFile returns the absolute path of the log.
func (l *Logger) LogFile() string { return l.path(".log") }

func (l *Logger) path(suffix string) string { return filepath.Join(l.s.dir, l.base+suffix) }

// PID returns the process ID of the logger: that of Options.Program, or that of this process. It is
// 0 before Session.Start.
func (l *Logger) PID() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.phase == phaseIdle {
		return 0
	}
	return l.r.pid()
}

// Done returns a channel that is closed when the logger has ended: it was stopped, reached a limit
// of its options, or failed.
func (l *Logger) Done() <-chan struct{} { return l.done }

// Err returns why the logger has failed. It is nil while the logger runs and after a proper end.
// The error of a program that failed or was killed is an *exec.ExitError.
func (l *Logger) Err() error {
	select {
	case <-l.done:
		return l.err
	default:
		return nil
	}
}

// An endedError says that a logger has ended without being stopped.
type endedError struct {
	host string
	err  error // Logger.Err
}

// Error names the logger and why it ended.
func (e *endedError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("record: the logger of %s has ended", e.host)
	}
	return fmt.Sprintf("record: the logger of %s has ended: %v", e.host, e.err)
}

// Unwrap returns pdu.ErrIPC and the logger's error, if any.
func (e *endedError) Unwrap() []error {
	if e.err == nil {
		return []error{pdu.ErrIPC}
	}
	return []error{pdu.ErrIPC, e.err}
}

// A Status is the progress of a recording.
type Status struct {
	Host    string
	Elapsed time.Duration // since Session.Start
	Size    int64         // bytes in all files of the archive
}

// Status returns how much has been recorded. A logger in another program also shows its status to
// the user, or writes it to its log. Status fails before Session.Start, and with ErrNotRunning for
// a logger that was stopped or detached. If the logger ended without being stopped, the error wraps
// Err and pdu.ErrIPC, which the C library returns. Status is the counterpart of pmRecordControl
// with PM_REC_STATUS.
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

// Stop stops the logger and waits until its archive is complete or ctx ends. If ctx ends first, the
// logger ends later; see Done. Errors are those of Status, the cause of ctx, and Err. Stop is the
// counterpart of pmRecordControl with PM_REC_OFF, which does not wait.
func (l *Logger) Stop(ctx context.Context) error {
	if err := l.command(recordpipe.Stop); err != nil {
		return err
	}
	return l.wait(ctx)
}

// Detach lets the logger continue without the session, until it reaches a limit of its options:
// Session.Stop and Session.Close do not affect it. A program may outlive this process; a logger of
// this process runs until the context of Session.Start ends. Done and Err remain valid. Errors are
// those of Status. Detach is the counterpart of pmRecordControl with PM_REC_DETACH.
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

// command sends a command to a running recorder.
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

// abort stops the logger if it is in phaseOn. It does not wait.
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

// isIn reports whether the logger is in phase p. A logger in phaseOn may already have ended.
func (l *Logger) isIn(p phase) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.phase == p
}
